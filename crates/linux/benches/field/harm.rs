//! The cost of the shim where it has no benefit.

use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::{io::Read, io::Write};

use driftway_base::{Duration, Instant};
use driftway_linux::{EmulationReport, PathEnd, kernel_tcp};

use crate::emulate::scenario;
use crate::estimate::Estimate;
use crate::shimmed::{RunningPath, Transfer, Until};
use crate::{LINK, late, pair, shim};

const LASTS: Duration = Duration::from_secs(20);

/// A measurement with a seed, with or without the shim: a row for each value.
struct Case {
    rows: &'static [&'static str],
    measure: fn(u64, bool) -> Vec<f64>,
}

const CASES: [Case; 8] = [
    Case { rows: &["clean, one flow, Mbit/s"], measure: clean },
    Case { rows: &["reordering, Mbit/s"], measure: reordering },
    Case { rows: &["both directions, sum, Mbit/s"], measure: both_ways },
    Case { rows: &["100 short flows in turn, flows/s"], measure: short_flows },
    Case { rows: &["1,000 flows at once, flows/s"], measure: thousand_flows },
    Case {
        rows: &[
            "beside a plain flow, ECN: plain's share",
            "  plain's round trip, ms",
            "  packets marked, of 1,000",
        ],
        measure: with_ecn,
    },
    Case {
        rows: &[
            "beside a plain flow, drop tail: its share",
            "  plain's round trip, ms",
            "  packets lost, of 1,000",
        ],
        measure: with_drop_tail,
    },
    // ECN is negotiated, but no router marks.
    Case {
        rows: &[
            "same, ECN agreed on in vain: its share",
            "  plain's round trip, ms",
            "  packets lost, of 1,000",
        ],
        measure: with_ecn_in_vain,
    },
];

/// Pairs that run at once: more would measure this machine.
const AT_ONCE: u64 = 2;

pub fn table(runs: u64) {
    println!("\nNo harm: the same without and with the shim, cubic; {runs} pairs");
    println!("{:<44}{:>18}{:>18}{:>16}", "", "plain", "shim", "ratio");
    for Case { rows, measure } in CASES {
        let seeds: Vec<u64> = (1..=runs).collect();
        let pairs: Vec<_> = seeds
            .chunks(AT_ONCE as usize)
            .flat_map(|seeds| all_at_once(seeds, |seed| pair(|with| measure(seed, with))))
            .collect();
        for (row, name) in rows.iter().enumerate() {
            let arm = |arm: usize| Estimate::of(pairs.iter().map(|p| p[arm][row]), 2);
            let ratio = Estimate::of(pairs.iter().map(|p| p[1][row] / p[0][row]), 3);
            println!("{name:<44}{:>18}{:>18}{ratio:>16}", arm(0), arm(1));
        }
    }
    late::print_warning();
}

fn all_at_once<T: Send>(seeds: &[u64], run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let runs: Vec<_> = seeds.iter().map(|seed| scope.spawn(move || run(*seed))).collect();
        runs.into_iter().map(|run| run.join().expect("a run fails")).collect()
    })
}

fn mbps(bytes: u64, lasted: Duration) -> f64 {
    bytes as f64 * 8.0 / lasted.as_secs_f64() / 1e6
}

fn one(link: &str, seed: u64, with: bool) -> Vec<f64> {
    let path = RunningPath::start(&scenario(link, ""), seed, true);
    let shim = shim(&path, with);
    let end = Instant::ZERO + LASTS;
    let arrived = Transfer::start(&path, "cubic", Until::Time(end)).finish();
    shim.map(crate::shimmed::RunningShim::stop);
    late::end(path);
    vec![mbps(arrived.bytes_by(end), LASTS)]
}

fn clean(seed: u64, with: bool) -> Vec<f64> {
    one(LINK, seed, with)
}

fn reordering(seed: u64, with: bool) -> Vec<f64> {
    let free = LINK.replace("\"10 ms\"", "{ uniform = [\"10 ms\", \"20 ms\"] }");
    one(&(free + "\norder = \"free\""), seed, with)
}

/// Bytes in each direction of one connection.
fn both_ways(seed: u64, with: bool) -> Vec<f64> {
    let path = RunningPath::start(&scenario(LINK, ""), seed, true);
    let shim = shim(&path, with);
    let [_, far] = path.addresses;
    let to = SocketAddrV4::new(far, 7100);
    let listener = path.running.end(PathEnd::Far).run(|| TcpListener::bind(to));
    let listener = listener.expect("the path is running").expect("the port is free");
    let connect = || TcpStream::connect(SocketAddr::V4(to));
    let near =
        path.near().run(connect).expect("the path is running").expect("the connection is accepted");
    let (far, _) = listener.accept().expect("a connection arrives");
    let (clock, end) = (path.clock, Instant::ZERO + LASTS);
    let ends = [near, far].map(|stream| {
        let mut writes = stream.try_clone().expect("the descriptor is duplicated");
        let writer = thread::spawn(move || {
            while clock.now() < end {
                writes.write_all(&[7; 16_384]).expect("the transfer continues");
            }
            writes.shutdown(std::net::Shutdown::Write).expect("the connection is open");
        });
        let mut reads = stream;
        let reader = thread::spawn(move || {
            let (mut bytes, mut buffer) = (0, vec![0; 65_536]);
            loop {
                match reads.read(&mut buffer).expect("the transfer continues") {
                    0 => return bytes,
                    len if clock.now() <= end => bytes += len as u64,
                    _ => {}
                }
            }
        });
        (writer, reader)
    });
    let bytes = ends.map(|(writer, reader)| {
        writer.join().expect("the writer does not panic");
        reader.join().expect("the reader does not panic")
    });
    shim.map(crate::shimmed::RunningShim::stop);
    late::end(path);
    vec![mbps(bytes.iter().sum(), LASTS)]
}

fn short_flows(seed: u64, with: bool) -> Vec<f64> {
    const FLOWS: u16 = 100;
    let path = RunningPath::start(&scenario(LINK, ""), seed, true);
    let shim = shim(&path, with);
    for n in 0..FLOWS {
        Transfer::start_at(&path, 8000 + n, "cubic", Until::Bytes(20_000)).finish();
    }
    let took = path.clock.now().since(Instant::ZERO);
    shim.map(crate::shimmed::RunningShim::stop);
    late::end(path);
    vec![f64::from(FLOWS) / took.as_secs_f64()]
}

fn thousand_flows(seed: u64, with: bool) -> Vec<f64> {
    const FLOWS: u16 = 1000;
    let fast = LINK.replace("10 Mbit/s", "100 Mbit/s").replace("80", "800").replace("40", "400");
    let path = RunningPath::start(&scenario(&fast, ""), seed, true);
    let shim = shim(&path, with);
    let flows: Vec<_> = (0..FLOWS)
        .map(|n| Transfer::start_at(&path, 8000 + n, "cubic", Until::Bytes(50_000)))
        .collect();
    flows.into_iter().for_each(|flow| drop(flow.finish()));
    let took = path.clock.now().since(Instant::ZERO);
    shim.map(crate::shimmed::RunningShim::stop);
    late::end(path);
    vec![f64::from(FLOWS) / took.as_secs_f64()]
}

/// Two flows over a full link; the one older than the shim is always plain: its share of the total,
/// its SRTT (ms), and the report of the path.
fn beside(link: &str, seed: u64, with: bool, ecn: bool) -> (f64, f64, EmulationReport) {
    // CUBIC needs tens of seconds to give up its share: both begin at nearly the same time.
    const FROM: Duration = Duration::from_secs(10);
    const TO: Duration = Duration::from_secs(70);
    let path = RunningPath::start(&scenario(link, ""), seed, ecn);
    let (from, end) = (Instant::ZERO + FROM, Instant::ZERO + TO);
    let older = Transfer::start_at(&path, 7001, "cubic", Until::Time(end));
    path.sleep_until(Duration::from_millis(250));
    let shim = shim(&path, with);
    let newer = Transfer::start_at(&path, 7002, "cubic", Until::Time(end));
    let [near, far] = path.addresses;
    let ends = [SocketAddrV4::new(near, older.port), SocketAddrV4::new(far, 7001)];
    let mut round_trips = Vec::new();
    let mut at = FROM;
    while at < TO {
        path.sleep_until(at);
        let tcp = path.near().run(|| kernel_tcp(ends[0], ends[1])).expect("the path is running");
        round_trips.push(f64::from(tcp.expect("the connection is open").info.rtt) / 1e3);
        at = at + Duration::from_millis(200);
    }
    let [older, newer] = [older, newer].map(|transfer| {
        let arrived = transfer.finish();
        (arrived.bytes_by(end) - arrived.bytes_by(from)) as f64
    });
    shim.map(crate::shimmed::RunningShim::stop);
    let report = late::end(path);
    let round_trip = round_trips.iter().sum::<f64>() / round_trips.len() as f64;
    (older / (older + newer), round_trip, report)
}

fn with_ecn(seed: u64, with: bool) -> Vec<f64> {
    let (share, round_trip, report) = beside(LINK, seed, with, true);
    let delivered = report.counts.by_kernel[0].delivered as f64;
    vec![share, round_trip, 1e3 * report.marked as f64 / delivered]
}

fn drop_tail(seed: u64, with: bool, ecn: bool) -> Vec<f64> {
    let link = LINK.replace(", ecn_threshold = 40", "");
    let (share, round_trip, report) = beside(&link, seed, with, ecn);
    let lost = report.counts.drops.values().sum::<u64>() as f64;
    let delivered = report.counts.by_kernel[0].delivered as f64;
    vec![share, round_trip, 1e3 * lost / delivered]
}

fn with_drop_tail(seed: u64, with: bool) -> Vec<f64> {
    drop_tail(seed, with, false)
}

fn with_ecn_in_vain(seed: u64, with: bool) -> Vec<f64> {
    drop_tail(seed, with, true)
}
