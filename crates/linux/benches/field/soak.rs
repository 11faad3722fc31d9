//! A gigabyte under each fault with every byte checked: SHA-256 at both ends, and each byte against
//! the expected one.

mod wired;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use driftway_base::RandomStream;
use driftway_linux::{Namespace, PathEnd, RealClock, ShimSettings};
use socket2::Socket;

use crate::crossing::ReorderingLink;
use crate::emulate::scenario;
use crate::numbered::{EACH, Received, listen, receive_all, send_all};
use crate::pair::{THERE, pair, plug};
use crate::shimmed::{RunningPath, RunningShim, ShimProcess};
use crate::stream_digest::StreamDigest;

/// Connections at once.
const AT_ONCE: u64 = 16;

/// A fault, and a function that transfers so many bytes under it.
type Row = (&'static str, fn(u64) -> Outcome);

const ROWS: [Row; 12] = [
    ("losses, one packet in 200", losses),
    ("reordering", reordering),
    ("duplicates, flipped bits", damage),
    ("marks of congestion", marks),
    ("queues that overflow", overflow),
    ("cuts, notified by ICMP", notified_cuts),
    ("cuts, silent", silent_cuts),
    ("killed and begun anew, losses and cuts", killed),
    ("ended and begun anew, losses and cuts", ended),
    ("cable out and in again at the far end", unplugged),
    ("same, shim at the far end, --hold-back", held_back),
    ("all at once, and killed", everything),
];

/// Result of a row's transfers.
#[derive(Default)]
struct Outcome {
    connections: u64,
    bytes: u64,
    mismatches: u64,
    /// Connection attempts that ended in an error after the near end considered them open: routers
    /// report a cut, and the far end (as Linux does) forgets the SYNs it has answered.
    unopened: u64,
    /// Connections that ended in an error.
    broken: Vec<String>,
    /// Packets with data on another route than the connection's.
    astray: usize,
    uptime_s: f64,
    kept: ShimTotals,
}

/// Results of the shim.
#[derive(Default)]
struct ShimTotals {
    /// Number of starts.
    begun: u64,
    /// Unknown if it is killed.
    counted: Option<[u64; 2]>,
    /// Flows and bytes left at the end.
    left: (usize, usize),
}

impl ShimTotals {
    fn add(&mut self, shim: RunningShim) {
        let last = shim.stop();
        let [survived, undone] = self.counted.unwrap_or_default();
        self.counted = Some([survived + last.counts.survived, undone + last.counts.undone]);
        self.left = (last.flows.len(), last.memory.0);
    }
}

/// Runs the rows whose names contain one of the words, or all; `false`: data arrived corrupted, or
/// not at all.
pub fn table(bytes: u64, words: &[String]) -> bool {
    println!(
        "\nEvery byte checked, SHA-256 at both ends: {AT_ONCE} connections at once, cubic, {} kB each",
        EACH / 1000
    );
    println!(
        "{:<40}{:>6}{:>7}{:>8}{:>7}{:>10}{:>7}{:>8}{:>7}{:>10}{:>8}",
        "",
        "MB",
        "s",
        "Mbit/s",
        "flows",
        "unopened",
        "wrong",
        "broken",
        "shims",
        "survived",
        "undone"
    );
    let mut good = true;
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for (name, run) in ROWS.into_iter().chain(wired::ROWS).filter(|(name, _)| wanted(name)) {
        let outcome = run(bytes);
        let Outcome { connections, unopened, mismatches, uptime_s, broken, kept, .. } = &outcome;
        let megabytes = outcome.bytes as f64 / 1e6;
        let counted = |n: usize| kept.counted.map_or("–".to_owned(), |all| all[n].to_string());
        println!(
            "{name:<40}{megabytes:>6.0}{uptime_s:>7.1}{:>8.0}{connections:>7}{unopened:>10}\
             {mismatches:>7}{:>8}{:>7}{:>10}{:>8}",
            megabytes * 8.0 / uptime_s,
            broken.len(),
            kept.begun,
            counted(0),
            counted(1),
        );
        for what in broken.iter().take(3) {
            println!("  {what}");
        }
        if outcome.astray > 0 {
            println!("  {} packets with data on another route", outcome.astray);
        }
        if kept.left != (0, 0) {
            println!("  left in the shim: {} flows, {} bytes", kept.left.0, kept.left.1);
        }
        good &= *mismatches == 0
            && broken.is_empty()
            && outcome.astray == 0
            && outcome.bytes == share(bytes) * AT_ONCE
            && kept.left == (0, 0);
    }
    good
}

/// Bytes of each simultaneous sequence, as whole connections.
fn share(bytes: u64) -> u64 {
    bytes.div_ceil(AT_ONCE).next_multiple_of(EACH)
}

/// Transfers the bytes from near to far; `keep` runs a shim until everything is done.
fn carry(
    ends: [&Namespace; 2],
    to: Ipv4Addr,
    bytes: u64,
    keep: impl FnOnce(&Sender<()>, &AtomicBool) -> ShimTotals + Send,
) -> Outcome {
    carry_over(ends, to, bytes, |_, _| Ok(()), keep)
}

/// The same over prepared sockets, by the index of the simultaneous sequence.
fn carry_over(
    [near, far]: [&Namespace; 2],
    to: Ipv4Addr,
    bytes: u64,
    prepare: impl Fn(u64, &Socket) -> io::Result<()> + Sync,
    keep: impl FnOnce(&Sender<()>, &AtomicBool) -> ShimTotals + Send,
) -> Outcome {
    let (sent_all, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let (ready, is_ready) = channel();
    let mut outcome = Outcome::default();
    thread::scope(|scope| {
        let keeper = scope.spawn(|| keep(&ready, &done));
        is_ready.recv().expect("the shim starts");
        let clock = RealClock::start();
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|n| {
                let to = SocketAddrV4::new(to, 7000 + n as u16);
                let listener = listen(far, to).expect("the port is free");
                let (sent_all, prepare) = (&sent_all, &prepare);
                let receives = scope.spawn(move || receive_all(&listener, sent_all));
                let sends = scope.spawn(move || {
                    send_all(near, to, share(bytes) / EACH, |socket| prepare(n, socket))
                });
                (sends, receives)
            })
            .collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        let sent: Vec<_> =
            senders.into_iter().map(|s| s.join().expect("the thread does not panic")).collect();
        outcome.uptime_s = clock.now().as_secs_f64();
        sent_all.store(true, Ordering::Relaxed);
        for (sent, receives) in sent.into_iter().zip(receivers) {
            outcome.record(sent, receives.join().expect("the thread does not panic"));
        }
        // The last acknowledgments.
        nap(500);
        done.store(true, Ordering::Relaxed);
        outcome.kept = keeper.join().expect("the shim fails");
    });
    outcome
}

impl Outcome {
    fn record(&mut self, sent: Vec<io::Result<StreamDigest>>, received: Received) {
        for (number, sent) in sent.into_iter().enumerate() {
            let arrived = received.iter().find(|(which, _)| *which == number as u64);
            match (sent, arrived) {
                (Ok(sent), Some((_, Ok(received)))) => {
                    self.connections += 1;
                    self.bytes += received.bytes();
                    self.mismatches += u64::from(!received.is_as_sent(&sent));
                }
                // For the far end there was no connection yet.
                (Err(_), None) => self.unopened += 1,
                (sent, arrived) => {
                    let arrived = arrived.map(|(_, received)| received);
                    self.broken.push(format!("sender: {:?}, receiver: {arrived:?}", sent.err()));
                }
            }
        }
    }
}

fn nap(millis: u64) {
    thread::sleep(std::time::Duration::from_millis(millis));
}

/// One shim for the whole time, while `meanwhile` is repeated.
fn steadily(
    namespace: &Namespace,
    settings: &ShimSettings,
    ready: &Sender<()>,
    done: &AtomicBool,
    mut meanwhile: impl FnMut(),
) -> ShimTotals {
    let shim = RunningShim::start(namespace, settings);
    ready.send(()).expect("the receiver exists");
    while !done.load(Ordering::Relaxed) {
        meanwhile();
    }
    let mut kept = ShimTotals { begun: 1, ..ShimTotals::default() };
    kept.add(shim);
    kept
}

/// A sequence of shims, each for a random time.
fn again_and_again(
    namespace: &Namespace,
    kill: bool,
    ready: &Sender<()>,
    done: &AtomicBool,
) -> ShimTotals {
    let mut kept = ShimTotals::default();
    let mut random = RandomStream::new(1, "soak", u64::from(kill));
    while !done.load(Ordering::Relaxed) {
        kept.begun += 1;
        let lasts = 20 + random.uniform_below(3000);
        // The first start is awaited, further ones are not.
        if kill {
            let shim = ShimProcess::start(namespace);
            ready.send(()).expect("the receiver exists");
            nap(lasts);
            shim.kill();
        } else {
            let shim = RunningShim::start(namespace, &ShimSettings::default());
            ready.send(()).expect("the receiver exists");
            nap(lasts);
            kept.add(shim);
        }
        // A short time without a shim.
        nap(random.uniform_below(100));
    }
    kept
}

/// Transfers over an emulated path.
fn emulated(
    link: &str,
    faults: &str,
    bytes: u64,
    keep: impl FnOnce(&Namespace, &Sender<()>, &AtomicBool) -> ShimTotals + Send,
) -> Outcome {
    let path = RunningPath::start(&scenario(link, faults), 1, true);
    let ends = PathEnd::BOTH.map(|end| path.running.end(end));
    let outcome =
        carry(ends, path.addresses[1], bytes, |ready, done| keep(path.near(), ready, done));
    path.running.stop().expect("the path fails");
    outcome
}

fn with_one(link: &str, faults: &str, bytes: u64, settings: &ShimSettings) -> Outcome {
    emulated(link, faults, bytes, |near, ready, done| {
        steadily(near, settings, ready, done, || nap(10))
    })
}

/// A cut of one second, every four seconds.
fn cuts(notified: bool) -> String {
    let signal = if notified { "icmp-unreachable" } else { "none" };
    format!(
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nevery = \"4 s\"\nfirst = \"2 s\"\n\
         lasts = \"1 s\"\nsignal = \"{signal}\"\n"
    )
}

const RATE: &str = "rate = \"200 Mbit/s\"";
const DELAY: &str = "delay = \"5 ms\"";
const ANY_ORDER: &str = "delay = { uniform = [\"4 ms\", \"6 ms\"] }\norder = \"free\"";
const LONG_QUEUE: &str = "queue = { packets = 500 }";
const MARKS: &str = "queue = { packets = 500, ecn_threshold = 100 }";
const LOSSES: &str = "packet_error_rate = 0.0025";

fn link(parts: [&str; 4]) -> String {
    parts.join("\n")
}

fn losses(bytes: u64) -> Outcome {
    with_one(&link([RATE, DELAY, MARKS, LOSSES]), "", bytes, &ShimSettings::default())
}

fn reordering(bytes: u64) -> Outcome {
    with_one(&link([RATE, ANY_ORDER, MARKS, ""]), "", bytes, &ShimSettings::default())
}

fn marks(bytes: u64) -> Outcome {
    let few = "queue = { packets = 500, ecn_threshold = 20 }";
    with_one(&link([RATE, DELAY, few, ""]), "", bytes, &ShimSettings::default())
}

fn overflow(bytes: u64) -> Outcome {
    with_one(
        &link([RATE, DELAY, "queue = { packets = 40 }", ""]),
        "",
        bytes,
        &ShimSettings::default(),
    )
}

fn notified_cuts(bytes: u64) -> Outcome {
    with_one(&link([RATE, DELAY, LONG_QUEUE, ""]), &cuts(true), bytes, &ShimSettings::default())
}

fn silent_cuts(bytes: u64) -> Outcome {
    let mut settings = ShimSettings::default();
    settings.config.suspect_after = Some(2);
    with_one(&link([RATE, DELAY, LONG_QUEUE, ""]), &cuts(false), bytes, &settings)
}

fn replaced(bytes: u64, delay: &str, kill: bool) -> Outcome {
    emulated(&link([RATE, delay, MARKS, LOSSES]), &cuts(true), bytes, |near, ready, done| {
        again_and_again(near, kill, ready, done)
    })
}

fn killed(bytes: u64) -> Outcome {
    replaced(bytes, DELAY, true)
}

fn ended(bytes: u64) -> Outcome {
    replaced(bytes, DELAY, false)
}

fn everything(bytes: u64) -> Outcome {
    replaced(bytes, ANY_ORDER, true)
}

/// Transfers over a path that duplicates packets and flips bits, besides losses and reordering.
fn damage(bytes: u64) -> Outcome {
    let crossing = ReorderingLink::start().expect("the requirements are met");
    let [near, _] = crossing.ends();
    let outcome = carry(crossing.ends(), crossing.far_address(), bytes, |ready, done| {
        steadily(near, &ShimSettings::default(), ready, done, || nap(10))
    });
    let [there, back] = crossing.stop().expect("the link fails");
    for counts in [there, back] {
        assert!(counts.duplicated > 0 && counts.corrupted > 0, "{counts:?}");
    }
    outcome
}

/// Transfers over a veth pair whose cable is unplugged for a second and a half at a time. The kernel takes up
/// to a second to report it.
fn flapping(bytes: u64, shim_at: PathEnd, settings: &ShimSettings) -> Outcome {
    let ends = pair(false).expect("the requirements are met");
    let [near, far] = &ends;
    carry([near, far], THERE, bytes, |ready, done| {
        steadily(&ends[shim_at as usize], settings, ready, done, || {
            for (plugged, millis) in [(false, 1500), (true, 1500)] {
                far.run(|| plug(plugged))
                    .expect("the path is running")
                    .expect("the cable is unplugged");
                nap(millis);
            }
        })
    })
}

fn unplugged(bytes: u64) -> Outcome {
    flapping(bytes, PathEnd::Near, &ShimSettings::default())
}

fn held_back(bytes: u64) -> Outcome {
    let mut settings = ShimSettings::default();
    settings.config.hold_back = true;
    flapping(bytes, PathEnd::Far, &settings)
}
