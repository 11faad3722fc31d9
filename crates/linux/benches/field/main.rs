//! Benefit and cost of the shim: runs over emulated paths, without it, with the kernel's own
//! sysctls and with the shim at the same time, as tables of means with 90 % intervals (Student's
//! t); cuts also over a network built by the kernel alone.
//!
//! Started by `make field`; `FIELD_RUNS` is the number of runs (5). An argument selects tables (`gain`, `cuts`, `harm`,
//! `neighbours`, `events`; default: these five); further ones select rows of `neighbours` and `cuts` (`neighbours
//! "10 Mbit/s"`). Rows of `neighbours` are run until the 90 % intervals of their ratios are narrower than ±
//! `FIELD_WITHIN` %, if that is set, `FIELD_MOST` (40) times at most, with `FIELD_MBPS` (320) at once: fewer on a machine
//! with other work. `make field-soak` runs the table `soak`: transfers under every fault, checked byte by byte,
//! `SOAK_BYTES` (10⁹) each; further arguments select rows (`soak silent killed`). Linux's default congestion control is
//! not used: each row names its own.

#[path = "../../tests/kernel/crowd.rs"]
mod crowd;
#[path = "../../tests/kernel/on_path.rs"]
mod on_path;
#[path = "../../tests/kernel/pair.rs"]
#[allow(dead_code, reason = "another bench uses more of it")]
mod pair;
#[path = "../../tests/kernel/shimmed.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod shimmed;
#[path = "../../tests/kernel/stream_digest.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod stream_digest;
#[path = "../../tests/kernel/wired.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod wired;

mod arms;
mod bottleneck;
mod crossing;
mod emulate;
mod estimate;
mod events;
mod harm;
mod late;
mod neighbours;
mod numbered;
mod soak;

use std::net::SocketAddrV4;
use std::process::ExitCode;
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{RealClock, ShimSettings, check_requirements};
use driftway_scenario::Scenario;

use arms::{Arm, ByArm, run_all};
use emulate::{cut, scenario};
use neighbours::Runs;
use shimmed::{RunningPath, RunningShim, Transfer, Until};
use wired::{Cut, TwoLinkNetwork};

/// The path of all tables: 10 Mbit/s, 40 ms RTT, queues that mark above 60 kB.
pub const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                        queue = { packets = 80, ecn_threshold = 40 }";
const GROWTHS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Runs both arms at once: without the shim and with it.
pub fn pair<T: Send>(arm: impl Fn(bool) -> T + Sync) -> [T; 2] {
    thread::scope(|scope| {
        let arms = [false, true].map(|with| {
            let arm = &arm;
            scope.spawn(move || arm(with))
        });
        arms.map(|arm| arm.join().expect("a run fails"))
    })
}

/// The shim in front of a path, if wanted.
pub fn shim(path: &RunningPath, with: bool) -> Option<RunningShim> {
    with.then(|| RunningShim::start(path.near(), &ShimSettings::default()))
}

/// Conditions of a run.
#[derive(Clone, Copy)]
struct Conditions {
    ecn: bool,
    /// A router notifies of cuts.
    notified: bool,
}

/// One transfer until `end`.
struct TransferResult {
    megabytes: f64,
    /// Times from each reconnection to the first data (s).
    first: Vec<f64>,
}

fn carry(
    scenario: &Scenario,
    seed: u64,
    growth: &str,
    end: Instant,
    back: &[Instant],
    terms: Conditions,
    arm: Arm,
) -> TransferResult {
    let path = RunningPath::start(scenario, seed, terms.ecn);
    let shim = arm.apply(path.near());
    let arrived = Transfer::start(&path, growth, Until::Time(end)).finish();
    shim.map(RunningShim::stop);
    late::end(path);
    TransferResult {
        megabytes: arrived.bytes_by(end) as f64 / 1e6,
        first: back.iter().map(|at| arrived.first_after(*at).as_secs_f64()).collect(),
    }
}

/// Description of the notification of cuts.
fn describe_notification(notified: bool) -> &'static str {
    if notified { "with notification by ICMP" } else { "without notification" }
}

/// 63 s with losses and three cuts.
fn gain(runs: u64, terms: Conditions) {
    let Conditions { ecn, notified } = terms;
    println!(
        "\n1 % of data and 0.25 % of acknowledgments lost, {}, cuts of 5, 5 and 3 s in 63 s, {}; \
         {runs} runs",
        if ecn { "ECN" } else { "no ECN" },
        describe_notification(notified)
    );
    // 7.5 ‰ of packets of 1500 B, and almost none of the acknowledgments; 2.5 ‰ of both.
    let losses = "[[network.override]]\nhop = 1\nbit_error_rate = 6.27e-7\n\
                  [[network.override]]\nhop = 2\npacket_error_rate = 0.0025\n";
    let cuts = [(12, 5), (29, 5), (46, 3)];
    let faults: String = cuts.iter().map(|(first, lasts)| cut(*first, *lasts, notified)).collect();
    let back = cuts.map(|(first, lasts)| Instant::ZERO + Duration::from_secs(first + lasts));
    let lossy = scenario(LINK, &(losses.to_owned() + &faults));
    let end = Instant::ZERO + Duration::from_secs(63);
    let all: Vec<Vec<ByArm<TransferResult>>> = thread::scope(|scope| {
        let rows = GROWTHS.map(|growth| {
            let (lossy, back) = (&lossy, &back);
            let run = move |seed| run_all(|arm| carry(lossy, seed, growth, end, back, terms, arm));
            scope.spawn(move || (1..=runs).map(run).collect())
        });
        rows.map(|row| row.join().expect("a run fails")).into()
    });
    arms::heading("MB");
    for (growth, runs) in GROWTHS.iter().zip(&all) {
        arms::row(growth, runs, 1, |run| vec![run.megabytes]);
    }
    arms::heading("from the end of a cut to the first data, s");
    for (growth, runs) in GROWTHS.iter().zip(&all) {
        arms::row(growth, runs, 3, |run| run.first.clone());
    }
    late::print_warning();
}

/// Time from the end of a cut to the first data.
fn cuts(runs: u64, notified: bool) {
    println!(
        "\nFrom the end of a cut, {}, to the first data (s), cubic, no losses; {runs} runs",
        describe_notification(notified)
    );
    arms::heading("cut");
    let rows = [1, 3, 10, 30, 60].map(|lasts| {
        let cut = scenario(LINK, &cut(3, lasts, notified));
        let back = [Instant::ZERO + Duration::from_secs(3 + lasts)];
        // Plain TCP may wait for as long as the cut lasted.
        let end = back[0] + Duration::from_secs(lasts + 5);
        (lasts, cut, back, end)
    });
    thread::scope(|scope| {
        let rows = rows.each_ref().map(|(lasts, cut, back, end)| {
            let terms = Conditions { ecn: true, notified };
            let run =
                move |seed| run_all(|arm| carry(cut, seed, "cubic", *end, back, terms, arm).first);
            let emulated = scope.spawn(move || (1..=runs).map(run).collect::<Vec<_>>());
            let run = move |_| run_all(|arm| cut_by_kernel_network(*lasts, notified, arm));
            (lasts, emulated, scope.spawn(move || (1..=runs).map(run).collect::<Vec<_>>()))
        });
        for (lasts, emulated, wired) in rows {
            for (runs, name) in [(emulated, "emulated"), (wired, "kernel's")] {
                let runs = runs.join().expect("a run fails");
                arms::row(&format!("{lasts} s, {name}"), &runs, 3, Clone::clone);
            }
        }
    });
    late::print_warning();
}

/// Times from the end of a cut to the first data (s), over the kernel's own routers, queues and cables.
fn cut_by_kernel_network(lasts: u64, notified: bool, arm: Arm) -> Vec<f64> {
    let net = TwoLinkNetwork::new().expect("the requirements are met");
    let shim = arm.apply(&net.host);
    let clock = RealClock::start();
    let to = SocketAddrV4::new(wired::SERVER, wired::PORT);
    let until = Until::Time(Instant::ZERO + Duration::from_secs(2 * lasts + 8));
    let ends = [&net.host, &net.server];
    let transfer = Transfer::between(ends, to, clock, "cubic", until).connected();
    let nap = |secs| thread::sleep(std::time::Duration::from_secs(secs));
    let cut = if notified { Cut::Notified } else { Cut::Silent };
    nap(3);
    net.routers[0].block(cut);
    nap(lasts);
    net.routers[0].unblock(cut);
    let back = clock.now();
    let first = transfer.finish().first_after(back);
    shim.map(RunningShim::stop);
    vec![first.as_secs_f64()]
}

fn main() -> ExitCode {
    if shimmed::is_shim_process() {
        return shimmed::run();
    }
    if let Err(missing) = check_requirements() {
        eprintln!("error: {missing}");
        return ExitCode::FAILURE;
    }
    let number = |name: &str, otherwise: u64, what: &str| match std::env::var(name)
        .map(|text| text.parse())
    {
        Err(_) => Ok(otherwise),
        Ok(Ok(number)) if number > 0 => Ok(number),
        Ok(_) => Err(format!("{name} is {what}: a whole number, at least 1")),
    };
    let runs = number("FIELD_RUNS", 5, "how often each is run");
    let bytes = number("SOAK_BYTES", 1_000_000_000, "what is carried under each fault (bytes)");
    let within =
        number("FIELD_WITHIN", 0, "the width of intervals that ends the runs of a row (%)");
    let most = number("FIELD_MOST", 40, "how often a row is run at most");
    let rates = number("FIELD_MBPS", 320, "the sum of the rates at once (Mbit/s)");
    let numbers: Result<Vec<u64>, String> =
        [runs, bytes, within, most, rates].into_iter().collect();
    let [runs, bytes, within, most, rates] = match numbers.as_deref() {
        Ok(&[runs, bytes, within, most, rates]) => [runs, bytes, within, most, rates],
        Ok(_) => unreachable!("five numbers are read"),
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::from(2);
        }
    };
    // Cargo adds an option of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|w| !w.starts_with('-')).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if let Some((_, rows)) = words.split_first().filter(|(first, _)| *first == "soak") {
        let good = soak::table(bytes, rows);
        return if good { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if wanted("gain") {
        for (ecn, notified) in [(true, true), (true, false), (false, false)] {
            gain(runs, Conditions { ecn, notified });
        }
    }
    if wanted("cuts") {
        for notified in [true, false] {
            let row = describe_notification(notified);
            if words.len() < 2 || words.iter().any(|word| row.contains(word.as_str())) {
                cuts(runs, notified);
            }
        }
    }
    if wanted("harm") {
        harm::table(runs);
    }
    if wanted("neighbours") {
        let rows = words.split_first().filter(|(first, _)| *first == "neighbours");
        let within = (within > 0).then_some(within as f64 / 100.0);
        neighbours::table(
            Runs { least: runs, within, most: most.max(runs), rates_at_once: rates * 1_000_000 },
            rows.map_or(&[], |(_, rows)| rows),
        );
    }
    if wanted("events") {
        events::table(runs);
    }
    ExitCode::SUCCESS
}
