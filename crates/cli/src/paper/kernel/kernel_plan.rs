//! Plan of `driftway paper --kernel`: the paper's plan with arms for this machine's kernel.
//!
//! A kernel arm is an arm like the others, with jobs of its own, so that tables and pages show it in
//! the same way. Only the backend of its jobs differs.

use std::collections::BTreeMap;

use driftway_scenario::{Application, Scenario, Size, Time};

use super::arms::{ArmBackend, CONGESTION_CONTROLS, KernelArm, Stack, groups, plan_arms};
use crate::args::PaperArgs;
use crate::failure::Failure;
use driftway_experiment::runner::Job;
use driftway_experiment::study::check::is_kernel_metric;
use driftway_experiment::study::format::{Figure, Kernel, QuickPoints};
use driftway_experiment::study::plan::{Plan, PlannedArm, PlannedFigure};
use driftway_experiment::study::select::{RecordedVerdicts, Selection};
use driftway_experiment::study::source::PAPER_FILE;

/// Longest duration of a transfer. Only few runs of the paper take longer.
const MAX_DURATION: &str = "3600 s";

/// One run with the kernel.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Index of the job in the plan.
    pub job: usize,
    /// Name of the figure.
    pub figure: String,
    /// Position of its point; `None` without an axis.
    pub x: Option<f64>,
    /// Index of the job that simulates about the same.
    pub twin: usize,
    /// TCP of the arm.
    pub stack: Stack,
    /// Node of the shim, if the arm has one; `None`: the flow's sender.
    pub shim_node: Option<u32>,
    /// Seed.
    pub seed: u64,
}

/// All runs of the simulator and the kernel.
#[derive(Debug)]
pub struct KernelPlan {
    /// Selected figures; every arm has jobs, kernel arms as well.
    pub plan: Plan,
    /// Points and seeds; its jobs are those of the simulator.
    pub selection: Selection,
    /// Runs with the kernel.
    pub runs: Vec<PlannedRun>,
    /// Congestion controls, in order.
    pub congestion_controls: Vec<String>,
    /// Size to which longer transfers are cut (bytes), if any is.
    pub transfer_limit: Option<u64>,
    /// Duration to which longer runs without an end are cut, if any is.
    pub duration_limit: Option<Time>,
}

/// Plans the runs for a command line.
///
/// # Errors
/// An invalid command line, or a paper without a table `[kernel]`.
pub fn kernel_plan(whole: &Plan, args: &PaperArgs) -> Result<KernelPlan, Failure> {
    let (kernel, figures) = requested_figures(whole, args)?;
    let first_seed = whole.study.first_seed;
    let runs =
        args.runs.map_or(if args.quick { kernel.quick.runs } else { kernel.runs }, |n| n.get());
    if first_seed.checked_add(runs - 1).is_none() {
        return Err(Failure::Input(format!("--runs {runs}: the largest seed is {}", u64::MAX)));
    }
    let congestion_controls: Vec<String> = match &args.congestion_control[..] {
        [] => CONGESTION_CONTROLS.map(str::to_owned).to_vec(),
        given => given.to_vec(),
    };
    let arms = plan_arms(whole, kernel, &congestion_controls)?;
    let mut study = whole.study.clone();
    (study.statements, study.open, study.readings) = (Vec::new(), Vec::new(), Vec::new());
    study.groups = groups();
    study.arms = arms.iter().map(|planned| planned.arm.clone()).collect();
    let mut building = PlanBuilder {
        whole,
        kernel,
        max_transfer: args.transfer.or(kernel.quick.transfer.filter(|_| args.quick)),
        max_duration: kernel.quick.duration.filter(|_| args.quick),
        cuts_transfer: false,
        cuts_duration: false,
        plan: Plan {
            source: whole.source.clone(),
            study,
            files: whole.files.clone(),
            jobs: Vec::new(),
            figures: Vec::new(),
            statements: Vec::new(),
        },
        selection: Selection {
            seeds: (0..runs).map(|at| first_seed + at).collect(),
            runs_requested: true,
            points: BTreeMap::new(),
            jobs: Vec::new(),
            traces: Vec::new(),
            quick: args.quick,
            reduced: args.quick,
            recorded: RecordedVerdicts::None,
        },
        runs: Vec::new(),
    };
    let ends = args.quick && kernel.quick.points == QuickPoints::Ends;
    for planned in figures {
        building.add_figure(planned, planned.some_points(ends), &arms)?;
    }
    Ok(building.finish(congestion_controls))
}

/// The table `[kernel]` of a paper, and the figures that are requested.
fn requested_figures<'a>(
    whole: &'a Plan,
    args: &PaperArgs,
) -> Result<(&'a Kernel, Vec<&'a PlannedFigure>), Failure> {
    let Some(kernel) = &whole.study.kernel else {
        let place = whole.source.display_path(PAPER_FILE);
        return Err(Failure::Input(format!(
            "--kernel: {} cannot be run with a kernel: {place} has no table [kernel]",
            whole.source.name
        )));
    };
    if let Some(figure) = args.figure.iter().find(|figure| !kernel.figures.contains(figure)) {
        return Err(Failure::Input(format!(
            "--figure {figure}: cannot be run with a kernel\nhelp: available: {}",
            kernel.figures.join(", ")
        )));
    }
    let wanted = if args.figure.is_empty() { &kernel.figures } else { &args.figure };
    let figures = whole.figures.iter().filter(|of| wanted.contains(&of.figure.id));
    Ok((kernel, figures.collect()))
}

/// A figure with the first of its measures that a kernel has.
fn with_kernel_measure(mut figure: Figure) -> Figure {
    figure.y.retain(|measure| is_kernel_metric(&measure.name()));
    figure.y.truncate(1);
    let metric = figure.y.first().map(|measure| measure.metric.clone());
    figure.paper.retain(|curve| curve.metric.is_none() || curve.metric == metric);
    figure.line.retain(|line| line.metric.is_none() || line.metric == metric);
    figure
}

struct PlanBuilder<'a> {
    whole: &'a Plan,
    kernel: &'a Kernel,
    /// Size to which longer transfers are cut.
    max_transfer: Option<Size>,
    /// Duration to which longer runs without an end are cut.
    max_duration: Option<Time>,
    /// True if a transfer was longer.
    cuts_transfer: bool,
    /// True if a run was longer.
    cuts_duration: bool,
    plan: Plan,
    selection: Selection,
    runs: Vec<PlannedRun>,
}

impl PlanBuilder<'_> {
    fn finish(mut self, congestion_controls: Vec<String>) -> KernelPlan {
        if self.cuts_transfer || self.cuts_duration {
            // The paper's numbers are of the whole transfer.
            for planned in &mut self.plan.figures {
                planned.figure.paper.clear();
                planned.figure.line.clear();
            }
            self.selection.reduced = true;
        }
        let max_transfer = self.max_transfer.filter(|_| self.cuts_transfer);
        KernelPlan {
            plan: self.plan,
            selection: self.selection,
            runs: self.runs,
            congestion_controls,
            transfer_limit: max_transfer.map(|Size(bytes)| bytes),
            duration_limit: self.max_duration.filter(|_| self.cuts_duration),
        }
    }

    /// Adds a figure's jobs, and the kernel's runs at these points.
    fn add_figure(
        &mut self,
        planned: &PlannedFigure,
        points: Vec<usize>,
        all_arms: &[KernelArm],
    ) -> Result<(), Failure> {
        let PlannedFigure { figure, .. } = planned;
        let arm_named = |name: &String| planned.arms.iter().find(|of| of.arm.name == *name);
        let twin = self.kernel.twins.first();
        let Some(twin_arm) = twin.and_then(arm_named) else {
            let message = format!("figure {} lacks the arms of [kernel]", figure.id);
            return Err(Failure::Input(message));
        };
        let text = self.whole.source.read_file(&figure.scenario)?;
        let mut arms = Vec::new();
        let mut twins = vec![0; planned.points.len()];
        for KernelArm { arm, backend } in all_arms {
            let of = match backend {
                ArmBackend::Simulator(name, _) => arm_named(name),
                ArmBackend::Kernel(_) => Some(twin_arm),
            };
            let Some(of) = of else { continue };
            let mut jobs = Vec::new();
            for (x, twin_job) in twins.iter_mut().enumerate() {
                let job = self.add_job(&text, &self.whole.jobs[of.jobs[x]], backend)?;
                match backend {
                    _ if !points.contains(&x) => {}
                    ArmBackend::Simulator(..) => self.selection.jobs.push(job),
                    ArmBackend::Kernel(stack) => {
                        let run = |&seed: &u64| PlannedRun {
                            job,
                            figure: figure.id.clone(),
                            x: planned.points[x].value,
                            twin: *twin_job,
                            stack: stack.clone(),
                            shim_node: self.kernel.shim_node,
                            seed,
                        };
                        self.runs.extend(self.selection.seeds.iter().map(run));
                    }
                }
                if matches!(backend, ArmBackend::Simulator(name, _) if Some(name) == twin) {
                    *twin_job = job;
                }
                jobs.push(job);
            }
            arms.push(PlannedArm { arm: arm.clone(), derived: Vec::new(), jobs });
        }
        self.selection.points.insert(figure.id.clone(), points);
        let figure = with_kernel_measure(figure.clone());
        let (points, unit) = (planned.points.clone(), planned.unit);
        self.plan.figures.push(PlannedFigure { figure, arms, points, unit });
        Ok(())
    }

    /// Adds a copy of `job` with the changes for its backend; returns its index.
    fn add_job(&mut self, text: &str, job: &Job, by: &ArmBackend) -> Result<usize, Failure> {
        let mut set = job.set.clone();
        let application = job.scenario.flows.first().map(|flow| flow.application);
        match by {
            ArmBackend::Simulator(_, Some(growth)) => {
                set.push(("flow.0.tcp.growth".into(), (*growth).into()))
            }
            ArmBackend::Simulator(_, None) => {}
            ArmBackend::Kernel(_) if matches!(application, Some(Application::Transfer(_))) => {
                set.push(("duration".into(), MAX_DURATION.into()));
            }
            ArmBackend::Kernel(_) => {}
        }
        match application {
            Some(Application::Transfer(whole)) => {
                if let Some(Size(bytes)) = self.max_transfer.filter(|most| whole > *most) {
                    set.push(("flow.0.application.transfer".into(), format!("{bytes} B")));
                    self.cuts_transfer = true;
                }
            }
            _ => {
                let whole = job.scenario.duration;
                if let Some(most) = self.max_duration.filter(|most| whole > *most) {
                    set.push(("duration".into(), most.to_string()));
                    self.cuts_duration = true;
                }
            }
        }
        let scenario =
            Scenario::parse(&job.file, text, &set).map_err(driftway_experiment::Error::from)?;
        if matches!(by, ArmBackend::Kernel(_)) {
            check_kernel_support(&scenario).map_err(|(key, why)| {
                Failure::Input(format!(
                    "--kernel: {}: `{key}` {why}\n\
                     help: leave out `{key}`, or run other figures: --figure ID",
                    job.file
                ))
            })?;
            self.check_shim_node(&scenario, &job.file)?;
        }
        self.plan.jobs.push(Job::new(scenario, job.file.clone(), set));
        Ok(self.plan.jobs.len() - 1)
    }

    /// Checks that the shim's node is one of the flow's.
    fn check_shim_node(&self, scenario: &Scenario, file: &str) -> Result<(), Failure> {
        match (self.kernel.shim_node, scenario.flows.first()) {
            (Some(node), Some(flow)) if node != flow.from && node != flow.to => {
                Err(Failure::Input(format!(
                    "--kernel: {file}: the flow from node {} to node {} does not have node {node}, \
                     `shim_node` of [kernel]",
                    flow.from, flow.to
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that a kernel's transfer can stand for the flows; the error is a key and the reason.
fn check_kernel_support(scenario: &Scenario) -> Result<(), (&'static str, &'static str)> {
    for flow in &scenario.flows {
        let is_bulk = matches!(flow.application, Application::Transfer(_) | Application::Ftp);
        if !is_bulk || flow.tcp.is_none() {
            return Err(("application", "is neither a transfer nor \"ftp\" over TCP"));
        }
        if flow.back.is_some() {
            let why =
                "sends data in both directions, and a transfer with a kernel has one direction";
            return Err(("back", why));
        }
        if !flow.unreachable_at.is_empty() {
            return Err(("unreachable_at", "is a signal for simulated hosts only"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod test {
    use std::sync::LazyLock;

    use clap::Parser;
    use driftway_scenario::Aid;

    use super::*;
    use crate::args::{Cli, Command};
    use driftway_experiment::study::format::OneOrMany;
    use driftway_experiment::study::plan::plan;
    use driftway_experiment::study::source::Source;

    static PAPER: LazyLock<Plan> =
        LazyLock::new(|| plan(Source::find("liu-singh-2001").unwrap()).unwrap());

    fn plan_for(words: &[&str]) -> Result<KernelPlan, String> {
        plan_of_paper(&PAPER, words)
    }

    fn plan_of_paper(whole: &Plan, words: &[&str]) -> Result<KernelPlan, String> {
        let line = [&["driftway", "paper", "liu-singh-2001", "--kernel"], words].concat();
        let Ok(Cli { command: Command::Paper(args) }) = Cli::try_parse_from(line) else {
            panic!("{words:?}");
        };
        kernel_plan(whole, &args).map_err(|failure| match failure {
            Failure::Input(message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_plan_has_each_point_with_each_stack_and_seed() {
        let work = plan_for(&[]).unwrap();
        let ids: Vec<_> = work.plan.figures.iter().map(|f| f.figure.id.as_str()).collect();
        assert_eq!(ids, ["8", "13", "14", "15", "17", "18"]);
        let points = 5 * 5 + 2;
        assert_eq!(work.runs.len(), points * 2 * 2 * 5);
        assert_eq!(work.transfer_limit, None);
        // Two arms of the paper, and two twins for each congestion control.
        assert_eq!(work.selection.jobs.len(), points * (2 + 2 * 2));
        // With the paper's numbers.
        assert_eq!(work.plan.figures[0].figure.paper.len(), 2);
        for run in &work.runs {
            let scenario = &work.plan.jobs[run.job].scenario;
            assert_eq!(scenario.duration.to_string(), "3600 s");
            let flow = &scenario.flows[0];
            assert_eq!(flow.tcp.as_ref().unwrap().preset.as_deref(), Some("linux"));
            assert_eq!(flow.aid, Aid::default());
            assert!(flow.tcp.as_ref().unwrap().ecn);
            // The simulated twin has the same path, and is not a job of the kernel.
            let twin = &work.plan.jobs[run.twin].scenario;
            assert_eq!(twin.network, scenario.network);
            assert!(work.selection.jobs.contains(&run.twin));
            assert!(!work.selection.jobs.contains(&run.job));
        }
    }

    #[test]
    fn quick_is_the_ends_of_each_axis_and_short_transfers() {
        let work = plan_for(&["--quick"]).unwrap();
        assert_eq!(work.runs.len(), 6 * 2 * 2 * 2 * 3);
        assert_eq!((work.transfer_limit, work.selection.reduced), (Some(300_000), true));
        for job in &work.plan.jobs {
            let Application::Transfer(Size(bytes)) = job.scenario.flows[0].application else {
                panic!("{job:?}");
            };
            // The transfer of figure 15 is shorter.
            assert!([300_000, 200_000].contains(&bytes), "{bytes}");
        }
        assert!(
            work.plan.figures.iter().all(|f| f.figure.paper.is_empty() && f.figure.line.is_empty())
        );
        // Without cut transfers the paper's numbers stay.
        let whole = plan_for(&["--quick", "--transfer", "1 MB"]).unwrap();
        assert_eq!((whole.transfer_limit, whole.plan.figures[0].figure.paper.len()), (None, 2));
    }

    #[test]
    fn a_congestion_control_has_twins_if_the_simulator_has_it() {
        let words = ["--figure", "8", "--congestion-control", "reno", "--runs", "2"];
        let work = plan_for(&words).unwrap();
        let names: Vec<_> = work.plan.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        let lab = ["tcp", "atcp", "linux-reno", "atcp-linux-reno"];
        assert_eq!(names, [&lab[..], &["kernel-reno", "kernel-reno-shim"]].concat());
        let arm = work.plan.study.arms.iter().position(|arm| arm.name == "linux-reno").unwrap();
        let job = &work.plan.jobs[work.plan.figures[0].arms[arm].jobs[0]];
        assert!(job.set.contains(&("flow.0.tcp.growth".into(), "reno".into())), "{:?}", job.set);
        assert_eq!(work.plan.study.arms[5].against.as_deref(), Some("kernel-reno"));

        let work = plan_for(&["--figure", "8", "--congestion-control", "bbr"]).unwrap();
        let names: Vec<_> = work.plan.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["tcp", "atcp", "kernel-bbr", "kernel-bbr-shim"]);
    }

    #[test]
    fn a_paper_names_the_aids_and_the_node_of_the_shim() {
        let mut whole = plan(Source::find("liu-singh-2001").unwrap()).unwrap();
        let words = ["--figure", "8", "--congestion-control", "reno", "--runs", "2"];
        let mut plan_with = |node| {
            let kernel = whole.study.kernel.as_mut().unwrap();
            kernel.aid = OneOrMany(["mobile-host", "carry"].map(str::to_owned).into());
            kernel.shim_node = Some(node);
            plan_of_paper(&whole, &words)
        };
        let work = plan_with(4).unwrap();
        let names: Vec<_> = work.plan.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names[4..], ["kernel-reno", "kernel-reno-mobile-host", "kernel-reno-shim"]);
        assert!(work.runs.iter().all(|run| run.shim_node == Some(4)));
        let aids: Vec<_> = work.runs.iter().filter_map(|run| run.stack.aid.as_deref()).collect();
        assert!(aids.contains(&"mobile-host") && aids.contains(&"carry"), "{aids:?}");
        let wrong = plan_with(2).unwrap_err();
        assert!(wrong.contains("from node 0 to node 4 does not have node 2"), "{wrong}");
    }

    #[test]
    fn figures_and_keys_that_a_kernel_cannot_run_are_errors() {
        let wrong = plan_for(&["--figure", "9"]).unwrap_err();
        assert!(wrong.contains("--figure 9") && wrong.contains("8, 13, 14, 15, 17, 18"), "{wrong}");
        let wrong = plan_for(&["--congestion-control", "a b"]).unwrap_err();
        assert!(wrong.contains("a name, as in cubic"), "{wrong}");
        for (key, value, why) in [
            ("back", "ftp", "`back` sends data in both directions"),
            ("unreachable_at", "[\"5 s\"]", "`unreachable_at` is a signal for simulated hosts"),
        ] {
            let mut whole = plan(Source::find("liu-singh-2001").unwrap()).unwrap();
            for job in &mut whole.jobs {
                job.set.push((format!("flow.0.{key}"), value.into()));
            }
            let wrong = plan_of_paper(&whole, &["--figure", "8"]).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}
