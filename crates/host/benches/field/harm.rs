//! Does the shim harm where there is nothing to be gained?

use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::{io::Read, io::Write};

use base::{Duration, Instant};
use host::End;

use crate::emulate::scenario;
use crate::estimate::Estimate;
use crate::shimmed::{Path, Transfer, Until};
use crate::{LINK, pair, shim};

const LASTS: Duration = Duration::from_secs(20);

/// A row: what is measured, and what of it, with the seed and whether the shim is there.
type Case = (&'static str, fn(u64, bool) -> f64);

/// More is better, but of shares a half is fair.
const CASES: [Case; 8] = [
    ("clean, one flow, Mbit/s", clean),
    ("reordering, Mbit/s", reordering),
    ("both ways, sum, Mbit/s", both_ways),
    ("100 short flows in turn, flows/s", short_flows),
    ("1,000 flows at once, flows/s", thousand_flows),
    ("a plain flow beside one, ECN: its share", share_with_ecn),
    ("a plain flow beside one, drop tail: its share", share_without_ecn),
    ("same: packets delivered per one lost", delivered_per_loss),
];

pub fn table(runs: u64) {
    println!("\nNo harm: the same without and with the shim, cubic; {runs} pairs");
    println!("{:<44}{:>18}{:>18}{:>16}", "", "plain", "shim", "ratio");
    for (name, case) in CASES {
        let pairs: Vec<_> = (1..=runs).map(|seed| pair(|with| case(seed, with))).collect();
        let arm = |arm: usize| Estimate::of(pairs.iter().map(|p| p[arm]), 2);
        let ratio = Estimate::of(pairs.iter().map(|p| p[1] / p[0]), 3);
        println!("{name:<44}{:>18}{:>18}{ratio:>16}", arm(0), arm(1));
    }
}

fn mbps(bytes: u64, lasted: Duration) -> f64 {
    bytes as f64 * 8.0 / lasted.as_secs_f64() / 1e6
}

fn one(link: &str, seed: u64, with: bool) -> f64 {
    let path = Path::start(&scenario(link, ""), seed, true);
    let shim = shim(&path, with);
    let end = Instant::ZERO + LASTS;
    let arrived = Transfer::start(&path, "cubic", Until::Time(end)).finish();
    shim.map(crate::shimmed::Shimmed::stop);
    path.running.stop().expect("the path fails");
    mbps(arrived.bytes_by(end), LASTS)
}

fn clean(seed: u64, with: bool) -> f64 {
    one(LINK, seed, with)
}

fn reordering(seed: u64, with: bool) -> f64 {
    let free = LINK.replace("\"10 ms\"", "{ uniform = [\"10 ms\", \"20 ms\"] }");
    one(&(free + "\norder = \"free\""), seed, with)
}

/// Bytes each way on one connection at once.
fn both_ways(seed: u64, with: bool) -> f64 {
    let path = Path::start(&scenario(LINK, ""), seed, true);
    let shim = shim(&path, with);
    let [_, far] = path.addresses;
    let to = SocketAddrV4::new(far, 7100);
    let listener = path.running.namespace(End::Far).run(|| TcpListener::bind(to));
    let listener = listener.expect("it runs").expect("nobody else listens");
    let connect = || TcpStream::connect(SocketAddr::V4(to));
    let near = path.near().run(connect).expect("it runs").expect("somebody listens");
    let (far, _) = listener.accept().expect("somebody connects");
    let (clock, end) = (path.clock, Instant::ZERO + LASTS);
    let ends = [near, far].map(|stream| {
        let mut writes = stream.try_clone().expect("there are descriptors");
        let writer = thread::spawn(move || {
            while clock.now() < end {
                writes.write_all(&[7; 16_384]).expect("it goes on");
            }
            writes.shutdown(std::net::Shutdown::Write).expect("it is open");
        });
        let mut reads = stream;
        let reader = thread::spawn(move || {
            let (mut bytes, mut buffer) = (0, vec![0; 65_536]);
            loop {
                match reads.read(&mut buffer).expect("it goes on") {
                    0 => return bytes,
                    len if clock.now() <= end => bytes += len as u64,
                    _ => {}
                }
            }
        });
        (writer, reader)
    });
    let bytes = ends.map(|(writer, reader)| {
        writer.join().expect("it writes");
        reader.join().expect("it reads")
    });
    shim.map(crate::shimmed::Shimmed::stop);
    path.running.stop().expect("the path fails");
    mbps(bytes.iter().sum(), LASTS)
}

fn short_flows(seed: u64, with: bool) -> f64 {
    const FLOWS: u16 = 100;
    let path = Path::start(&scenario(LINK, ""), seed, true);
    let shim = shim(&path, with);
    for n in 0..FLOWS {
        Transfer::start_at(&path, 8000 + n, "cubic", Until::Bytes(20_000)).finish();
    }
    let took = path.clock.now().since(Instant::ZERO);
    shim.map(crate::shimmed::Shimmed::stop);
    path.running.stop().expect("the path fails");
    f64::from(FLOWS) / took.as_secs_f64()
}

fn thousand_flows(seed: u64, with: bool) -> f64 {
    const FLOWS: u16 = 1000;
    let fast = LINK.replace("10 Mbit/s", "100 Mbit/s").replace("80", "800").replace("40", "400");
    let path = Path::start(&scenario(&fast, ""), seed, true);
    let shim = shim(&path, with);
    let flows: Vec<_> = (0..FLOWS)
        .map(|n| Transfer::start_at(&path, 8000 + n, "cubic", Until::Bytes(50_000)))
        .collect();
    flows.into_iter().for_each(|flow| drop(flow.finish()));
    let took = path.clock.now().since(Instant::ZERO);
    shim.map(crate::shimmed::Shimmed::stop);
    path.running.stop().expect("the path fails");
    f64::from(FLOWS) / took.as_secs_f64()
}

/// Of two flows over a full link: the one that is older than the shim, and so always plain, gets
/// this share of what both carry; and what was delivered per packet that was lost.
fn beside(link: &str, seed: u64, with: bool, ecn: bool) -> [f64; 2] {
    let path = Path::start(&scenario(link, ""), seed, ecn);
    let end = Instant::ZERO + Duration::from_secs(30);
    let older = Transfer::start_at(&path, 7001, "cubic", Until::Time(end));
    path.sleep_until(Duration::from_millis(500));
    let shim = shim(&path, with);
    let newer = Transfer::start_at(&path, 7002, "cubic", Until::Time(end));
    let from = Instant::ZERO + Duration::from_secs(5);
    let [older, newer] = [older, newer].map(|transfer| {
        let arrived = transfer.finish();
        (arrived.bytes_by(end) - arrived.bytes_by(from)) as f64
    });
    shim.map(crate::shimmed::Shimmed::stop);
    let report = path.running.stop().expect("the path fails");
    let lost: u64 = report.account.lost.values().sum();
    let delivered = report.account.carried[0].delivered;
    [older / (older + newer), delivered as f64 / lost.max(1) as f64]
}

fn share_with_ecn(seed: u64, with: bool) -> f64 {
    beside(LINK, seed, with, true)[0]
}

fn drop_tail() -> String {
    LINK.replace(", ecn_threshold = 40", "")
}

fn share_without_ecn(seed: u64, with: bool) -> f64 {
    beside(&drop_tail(), seed, with, false)[0]
}

fn delivered_per_loss(seed: u64, with: bool) -> f64 {
    beside(&drop_tail(), seed, with, false)[1]
}
