//! `driftway compare --kernel`: the same networks with this machine's own TCP, as it is, with a limit on its
//! retransmission timeout, and over the shim.
//!
//! The networks are emulated in real time, several at once; a run whose packets were late is repeated, and does not count if
//! they are late each time. Runs that count are stored with those of the simulator, so that the same command continues.

mod emulated_run;
pub mod tables;

use driftway_base::{Duration, Instant};
use driftway_experiment::comparison::ComparedNetwork;
use driftway_experiment::comparison::document::{
    CompareCell, CompareDocument, KernelAidWords, KernelPart, LeftOut,
};
use driftway_experiment::comparison::kernel::{
    KERNEL_TCPS, KernelAid, KernelArm, KernelRuns, RTO_MAX_MS, is_in_kernel_part, kernel_arms,
    kernel_cells, kernel_scenario, not_emulated,
};
use driftway_experiment::comparison::networks::NetworkList;
use driftway_experiment::comparison::runs::RunSample;
use driftway_experiment::runner::RunCache;
use driftway_experiment::runner::identity::digest;
use driftway_linux::RealClock;
use driftway_scenario::Time;

use crate::args::CompareArgs;
use crate::failure::{Failure, failed};
use crate::kernel::machine::{self, ProcessorShare};
use crate::kernel::schedule::{Schedule, ScheduledCase};
use crate::kernel::scheduled_runs::{StartedRun, run_scheduled};
use crate::kernel::transfer::has_rto_max;
use crate::run::progress_bar;
use emulated_run::{ComparedFlow, EmulatedComparison};

/// Few runs per processor: a third of them has a shim, which is a process of its own on a host.
const PROCESSOR_SHARE: ProcessorShare = ProcessorShare { jobs: 24, throughput_bps: 3e7 };
/// Time after which no run goes on: of a whole comparison, and of a quick one.
const LIMIT: Duration = Duration::from_secs(35 * 60);
const QUICK_LIMIT: Duration = Duration::from_secs(4 * 60);
/// Runs of an arm over a network: of a whole comparison, and of a quick one.
const RUNS: u64 = 4;
const QUICK_RUNS: u64 = 3;

/// Checks that this machine can run the comparison with its kernel.
///
/// # Errors
/// The list of what it lacks.
pub fn check_machine() -> Result<(), Failure> {
    machine::check_machine()?;
    KERNEL_TCPS.iter().try_for_each(|tcp| {
        let name = tcp.congestion_control;
        machine::check_congestion_control(name, &format!("--kernel: {name}"))
    })
}

/// Keeps the networks that are run with the kernel. Those that the user asks for have to be possible; of the list, the
/// others are left out.
///
/// # Errors
/// One that the user asks for is not possible, or none is left.
pub fn keep_networks(args: &CompareArgs, list: &mut NetworkList) -> Result<Vec<LeftOut>, Failure> {
    let mut left_out = Vec::new();
    let is_asked = !args.scenarios.is_empty() || !args.network.is_empty();
    for network in &list.networks {
        let because = match not_emulated(network) {
            Some(why) if is_asked => {
                let name = &network.name;
                return Err(Failure::Input(format!("--kernel: {name} is not emulated: {why}")));
            }
            Some(why) => why,
            None if is_asked || is_in_kernel_part(network) => continue,
            None => "it is faster than 10 Mbit/s, or takes longer than 200 s".to_owned(),
        };
        left_out.push(LeftOut { network: network.name.clone(), because });
    }
    list.networks.retain(|of| left_out.iter().all(|out| out.network != of.name));
    Ok(left_out)
}

/// Runs of one arm over one network.
struct KernelCase<'a> {
    network: &'a ComparedNetwork,
    /// Index of the network.
    index: usize,
    arm: KernelArm,
    /// Index of the arm.
    arm_index: usize,
    /// Seeds that are not stored.
    seeds: Vec<u64>,
}

/// The results of all cases, and what they cost.
struct KernelResults {
    /// The runs of each arm over each network.
    runs: Vec<Vec<KernelRuns>>,
    late: u64,
    not_started: u64,
}

/// Adds the cells with the kernel to a document of the same networks.
///
/// # Errors
/// A failed run, or an interruption.
pub fn add_kernel_part(
    args: &CompareArgs,
    list: &NetworkList,
    left_out: Vec<LeftOut>,
    document: &mut CompareDocument,
) -> Result<(), Failure> {
    let clock = RealClock::start();
    let runs = if args.quick { QUICK_RUNS } else { RUNS };
    let seeds: Vec<u64> = (0..runs).filter_map(|at| list.first_seed.checked_add(at)).collect();
    let has_limit = has_rto_max(RTO_MAX_MS).map_err(|error| failed("create a socket", &error))?;
    let results = run_all(args, list, (&seeds, has_limit, document), clock)?;
    let networks: Vec<&ComparedNetwork> = list.networks.iter().collect();
    let cells: Vec<CompareCell> = kernel_cells(&networks, &results.runs);
    document.kernel = Some(KernelPart {
        release: machine::kernel_release(),
        seeds,
        aids: KernelAid::ALL.map(|aid| aid_words(aid, has_limit)).to_vec(),
        left_out,
        runs: cells.iter().map(|cell| cell.n).sum(),
        late: results.late,
        not_started: results.not_started,
        wall_s: clock.now().since(Instant::ZERO).as_secs_f64(),
    });
    document.cells.extend(cells);
    Ok(())
}

fn aid_words(aid: KernelAid, has_limit: bool) -> KernelAidWords {
    let says = match aid {
        KernelAid::RtoMax if !has_limit => {
            "this kernel cannot limit the timeout (Linux 6.15 can)".to_owned()
        }
        KernelAid::RtoMax => format!(
            "{}: the socket option TCP_RTO_MAX_MS = {RTO_MAX_MS} of the compared flow's sender, and \
             net.ipv4.tcp_retries2 = 255 on its host",
            aid.says()
        ),
        KernelAid::None | KernelAid::Shim => aid.says().to_owned(),
    };
    KernelAidWords { aid: aid.name().to_owned(), says }
}

/// Performs the runs that are not stored.
fn run_all(
    args: &CompareArgs,
    list: &NetworkList,
    (seeds, has_limit, document): (&[u64], bool, &CompareDocument),
    clock: RealClock,
) -> Result<KernelResults, Failure> {
    let cache = RunCache::standard().unwrap_or_default();
    let mut runs: Vec<Vec<KernelRuns>> = Vec::new();
    let mut cases = Vec::new();
    for (index, network) in list.networks.iter().enumerate() {
        runs.push(Vec::new());
        for (arm_index, arm) in kernel_arms().into_iter().enumerate() {
            let stored = |seed: &u64| -> Option<RunSample> {
                let cache = cache.as_ref().filter(|_| !args.fresh)?;
                cache
                    .get_measured(&digest(kernel_scenario(network)), &run_name(network, arm, *seed))
            };
            let of_arm: KernelRuns = seeds.iter().map(stored).collect();
            let is_possible = has_limit || arm.aid != KernelAid::RtoMax;
            let missing = seeds.iter().zip(&of_arm).filter(|(_, run)| is_possible && run.is_none());
            let missing = missing.map(|(seed, _)| *seed).collect();
            cases.push(KernelCase { network, index, arm, arm_index, seeds: missing });
            runs[index].push(of_arm);
        }
    }
    let wanted: u64 = cases.iter().map(|case| case.seeds.len() as u64).sum();
    let end = if args.quick { QUICK_LIMIT } else { LIMIT };
    let limits = machine::limits(args.jobs, PROCESSOR_SHARE, end)?;
    let schedule = Schedule::new(limits, scheduled(&cases, document));
    let bar = progress_bar(schedule.wanted());
    let run = |started: StartedRun<'_>| {
        let case = &cases[started.case];
        let seed = case.seeds[started.number as usize];
        let of = ComparedFlow { scenario: kernel_scenario(case.network), flow: case.network.flow };
        let run = || emulated_run::emulate(of, case.arm, seed, started.stop);
        started.on_time(run, |run| run.is_late).map_err(|error| {
            let what = format!("run {} {} with seed {seed}", case.network.name, case.arm.name());
            failed(&what, &error)
        })
    };
    let mut late = 0;
    let finish = |(case, number): (usize, u64), run: EmulatedComparison| {
        let case = &cases[case];
        let seed = case.seeds[number as usize];
        if run.is_late {
            late += 1;
            return Ok(true);
        }
        if let Some(cache) = &cache {
            let name = run_name(case.network, case.arm, seed);
            cache.put_measured(&digest(kernel_scenario(case.network)), &name, &run.sample)?;
        }
        if let Some(at) = seeds.iter().position(|of| *of == seed) {
            runs[case.index][case.arm_index][at] = Some(run.sample);
        }
        Ok(true)
    };
    let ran = run_scheduled(schedule, clock, &bar, run, finish)?;
    Ok(KernelResults { runs, late, not_started: wanted.saturating_sub(ran) })
}

/// The name of a run in the store, with everything on which it depends besides the scenario.
fn run_name(network: &ComparedNetwork, arm: KernelArm, seed: u64) -> String {
    let release = machine::kernel_release();
    let release: String = release
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
        .collect();
    let KernelArm { tcp, aid } = arm;
    format!(
        "{}-{}-flow-{}-linux-{release}-{seed}",
        tcp.congestion_control,
        aid.name(),
        network.flow
    )
}

/// The cases with what they need, by the throughput of their simulated counterparts.
fn scheduled(cases: &[KernelCase<'_>], document: &CompareDocument) -> Vec<ScheduledCase> {
    let scheduled = cases.iter().map(|case| {
        let Time(duration) = kernel_scenario(case.network).duration;
        let of_network = document.cells.iter().filter(|cell| cell.network == case.network.name);
        let with_others = of_network.map(|cell| match cell.neighbour_share {
            Some(share) if share < 1.0 => cell.throughput_bps / (1.0 - share),
            _ => cell.throughput_bps,
        });
        let throughput_bps = with_others.fold(0.0, f64::max);
        let runs = case.seeds.len() as u64;
        ScheduledCase::in_turns(duration, throughput_bps, runs)
    });
    scheduled.collect()
}
