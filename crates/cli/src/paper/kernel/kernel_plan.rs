//! What there is to run: the paper's plan with arms of this machine's kernel beside the lab's.
//!
//! A kernel's arm is an arm like others, with jobs of its own, so that everything that shows a
//! paper shows it. Only who runs its jobs is another.

use driftway_scenario::{Application, Scenario, Size};

use super::arms::{ArmBackend, CONGESTION_CONTROLS, PlannedArm, Stack, groups, plan_arms};
use crate::args::PaperArgs;
use crate::failure::Failure;
use driftway_experiment::runner::Job;
use driftway_experiment::study::check::COMPLETION_METRIC;
use driftway_experiment::study::format::QuickPoints;
use driftway_experiment::study::plan::{Plan, PlannedFigure};
use driftway_experiment::study::select::{RecordedVerdicts, Selection};
use driftway_experiment::study::source::PAPER_FILE;

/// How long a run may take. Only few of the paper's own take longer.
const MAX_DURATION: &str = "3600 s";
/// One run of a kernel.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Which job of the plan.
    pub job: usize,
    /// Which figure of the plan, and point of it.
    pub figure_point: (usize, usize),
    /// The job in which the lab does about the same.
    pub twin: usize,
    /// Over which stack.
    pub stack: Stack,
    /// The seed.
    pub seed: u64,
}

/// Everything there is to do.
#[derive(Debug)]
pub struct KernelPlan {
    /// The figures that are run, each arm with jobs, the kernel's as well.
    pub plan: Plan,
    /// Which points and seeds; its jobs are the lab's.
    pub selection: Selection,
    /// What the kernel runs.
    pub runs: Vec<PlannedRun>,
    /// Congestion controls, in order.
    pub congestion_controls: Vec<String>,
    /// Where transfers end that would be longer (bytes), if any would.
    pub transfer_limit: Option<u64>,
}

/// What the command line asks for.
///
/// # Errors
/// What is wrong with it, or that the paper says nothing of kernels.
pub fn kernel_plan(whole: &Plan, args: &PaperArgs) -> Result<KernelPlan, Failure> {
    let study = &whole.study;
    let Some(kernel) = &study.kernel else {
        let place = whole.source.display_path(PAPER_FILE);
        return Err(Failure::Input(format!(
            "--kernel: {} can't be run with a kernel: {place} has no table [kernel]",
            whole.source.name
        )));
    };
    if let Some(figure) = args.figure.iter().find(|figure| !kernel.figures.contains(figure)) {
        return Err(Failure::Input(format!(
            "--figure {figure}: it can't be run with a kernel\nhelp: those that can are {}",
            kernel.figures.join(", ")
        )));
    }
    let wanted = |id: &String| match args.figure.is_empty() {
        true => kernel.figures.contains(id),
        false => args.figure.contains(id),
    };
    let runs =
        args.runs.map_or(if args.quick { kernel.quick.runs } else { kernel.runs }, |n| n.get());
    if study.first_seed.checked_add(runs - 1).is_none() {
        return Err(Failure::Input(format!("--runs {runs}: seeds end at {}", u64::MAX)));
    }
    let congestion_controls: Vec<String> = match &args.congestion_control[..] {
        [] => CONGESTION_CONTROLS.map(str::to_owned).to_vec(),
        given => given.to_vec(),
    };
    let most = args.transfer.or(args.quick.then_some(kernel.quick.transfer));
    let arms = plan_arms(whole, kernel, &congestion_controls)?;
    let mut building = PlanBuilder {
        whole,
        max_transfer: most,
        is_truncated: false,
        plan: Plan {
            source: whole.source.clone(),
            study: study.clone(),
            files: whole.files.clone(),
            jobs: Vec::new(),
            figures: Vec::new(),
            statements: Vec::new(),
        },
        runs: Vec::new(),
        simulated_jobs: Vec::new(),
    };
    let plan = &mut building.plan;
    (plan.study.statements, plan.study.open) = (Vec::new(), Vec::new());
    plan.study.figures.retain(|figure| wanted(&figure.id));
    for figure in &mut plan.study.figures {
        figure.y.retain(|measure| measure.metric == COMPLETION_METRIC);
    }
    plan.study.groups = groups();
    plan.study.arms = arms.iter().map(|planned| planned.arm.clone()).collect();
    let seeds: Vec<u64> = (0..runs).map(|at| study.first_seed + at).collect();
    let ends = args.quick && kernel.quick.points == QuickPoints::Ends;
    let mut points = Vec::new();
    for (number, figure) in study.figures.iter().enumerate().filter(|(_, f)| wanted(&f.id)) {
        let all = whole.figures[number].points.len();
        points.push(if ends && all > 2 { vec![0, all - 1] } else { (0..all).collect() });
        building.add_figure(
            number,
            &figure.scenario,
            &arms,
            points.last().map_or(&[], Vec::as_slice),
            &seeds,
        )?;
    }
    let PlanBuilder { mut plan, runs, simulated_jobs: lab, is_truncated: cut, .. } = building;
    if cut {
        // They are of whole transfers.
        for figure in &mut plan.study.figures {
            figure.paper.clear();
            figure.line.clear();
        }
    }
    let selection = Selection {
        seeds,
        points,
        jobs: lab,
        traces: Vec::new(),
        quick: args.quick,
        reduced: args.quick || cut,
        recorded: RecordedVerdicts::None,
    };
    let transfer = most.filter(|_| cut).map(|Size(bytes)| bytes);
    Ok(KernelPlan { plan, selection, runs, congestion_controls, transfer_limit: transfer })
}

struct PlanBuilder<'a> {
    whole: &'a Plan,
    /// The largest transfer.
    max_transfer: Option<Size>,
    /// Was one larger?
    is_truncated: bool,
    plan: Plan,
    runs: Vec<PlannedRun>,
    /// Jobs of the lab.
    simulated_jobs: Vec<usize>,
}

impl PlanBuilder<'_> {
    /// A figure's jobs, and the kernel's runs of it.
    fn add_figure(
        &mut self,
        number: usize,
        file: &str,
        arms: &[PlannedArm],
        points: &[usize],
        seeds: &[u64],
    ) -> Result<(), Failure> {
        let planned = &self.whole.figures[number];
        let at = self.plan.figures.len();
        let row_of = |arm: usize| planned.arms.iter().position(|&of| of == arm);
        let kernel = self.whole.study.kernel.as_ref();
        let twin = kernel.and_then(|kernel| {
            self.whole.study.arms.iter().position(|arm| kernel.twins.first() == Some(&arm.name))
        });
        let Some(twin_row) = twin.and_then(row_of) else {
            let id = &self.whole.study.figures[number].id;
            return Err(Failure::Input(format!("figure {id} does not have the arms of [kernel]")));
        };
        let text = self.whole.source.read_file(file)?;
        let (mut rows, mut shown) = (Vec::new(), Vec::new());
        let mut twins = vec![0; planned.points.len()];
        for (arm, PlannedArm { backend: by, .. }) in arms.iter().enumerate() {
            let row = match by {
                ArmBackend::Simulator(of, _) => row_of(*of),
                ArmBackend::Kernel(_) => Some(twin_row),
            };
            let Some(row) = row else { continue };
            let mut jobs = Vec::new();
            for (x, twin_job) in twins.iter_mut().enumerate() {
                let job = &self.whole.jobs[planned.jobs[row][x]];
                let job = self.add_job(&text, job, by)?;
                if points.contains(&x) {
                    match by {
                        ArmBackend::Simulator(..) => self.simulated_jobs.push(job),
                        ArmBackend::Kernel(stack) => {
                            self.runs.extend(seeds.iter().map(|&seed| PlannedRun {
                                job,
                                figure_point: (at, x),
                                twin: *twin_job,
                                stack: stack.clone(),
                                seed,
                            }))
                        }
                    }
                }
                if matches!(by, ArmBackend::Simulator(of, _) if Some(*of) == twin) {
                    *twin_job = job;
                }
                jobs.push(job);
            }
            shown.push(arm);
            rows.push(jobs);
        }
        let (xs, unit) = (planned.points.clone(), planned.unit);
        self.plan.figures.push(PlannedFigure { arms: shown, points: xs, unit, jobs: rows });
        Ok(())
    }

    /// A job like `job`, with what is changed here.
    fn add_job(&mut self, text: &str, job: &Job, by: &ArmBackend) -> Result<usize, Failure> {
        let mut set = job.set.clone();
        match by {
            ArmBackend::Simulator(_, Some(growth)) => {
                set.push(("flow.0.tcp.growth".into(), (*growth).into()))
            }
            ArmBackend::Simulator(_, None) => {}
            ArmBackend::Kernel(_) => set.push(("duration".into(), MAX_DURATION.into())),
        }
        if let Some((most, Application::Transfer(whole))) =
            self.max_transfer.zip(job.scenario.flows.first().map(|flow| flow.application))
            && whole > most
        {
            let Size(bytes) = most;
            set.push(("flow.0.application.transfer".into(), format!("{bytes} B")));
            self.is_truncated = true;
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
        }
        self.plan.jobs.push(Job::new(scenario, job.file.clone(), set));
        Ok(self.plan.jobs.len() - 1)
    }
}

/// The key of a scenario's flows that a kernel's transfers have nothing for, and why.
fn check_kernel_support(scenario: &Scenario) -> Result<(), (&'static str, &'static str)> {
    for flow in &scenario.flows {
        if flow.back.is_some() {
            let why = "sends data both ways on one connection, and a kernel's transfers go one way";
            return Err(("back", why));
        }
        if !flow.unreachable_at.is_empty() {
            return Err(("unreachable_at", "is a signal to hosts of the simulator only"));
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
    fn all_of_it_is_each_point_with_each_stack_and_seed() {
        let work = plan_for(&[]).unwrap();
        let ids: Vec<_> = work.plan.study.figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["8", "13", "14", "15", "17", "18"]);
        let points = 5 * 5 + 2;
        assert_eq!(work.runs.len(), points * 2 * 2 * 5);
        assert_eq!(work.transfer_limit, None);
        // Two arms of the paper's, and two twins for each congestion control.
        assert_eq!(work.selection.jobs.len(), points * (2 + 2 * 2));
        // The paper's numbers stand beside.
        assert_eq!(work.plan.study.figures[0].paper.len(), 2);
        for run in &work.runs {
            let scenario = &work.plan.jobs[run.job].scenario;
            assert_eq!(scenario.duration.to_string(), "3600 s");
            let flow = &scenario.flows[0];
            assert_eq!(flow.tcp.as_ref().unwrap().preset.as_deref(), Some("linux"));
            assert_eq!(flow.aid, Aid::default());
            assert!(flow.tcp.as_ref().unwrap().ecn);
            // The lab's twin is over the same path, and no run of the kernel's own.
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
            // Figure 15 has less.
            assert!([300_000, 200_000].contains(&bytes), "{bytes}");
        }
        assert!(work.plan.study.figures.iter().all(|f| f.paper.is_empty() && f.line.is_empty()));
        // What is not cut is the paper's, ends or not.
        let whole = plan_for(&["--quick", "--transfer", "1 MB"]).unwrap();
        assert_eq!((whole.transfer_limit, whole.plan.study.figures[0].paper.len()), (None, 2));
    }

    #[test]
    fn each_congestion_control_has_twins_where_the_lab_knows_it() {
        let words = ["--figure", "8", "--congestion-control", "reno", "--runs", "2"];
        let work = plan_for(&words).unwrap();
        let names: Vec<_> = work.plan.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        let lab = ["tcp", "atcp", "linux-reno", "atcp-linux-reno"];
        assert_eq!(names, [&lab[..], &["kernel-reno", "kernel-reno-shim"]].concat());
        let arm = work.plan.study.arms.iter().position(|arm| arm.name == "linux-reno").unwrap();
        let job = &work.plan.jobs[work.plan.figures[0].jobs[arm][0]];
        assert!(job.set.contains(&("flow.0.tcp.growth".into(), "reno".into())), "{:?}", job.set);
        assert_eq!(work.plan.study.arms[5].against.as_deref(), Some("kernel-reno"));

        let work = plan_for(&["--figure", "8", "--congestion-control", "bbr"]).unwrap();
        let names: Vec<_> = work.plan.study.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["tcp", "atcp", "kernel-bbr", "kernel-bbr-shim"]);
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        let wrong = plan_for(&["--figure", "9"]).unwrap_err();
        assert!(wrong.contains("--figure 9") && wrong.contains("8, 13, 14, 15, 17, 18"), "{wrong}");
        let wrong = plan_for(&["--congestion-control", "a b"]).unwrap_err();
        assert!(wrong.contains("a name, as in cubic"), "{wrong}");
        for (key, value, why) in [
            ("back", "ftp", "`back` sends data both ways on one connection"),
            ("unreachable_at", "[\"5 s\"]", "`unreachable_at` is a signal to hosts"),
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
