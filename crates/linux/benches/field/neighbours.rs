//! A plain flow beside a host with the shim, on a queue that both share: what it gets, as a ratio to
//! what it gets beside a plain host.

use std::net::SocketAddrV4;
use std::ops::RangeInclusive;
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::ShimSettings;

use crate::bottleneck::{Bottleneck, SenderCounts, SharedBottleneck};
use crate::estimate::Estimate;
use crate::shimmed::{RunningShim, Transfer, Until};

/// Measured from the end of slow start.
const FROM: Duration = Duration::from_secs(3);
const TO: Duration = Duration::from_secs(33);
/// The layer below the first host's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Nothing,
    /// Nothing, but the host's path is longer by this.
    Longer(Duration),
    Shim {
        undo_losses: bool,
        queues_mark: bool,
    },
}

type Arm = (&'static str, Below);
const ARMS: [Arm; 4] = [
    ("plain", Below::Nothing),
    ("shim", Below::Shim { undo_losses: true, queues_mark: false }),
    ("--no-undo-losses", Below::Shim { undo_losses: false, queues_mark: false }),
    // A packet's way through a process takes time, which counts by itself.
    ("plain, 100 us more", Below::Longer(Duration::from_micros(100))),
];
/// The shim of an operator who knows that queues mark.
const KNOWN_TO_MARK: Arm = ("queues_mark", Below::Shim { undo_losses: true, queues_mark: true });

/// One shared bottleneck.
#[derive(Clone, Copy, Debug)]
struct Case {
    bottleneck: Bottleneck,
    /// Congestion control of the neighbour; `None`: there is none.
    neighbour: Option<&'static str>,
}

/// Results over the measured interval.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// Throughput of the first host, and of the neighbour (bit/s).
    own: f64,
    neighbour: f64,
    /// Fraction of packets dropped at the queue.
    dropped: f64,
}

/// The number of runs of a row.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// At least so many.
    pub least: u64,
    /// More, until the 90 % interval of each ratio is narrower than ± this.
    pub within: Option<f64>,
    /// At most so many.
    pub most: u64,
    /// Limit of the sum of all rates at the same time (bit/s): more would measure this machine.
    pub rates_at_once: u64,
}

/// Prints the tables: neighbours, gain, and how plain hosts with different delays share a short queue. Only rows whose names contain
/// one of `words`, if there are any.
pub fn table(runs: Runs, words: &[String]) {
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let rows = |name: &str, case: Case, arms: &[Arm]| {
        if wanted(name) {
            rows(name, case, arms, runs);
        }
    };
    let network = |mbps: u64, queue_bdp, marks: bool| Bottleneck {
        rate: mbps * 1_000_000,
        round_trip: Duration::from_millis(40),
        queue_bdp,
        mark_from: marks.then_some(0.5),
        loss: 0.0,
        is_random: true,
        first_delay: Duration::ZERO,
        ecn: true,
    };
    println!("\nBeside a plain flow, 40 ms, ECN agreed, no losses but the queue's");
    heading();
    for mbps in [10, 40] {
        for neighbour in ["cubic", "reno"] {
            for queue in [0.05, 0.1, 0.3, 1.0, 2.0, 4.0] {
                let name = format!("{mbps} Mbit/s, {queue} BDP, {neighbour}");
                let case =
                    Case { bottleneck: network(mbps, queue, false), neighbour: Some(neighbour) };
                rows(&name, case, &ARMS);
            }
            let name = format!("{mbps} Mbit/s, marks, {neighbour}");
            let case = Case { bottleneck: network(mbps, 1.0, true), neighbour: Some(neighbour) };
            rows(&name, case, &ARMS);
        }
    }
    println!("\nBeside a plain flow, 40 ms, ECN not agreed, no losses but the queue's");
    heading();
    for mbps in [10, 40] {
        for neighbour in ["cubic", "reno"] {
            for queue in [0.05, 0.1, 0.3, 1.0, 2.0, 4.0] {
                let name = format!("{mbps} Mbit/s, no ECN, {queue} BDP, {neighbour}");
                let bottleneck = Bottleneck { ecn: false, ..network(mbps, queue, false) };
                // Without ECN nothing is undone, with or without the option.
                rows(&name, Case { bottleneck, neighbour: Some(neighbour) }, &ARMS[..2]);
            }
        }
    }
    println!("\nAlone, 40 ms, 1 % of packets lost, ECN agreed");
    heading();
    for (queue, marks) in [(1.0, false), (1.0, true)] {
        let bottleneck = Bottleneck { loss: 0.01, ..network(10, queue, marks) };
        let name = if marks { "alone, 10 Mbit/s, marks" } else { "alone, 10 Mbit/s, 1 BDP" };
        let arms = [ARMS[0], ARMS[1], KNOWN_TO_MARK];
        rows(name, Case { bottleneck, neighbour: None }, &arms[..if marks { 3 } else { 2 }]);
    }
    println!("\nTwo plain hosts, 0.1 BDP, the first one's path longer");
    heading();
    for (mbps, is_random) in [(40, false), (10, true), (40, true)] {
        for micros in [0, 40, 100, 300] {
            let first_delay = Duration::from_micros(micros);
            let bottleneck = Bottleneck { is_random, first_delay, ..network(mbps, 0.1, false) };
            let case = Case { bottleneck, neighbour: Some("cubic") };
            let step = if is_random { "random" } else { "in step" };
            rows(&format!("{mbps} Mbit/s, {step}, {micros} us"), case, &ARMS[..1]);
        }
    }
}

fn heading() {
    println!(
        "{:<36}{:<20}{:>4}{:>14}{:>14}{:>16}{:>14}",
        "", "", "runs", "own, Mbit/s", "neighbour's", "ratio to plain", "dropped, \u{2030}"
    );
}

fn rows(name: &str, case: Case, arms: &[Arm], runs: Runs) {
    let at_once = (runs.rates_at_once / arms.len() as u64 / case.bottleneck.rate).max(1);
    let mut results = measure(case, arms, 1..=runs.least, at_once);
    let is_narrow = |results: &[Vec<Shares>], within: f64| {
        let halves =
            results.iter().skip(1).map(|of| Estimate::of(ratios(of, &results[0]), 3).half());
        halves.into_iter().all(|half| half.is_some_and(|half| half < within))
    };
    let mut done = runs.least;
    while let Some(within) = runs.within
        && done < runs.most
        && !is_narrow(&results, within)
    {
        let until = (done + at_once).min(runs.most);
        for (all, more) in results.iter_mut().zip(measure(case, arms, done + 1..=until, at_once)) {
            all.extend(more);
        }
        done = until;
    }
    for ((arm, _), result) in arms.iter().zip(&results) {
        row(name, arm, result, &results[0]);
    }
}

/// The neighbour's throughput beside that with plain hosts, seed by seed; without a neighbour, the host's own.
fn ratios(result: &[Shares], plain: &[Shares]) -> Vec<f64> {
    let ratio = |(with, without): (&Shares, &Shares)| {
        if without.neighbour > 0.0 {
            with.neighbour / without.neighbour
        } else {
            with.own / without.own
        }
    };
    result.iter().zip(plain).map(ratio).collect()
}

fn row(name: &str, arm: &str, result: &[Shares], plain: &[Shares]) {
    let estimate = |value: fn(&Shares) -> f64| Estimate::of(result.iter().map(value), 2);
    println!(
        "{name:<36}{arm:<20}{:>4}{:>14}{:>14}{:>16}{:>14}",
        result.len(),
        estimate(|shares| shares.own / 1e6),
        estimate(|shares| shares.neighbour / 1e6),
        Estimate::of(ratios(result, plain), 3),
        estimate(|shares| shares.dropped * 1e3),
    );
}

/// Runs of some arms, with `at_once` seeds at the same time, and the arms of a seed.
fn measure(case: Case, arms: &[Arm], seeds: RangeInclusive<u64>, at_once: u64) -> Vec<Vec<Shares>> {
    let mut results = vec![Vec::new(); arms.len()];
    let seeds: Vec<u64> = seeds.collect();
    for seeds in seeds.chunks(at_once as usize) {
        thread::scope(|scope| {
            let started: Vec<_> = seeds
                .iter()
                .flat_map(|seed| {
                    arms.iter().enumerate().map(move |(arm, (_, below))| (arm, *below, *seed))
                })
                .map(|(arm, below, seed)| (arm, scope.spawn(move || share(case, below, seed))))
                .collect();
            for (arm, run) in started {
                results[arm].push(run.join().expect("a run does not fail"));
            }
        });
    }
    results
}

/// Runs one case once.
fn share(case: Case, below: Below, seed: u64) -> Shares {
    let at = |span: Duration| Instant::ZERO + span;
    let senders = 1 + usize::from(case.neighbour.is_some());
    let mut bottleneck = case.bottleneck;
    if let Below::Longer(by) = below {
        bottleneck.first_delay = by;
    }
    let net = SharedBottleneck::start(bottleneck, senders, seed, vec![at(FROM), at(TO)])
        .expect("the requirements are met");
    let shim = match below {
        Below::Nothing | Below::Longer(_) => None,
        Below::Shim { undo_losses, queues_mark } => {
            let mut settings = ShimSettings::default();
            settings.config.undo_losses = undo_losses;
            settings.config.queues_mark = queues_mark;
            Some(RunningShim::start(&net.senders[0], &settings))
        }
    };
    let end = at(TO + Duration::from_millis(300));
    let mut order: Vec<usize> = (0..senders).collect();
    if seed.is_multiple_of(2) {
        order.reverse();
    }
    let transfers: Vec<_> = order
        .into_iter()
        .map(|n| {
            let to = SocketAddrV4::new(SharedBottleneck::server_address(), 7000 + n as u16);
            let growth = if n == 0 { "cubic" } else { case.neighbour.unwrap_or("cubic") };
            let ends = [&net.senders[n], &net.server];
            let transfer = Transfer::between(ends, to, net.clock, growth, Until::Time(end));
            thread::sleep(std::time::Duration::from_millis(40 + 37 * (seed % 5)));
            transfer
        })
        .collect();
    transfers.into_iter().for_each(|transfer| drop(transfer.finish()));
    shim.map(RunningShim::stop);
    let counts = net.stop().expect("the forwarder does not fail");
    let between =
        |n: usize, of: fn(&SenderCounts) -> u64| (of(&counts[1][n]) - of(&counts[0][n])) as f64;
    let sum = |of: fn(&SenderCounts) -> u64| (0..senders).map(|n| between(n, of)).sum::<f64>();
    let rate = |n| {
        if n < senders {
            between(n, |c| c.delivered_bytes) * 8.0 / TO.saturating_sub(FROM).as_secs_f64()
        } else {
            0.0
        }
    };
    let dropped = sum(|c| c.dropped);
    Shares { own: rate(0), neighbour: rate(1), dropped: dropped / (dropped + sum(|c| c.delivered)) }
}
