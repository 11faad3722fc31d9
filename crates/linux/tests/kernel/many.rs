//! Thousands of connections at once, and an outage of all.
//!
//! A process may have only so many files, so the connections belong to several, each with both ends
//! of its own.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use driftway_linux::{Namespace, RealClock, ShimSettings, ShimSnapshot};
use driftway_shim::{Config, FlowState};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::shimmed::RunningShim;
use crate::stream_digest::{StreamDigest, pattern};
use crate::streams::{PATIENCE, connect, eventually, listen, nap, reset, socket};
use crate::wired;

tests![an_outage_of_many_connections, more_connections_than_the_table_has_room_for];

/// Number of connections, unless `DRIFTWAY_CONNECTIONS` has another, such as 20000.
const CONNECTIONS: usize = 1500;
/// Connections of a process.
const PER_PROCESS: usize = 5000;
const ROLE: &str = "program-connections";
const HERE: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 2);
const PORT: u16 = 7000;
/// Bytes sent over each connection before the outage and in it, and of the answer to them.
const BEFORE: usize = 1000;
const DURING: usize = 2000;
const ANSWER: usize = 500;

fn wanted() -> usize {
    let given = env::var("DRIFTWAY_CONNECTIONS").ok();
    given.map_or(CONNECTIONS, |number| number.parse().expect("a number of connections"))
}

/// A process with connections.
struct Part {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Part {
    fn start([near, far]: [&Namespace; 2], port: u16, count: usize) -> Self {
        let file = |namespace: &Namespace| {
            format!("/proc/{}/fd/{}", std::process::id(), namespace.as_fd().as_raw_fd())
        };
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([ROLE, &file(near), &file(far), &port.to_string(), &count.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, answers }
    }
}

/// Lets all processes do a step at the same time.
fn step(parts: &mut [Part], step: &str) {
    for part in &mut *parts {
        writeln!(part.process.stdin.as_mut().unwrap(), "{step}").unwrap();
    }
    for part in parts {
        let mut answer = String::new();
        part.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n", "{step}");
    }
}

/// Returns whether this process was started for its connections.
pub fn is_part_process() -> bool {
    env::args().nth(1).is_some_and(|role| role == ROLE)
}

/// Does the steps that standard input names.
pub fn run_part() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(2).collect();
    let [near, far, port, count] = &arguments[..] else { panic!("{arguments:?}") };
    let [near, far] = [near, far].map(|file| Namespace::open(Path::new(file)).unwrap());
    let (port, count): (u16, usize) = (port.parse().unwrap(), count.parse().unwrap());
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let (mut connections, mut received) = (Vec::new(), Vec::new());
    for line in io::stdin().lines() {
        match line.unwrap().as_str() {
            "open" => {
                let listener = listen(&far, (THERE, port));
                for _ in 0..count {
                    connections.push(connect(socket(&near), &listener, (THERE, port)));
                    received.push(StreamDigest::default());
                }
            }
            "before" => {
                each(&connections, |key, [near, _]| write(near, key, 0, BEFORE));
                let mut received = received.iter_mut();
                each(&connections, |key, [_, far]| {
                    read(far, key, received.next().unwrap(), BEFORE);
                });
            }
            "during" => {
                each(&connections, |key, [near, _]| write(near, key, BEFORE as u64, DURING));
            }
            "after" => {
                let mut received = received.iter_mut();
                each(&connections, |key, [near, far]| {
                    let received = received.next().unwrap();
                    read(far, key, received, DURING);
                    received.assert_complete((BEFORE + DURING) as u64);
                    write(far, !key, 0, ANSWER);
                    let mut answer = StreamDigest::default();
                    read(near, !key, &mut answer, ANSWER);
                    answer.assert_complete(ANSWER as u64);
                });
            }
            // If all closed at once, the queue would be full, and some resets would pass unseen.
            "close" => connections.drain(..).enumerate().for_each(|(number, ends)| {
                ends.into_iter().for_each(reset);
                if number % 25 == 0 {
                    nap(10);
                }
            }),
            other => panic!("{other}"),
        }
        println!("done");
    }
    ExitCode::SUCCESS
}

/// Each connection has a pattern of its own.
fn each(connections: &[[TcpStream; 2]], mut work: impl FnMut(u8, &[TcpStream; 2])) {
    connections.iter().enumerate().for_each(|(number, ends)| work(number as u8, ends));
}

fn write(mut stream: &TcpStream, key: u8, offset: u64, len: usize) {
    let mut bytes = vec![0; len];
    pattern(key.into(), offset, &mut bytes);
    stream.write_all(&bytes).unwrap();
}

fn read(mut stream: &TcpStream, key: u8, received: &mut StreamDigest, len: usize) {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).unwrap();
    received.update(key.into(), &bytes);
}

struct Outcome {
    /// Length of the outage, and time from its end to the last byte.
    outage: Duration,
    time: Duration,
    /// The shim's status before the connections were closed, and at its end.
    stood: Option<[ShimSnapshot; 2]>,
}

/// Opens connections, sends something over each before and in an outage, and reads it. The outage
/// lasts until the shim, which has room for so many flows, knows of it for each; without a shim as
/// long as stated.
fn run(count: usize, flows: Option<usize>, outage: Duration) -> Outcome {
    let [near, far] = [(); 2].map(|()| Namespace::new().unwrap());
    wired::cable([(&near, "far", HERE), (&far, "near", THERE)]).unwrap();
    let shim = flows.map(|flows| {
        let config = Config { flows, ..Config::default() };
        RunningShim::start(&near, &ShimSettings { config, ..ShimSettings::default() })
    });
    let mut parts: Vec<_> = (0..count.div_ceil(PER_PROCESS))
        .map(|n| {
            let count = (count - n * PER_PROCESS).min(PER_PROCESS);
            Part::start([&near, &far], PORT + n as u16, count)
        })
        .collect();
    step(&mut parts, "open");
    // The last ones are no longer young.
    nap(1200);
    step(&mut parts, "before");
    far.run(|| wired::plug("near", false)).unwrap().unwrap();
    let clock = RealClock::start();
    let passed = |clock: RealClock| Duration::from_nanos(clock.now().as_nanos());
    nap(300);
    step(&mut parts, "during");
    // Without a shim nobody knows, and the outage lasts as long as stated.
    while passed(clock) < outage {
        nap(50);
    }
    if let (Some(shim), Some(flows)) = (&shim, flows) {
        let expected = count.min(flows) as u64;
        loop {
            let stood = shim.snapshot();
            let flows = stood.flows.len() as u64 + stood.counts.no_carrier;
            let unaware = stood.flows.iter().filter(|flow| flow.state == FlowState::Open);
            if flows == expected && unaware.clone().next().is_none() {
                break;
            }
            let unaware: Vec<_> = unaware.take(3).collect();
            let counts = stood.counts;
            assert!(
                passed(clock) < PATIENCE,
                "{flows} of {expected} flows, {unaware:?}, {counts:?}"
            );
            nap(50);
        }
    }
    let outage = passed(clock);
    far.run(|| wired::plug("near", true)).unwrap().unwrap();
    let clock = RealClock::start();
    step(&mut parts, "after");
    let time = passed(clock);
    let stood = shim.map(|shim| {
        let before = shim.snapshot();
        step(&mut parts, "close");
        eventually("ended connections are forgotten", || shim.snapshot().flows.is_empty());
        [before, shim.stop()]
    });
    for mut part in parts {
        drop(part.process.stdin.take());
        assert!(part.process.wait().unwrap().success());
    }
    Outcome { outage, time, stood }
}

fn an_outage_of_many_connections() {
    let wanted = wanted();
    let shimmed = run(wanted, Some(wanted), Duration::from_secs(1));
    let plain = run(wanted, None, shimmed.outage);
    println!(
        "{wanted} connections, an outage of {:?}: the last byte {:?} after it, else {:?}",
        shimmed.outage, shimmed.time, plain.time
    );
    let count = wanted as u64;
    let [before, after] = shimmed.stood.unwrap();
    let counts = before.counts;
    assert_eq!((counts.table_full, counts.tracking_lost), (0, 0), "{counts:?}");
    // Where the queue was full, the handshake has passed unseen.
    assert!(counts.preexisting <= count / 100, "{counts:?}");
    assert_carried(count, &before);
    assert_eq!(after.memory.0, 0, "{after:?}");
    // The outage costs plain TCP about its own length. Where the queue was full, acknowledgments have
    // passed the shim, and an RTT sample may be as long as the outage.
    let limit = plain.time * 2 + shimmed.outage.max(Duration::from_secs(2));
    assert!(shimmed.time <= limit, "{:?}, {limit:?}", shimmed.time);
}

/// Asserts that so many flows were carried over one outage each. Where this host has no processor for
/// the shim in time, one in a hundred may have been taken for lost before, or get no help.
fn assert_carried(flows: u64, stood: &ShimSnapshot) {
    let (counts, few) = (stood.counts, flows / 100);
    assert_eq!(counts.flows, flows, "{counts:?}");
    assert!(counts.no_carrier <= few, "{counts:?}");
    assert_eq!(stood.flows.len() as u64, flows - counts.no_carrier, "{counts:?}");
    let about = flows - counts.no_carrier..=flows + few;
    assert!(about.contains(&counts.outages) && about.contains(&counts.survived), "{counts:?}");
}

/// Those without room pass.
fn more_connections_than_the_table_has_room_for() {
    let (wanted, room) = (wanted(), wanted() / 5);
    let shimmed = run(wanted, Some(room), Duration::from_secs(1));
    let [before, after] = shimmed.stood.unwrap();
    let (counts, room) = (before.counts, room as u64);
    assert!(counts.table_full >= wanted as u64 - room, "{counts:?}");
    assert_eq!(counts.tracking_lost, 0, "{counts:?}");
    assert_carried(room, &before);
    assert_eq!(after.memory.0, 0, "{after:?}");
}
