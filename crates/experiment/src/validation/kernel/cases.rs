//! The paths over which presets are compared with the kernel: those of a study, and those of each paper
//! that can be run with a kernel.

use std::path::Path as FilePath;

use driftway_base::Duration;
use driftway_scenario::{Aid, Application, Link, Network, Path, Scenario, Time, preset_names};

use super::extent::{Extent, FAST_BPS};
use crate::error::Error;
use crate::runner::Job;
use crate::study::format::{Kernel, QuickPoints, Study};
use crate::study::plan::{Plan, PlannedFigure, plan};
use crate::study::source::{Source, paper_names};
use crate::words::available;

/// Presets that model the kernel's TCP with a congestion control of this name.
const PRESETS: [KernelPreset; 2] = [
    KernelPreset { preset: "linux", congestion_control: "cubic" },
    KernelPreset { preset: "linux-bbr", congestion_control: "bbr" },
];

/// A preset and what it models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPreset {
    /// Name of the preset in scenarios.
    pub preset: &'static str,
    /// The kernel's name of the congestion control.
    pub congestion_control: &'static str,
}

/// The presets that scenarios know and that model the kernel's TCP.
pub fn kernel_presets() -> Vec<KernelPreset> {
    let known = preset_names();
    PRESETS.into_iter().filter(|of| known.contains(&of.preset)).collect()
}

/// One path with flows of certain presets: it has a row for each flow.
#[derive(Clone, Debug)]
pub struct KernelCase {
    /// Name of the path: that of the paper if it is of one, its figure, and the point.
    pub path: String,
    /// Round trip of propagation (s).
    pub rtt_s: f64,
    /// Preset of each flow of the scenario.
    pub flows: Vec<KernelPreset>,
    /// The scenario.
    pub job: Job,
    /// Runs of the kernel before rows that are not decided get more.
    pub first_runs: u64,
    /// Simulated runs.
    pub simulated_runs: u64,
}

impl KernelCase {
    /// Returns whether `name` is its path, or the first parts of it.
    pub fn is_named(&self, name: &str) -> bool {
        self.path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Longest duration of a run.
    pub fn duration(&self) -> Duration {
        let Time(duration) = self.job.scenario.duration;
        duration
    }
}

/// A study with its paths.
#[derive(Clone, Copy, Debug)]
struct Origin<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
    /// The beginning of the names of its paths.
    prefix: &'a str,
    /// A tick of the kernel's timers.
    tick: Duration,
}

/// Plans all paths called `names`, all if empty: those of the study in `file`, and then those of papers. Timers of
/// the simulated TCP have the `tick` of the kernel's.
///
/// # Errors
///
/// A missing or invalid file, a path that a kernel's TCP cannot be run over, or no path of such a name.
pub fn plan_cases(
    file: &FilePath,
    presets: &[KernelPreset],
    names: &[String],
    tick: Duration,
    quick: bool,
) -> Result<Vec<KernelCase>, Error> {
    if !file.is_file() {
        return Err(Error::refused_with(
            format!("{}: there is no such file", file.display()),
            "driftway's own is `studies/validation/kernel` in its sources; run this command there, \
             or select the file with --study",
        ));
    }
    let own = plan(Source::from_file(file)?)?;
    let Some(kernel) = &own.study.kernel else {
        let message = format!("{}: there is no table [kernel]", file.display());
        return Err(Error::refused_with(message, "it names the figures that are run"));
    };
    let mut cases = Vec::new();
    Origin { plan: &own, kernel, prefix: "", tick }.add_cases(presets, quick, &mut cases)?;
    for name in paper_names() {
        let source = Source::find(&name)?;
        if source.parse_study()?.read::<Study>()?.kernel.is_none() {
            continue;
        }
        let paper = plan(source)?;
        let Some(kernel) = &paper.study.kernel else { continue };
        let prefix = format!("{name}/");
        let origin = Origin { plan: &paper, kernel, prefix: &prefix, tick };
        origin.add_cases(presets, quick, &mut cases)?;
    }
    for name in names {
        if !cases.iter().any(|case| case.is_named(name)) {
            let mut known: Vec<&str> = cases.iter().map(|case| parent(&case.path)).collect();
            known.dedup();
            let message = format!("there is no path `{name}`");
            return Err(Error::refused_with(message, available(name, &known)));
        }
    }
    cases.retain(|case| names.is_empty() || names.iter().any(|name| case.is_named(name)));
    Ok(cases)
}

/// The name of a path without its last part, the point.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(parent, _)| parent)
}

impl Origin<'_> {
    fn add_cases(
        self,
        presets: &[KernelPreset],
        quick: bool,
        cases: &mut Vec<KernelCase>,
    ) -> Result<(), Error> {
        for id in &self.kernel.figures {
            for planned in self.plan.figures.iter().filter(|of| of.figure.id == *id) {
                self.add_figure(planned, presets, quick, cases)?;
            }
        }
        Ok(())
    }

    fn add_figure(
        self,
        planned: &PlannedFigure,
        presets: &[KernelPreset],
        quick: bool,
        cases: &mut Vec<KernelCase>,
    ) -> Result<(), Error> {
        let ends = quick && self.kernel.quick.points == QuickPoints::Ends;
        let twins = planned.arms.iter().filter(|of| self.kernel.twins.contains(&of.arm.name));
        let twins: Vec<_> = twins.collect();
        for x in planned.some_points(ends) {
            let title = planned.points[x].title();
            let point = if title.is_empty() { String::new() } else { format!("/{title}") };
            let path = format!("{}{}{point}", self.prefix, planned.figure.id);
            for twin in &twins {
                let job = &self.plan.jobs[twin.jobs[x]];
                // The kernel's TCP is compared alone.
                if job.scenario.flows.iter().any(|flow| {
                    flow.aid != Aid::default()
                        || flow.receiver_aid.as_ref().is_some_and(|aid| *aid != Aid::default())
                }) {
                    continue;
                }
                let scenario = twin.arm.scenario.as_ref().unwrap_or(&planned.figure.scenario);
                let text = self.plan.source.read_file(scenario)?;
                for flows in flows_of(job, presets)? {
                    cases.push(self.case(path.clone(), &text, job, flows, quick)?);
                }
            }
        }
        Ok(())
    }

    fn case(
        self,
        path: String,
        text: &str,
        job: &Job,
        flows: Vec<KernelPreset>,
        quick: bool,
    ) -> Result<KernelCase, Error> {
        let network = check_path(job)?;
        let extent = Extent::of(quick);
        let extent = if slowest_bps(network) >= FAST_BPS { extent.fast } else { extent.slow };
        let rtt_s = round_trip(network).as_secs_f64();
        let mut set = job.set.clone();
        for (number, of) in flows.iter().enumerate() {
            set.push((format!("flow.{number}.tcp.preset"), of.preset.to_owned()));
            set.push((format!("flow.{number}.tcp.tick.timer"), Time(self.tick).to_string()));
        }
        let Time(duration) = job.scenario.duration;
        if duration > extent.duration {
            set.push(("duration".to_owned(), Time(extent.duration).to_string()));
        }
        let scenario = Scenario::parse(&job.file, text, &set)?;
        let asked = if quick { self.kernel.quick.runs } else { self.kernel.runs };
        let job = Job::new(scenario, job.file.clone(), set);
        let first_runs = asked.max(extent.kernel_runs);
        let simulated_runs = extent.simulated_runs;
        Ok(KernelCase { path, rtt_s, flows, job, first_runs, simulated_runs })
    }
}

/// The presets of a scenario's flows: each preset alone, or each pair of them.
fn flows_of(job: &Job, presets: &[KernelPreset]) -> Result<Vec<Vec<KernelPreset>>, Error> {
    match job.scenario.flows.len() {
        1 => Ok(presets.iter().map(|preset| vec![*preset]).collect()),
        2 => {
            let others = |at: usize| presets[at + 1..].iter();
            let pair = |(at, one): (usize, &KernelPreset)| {
                let one = *one;
                others(at).map(move |other| vec![one, *other])
            };
            Ok(presets.iter().enumerate().flat_map(pair).collect())
        }
        flows => Err(refused(job, &format!("it has {flows} flows, and not one or two"))),
    }
}

/// Checks that flows of a kernel's TCP can be run over a scenario's network.
fn check_path(job: &Job) -> Result<&Path, Error> {
    let scenario = &job.scenario;
    let Network::Path(path) = &scenario.network else {
        return Err(refused(job, "its network is not a path"));
    };
    for flow in &scenario.flows {
        if matches!(flow.application, Application::Cbr(_)) || flow.tcp.is_none() {
            return Err(refused(job, "a flow is neither a transfer nor \"ftp\" over TCP"));
        }
        if flow.back.is_some() || !flow.unreachable_at.is_empty() {
            return Err(refused(job, "`back` and `unreachable_at` are not for a kernel"));
        }
    }
    let ends = scenario.flows.first().map(|flow| (flow.from, flow.to));
    if scenario.flows.iter().any(|flow| Some((flow.from, flow.to)) != ends) {
        return Err(refused(job, "its flows have different ends"));
    }
    Ok(path)
}

fn refused(job: &Job, why: &str) -> Error {
    Error::refused(format!("--kernel: {}: {why}", job.file))
}

/// The links of a path in both directions.
fn directions(path: &Path) -> impl Iterator<Item = Link> + '_ {
    let links = (1..=path.hops).map(|hop| path.hop_link(hop));
    links.flat_map(|link| [link.reversed(), link])
}

/// Rate of a path's slowest link (bit/s).
fn slowest_bps(path: &Path) -> u64 {
    directions(path).map(|link| link.mean_rate().as_bps()).min().unwrap_or(u64::MAX)
}

/// Mean delay of a path in both directions, without transmission.
fn round_trip(path: &Path) -> Duration {
    let delays = directions(path).map(|link| link.delay_bounds());
    delays.fold(Duration::ZERO, |sum, (low, high)| sum + low + high).over(2)
}

#[cfg(test)]
pub(super) mod test {
    use std::path::PathBuf;

    use super::*;

    /// A case with presets of these names.
    pub fn case(path: &str, presets: &[&'static str]) -> KernelCase {
        let flow = "[[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\ntcp = { preset = 'linux' }\n";
        let text = format!(
            "name = 'a'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 1\n\
             link = {{ rate = '10 Mbit/s', delay = {{ uniform = ['4 ms', '6 ms'] }} }}\n{}",
            flow.repeat(presets.len())
        );
        let scenario = Scenario::parse("a.toml", &text, &[]).unwrap();
        let preset = |preset: &&'static str| KernelPreset { preset, congestion_control: "cubic" };
        KernelCase {
            path: path.to_owned(),
            rtt_s: 0.01,
            flows: presets.iter().map(preset).collect(),
            job: Job::new(scenario, "a.toml".to_owned(), Vec::new()),
            first_runs: 2,
            simulated_runs: 2,
        }
    }

    fn own() -> PathBuf {
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/validation/kernel/study.toml")
    }

    const TWO: [KernelPreset; 2] = [
        KernelPreset { preset: "linux", congestion_control: "cubic" },
        KernelPreset { preset: "linux", congestion_control: "reno" },
    ];

    const TICK: Duration = Duration::from_millis(10);

    fn plan_all(presets: &[KernelPreset], quick: bool) -> Vec<KernelCase> {
        plan_cases(&own(), presets, &[], TICK, quick).unwrap()
    }

    #[test]
    fn every_path_is_run_with_each_preset() {
        let cases = plan_all(&TWO, false);
        let of = |name: &str| cases.iter().filter(|case| case.is_named(name)).count();
        // Two round trips: two presets alone, and a pair.
        for figure in ["clean", "lossy", "reordering", "cut", "marking"] {
            assert_eq!(of(figure), 2 * (2 + 1), "{figure}");
        }
        assert_eq!(of("liu-singh-2001"), (5 * 5 + 2) * 2);
        assert_eq!(of("liu-singh-2001/8"), 5 * 2);
        assert_eq!(of("singh-iyer-2002"), 4 * 6 * 2);
        assert_eq!(of("singh-iyer-2002/wlan-up/4 s"), 2);
        assert_eq!(of("c"), 0);
        for case in &cases {
            let scenario = &case.job.scenario;
            assert_eq!(scenario.flows.len(), case.flows.len());
            for (flow, of) in scenario.flows.iter().zip(&case.flows) {
                let tcp = flow.tcp.as_ref().unwrap();
                assert_eq!(tcp.preset.as_deref(), Some(of.preset));
                assert_eq!((tcp.tick.timer, tcp.tick.wheel), (Time(TICK), true));
                assert_eq!(flow.aid, Aid::default(), "{}", case.path);
            }
        }
    }

    #[test]
    fn presets_that_scenarios_do_not_know_are_left_out() {
        let known = preset_names();
        let presets = kernel_presets();
        assert_eq!(presets[0], KernelPreset { preset: "linux", congestion_control: "cubic" });
        assert!(presets.iter().all(|of| known.contains(&of.preset)));
        // With one preset there is no other to be beside.
        assert!(plan_all(&TWO[..1], true).iter().all(|case| case.flows.len() == 1));
    }

    #[test]
    fn the_quick_part_is_shorter() {
        let (full, quick) = (plan_all(&TWO, false), plan_all(&TWO, true));
        assert!(quick.len() < full.len());
        for (cases, [fast, slow]) in [(&full, [40, 480]), (&quick, [20, 200])] {
            for case in cases.iter() {
                let is_slow = case.is_named("liu-singh-2001")
                    || ["singh-iyer-2002/modern-up", "singh-iyer-2002/modern-down"]
                        .iter()
                        .any(|name| case.is_named(name));
                let longest = Duration::from_secs(if is_slow { slow } else { fast });
                assert_eq!(case.duration(), longest, "{}", case.path);
                assert!(case.first_runs >= if is_slow { 6 } else { 2 }, "{}", case.path);
            }
        }
    }

    #[test]
    fn round_trips_are_of_propagation() {
        let cases = plan_all(&TWO[..1], false);
        let of = |path: &str| cases.iter().find(|case| case.path == path).unwrap().rtt_s;
        assert_eq!(of("clean/10 ms"), 0.01);
        assert_eq!(of("reordering/200 ms"), 0.2);
        // Four hops of 50 ms in each direction.
        assert!((of("liu-singh-2001/8/50 ms") - 0.4).abs() < 1e-9);
        assert!((of("singh-iyer-2002/wlan-up/4 s") - 0.005).abs() < 1e-9);
    }

    #[test]
    fn unknown_paths_get_a_suggestion() {
        let names = ["lossi".to_owned()];
        let error = plan_cases(&own(), &TWO, &names, TICK, false).unwrap_err();
        assert!(error.is_input());
        let message = error.to_string();
        assert!(message.contains("did you mean `lossy`?"), "{message}");
        assert!(message.contains("liu-singh-2001/8"), "{message}");
        let nowhere = plan_cases(FilePath::new("/nowhere"), &TWO, &[], TICK, false).unwrap_err();
        assert!(nowhere.to_string().contains("--study"), "{nowhere}");
    }

    #[test]
    fn what_a_kernel_cannot_do_is_refused() {
        for (key, value, why) in
            [("flow.0.back", "ftp", "not for a kernel"), ("flow.1.from", "1", "different ends")]
        {
            let mut job = case("a", &["linux", "sack"]).job;
            let text = "name = 'a'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 2\n\
                        link = { rate = '10 Mbit/s', delay = '4 ms' }\n\
                        [[flow]]\nfrom = 0\nto = 2\napplication = 'ftp'\n\
                        [[flow]]\nfrom = 0\nto = 2\napplication = 'ftp'\n";
            let set = [(key.to_owned(), value.to_owned())];
            job.scenario = Scenario::parse("a.toml", text, &set).unwrap();
            let wrong = check_path(&job).unwrap_err().to_string();
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}
