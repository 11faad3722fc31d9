//! Acknowledgments per megabyte that a receiver sends, with the shim at either end.

use std::fs;
use std::io;

use driftway_linux::{Namespace, RealClock};

use crate::network::{DEVICE, pair};
use crate::wired::shape;
use crate::{Interception, connect, flood};

const RUNS: usize = 3;
/// Queue of the shaped link (bytes).
const QUEUE: u32 = 200_000;

/// A counter of `Tcp` in `/proc/net/snmp` (RFC 4022), and the packets that the interface has
/// received, in the namespace.
fn counters(namespace: &Namespace) -> io::Result<[u64; 3]> {
    let (snmp, devices) = namespace.run(|| -> io::Result<_> {
        Ok((
            fs::read_to_string("/proc/thread-self/net/snmp")?,
            fs::read_to_string("/proc/thread-self/net/dev")?,
        ))
    })??;
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let count = |wanted: &str| {
        let mut pairs = names.split(' ').zip(values.split(' '));
        pairs.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse().ok())
    };
    let line = devices.lines().find_map(|line| line.trim().strip_prefix(DEVICE));
    let received = line.unwrap_or_default().trim_start_matches(':').split_whitespace().nth(1);
    Ok([
        count("OutSegs").unwrap_or(0),
        count("InSegs").unwrap_or(0),
        received.and_then(|packets| packets.parse().ok()).unwrap_or(0),
    ])
}

/// Acknowledgments, segments and packets received per megabyte, and Mbit/s.
fn measure(shim_at: Option<usize>, rate: Option<u32>) -> io::Result<[f64; 4]> {
    let ends = pair(true)?;
    if let Some(rate) = rate {
        ends[0].run(|| shape(DEVICE, rate, QUEUE))??;
    }
    let mut child = match shim_at {
        Some(end) => Interception::Shim.start(&ends[end])?,
        None => None,
    };
    let streams = connect(&ends)?;
    let before = counters(&ends[1])?;
    let clock = RealClock::start();
    let mut bytes = 0;
    flood(streams, clock, |_, len| bytes += len)?;
    let seconds = clock.now().since(driftway_base::Instant::ZERO).as_secs_f64();
    let after = counters(&ends[1])?;
    if let Some(child) = &mut child {
        drop(child.stdin.take());
        child.wait()?;
    }
    let megabytes = bytes as f64 / 1e6;
    let [acks, segments, packets] =
        std::array::from_fn(|n| (after[n] - before[n]) as f64 / megabytes);
    Ok([acks, segments, packets, megabytes * 8.0 / seconds])
}

/// Prints the table.
pub fn table() -> io::Result<()> {
    println!(
        "{:<44}{:>9}{:>10}{:>9}{:>9}",
        "per MB at the receiver", "ACKs", "segments", "packets", "Mbit/s"
    );
    for (path, rate) in
        [("veth", None), ("100 Mbit/s", Some(12_500_000)), ("10 Mbit/s", Some(1_250_000))]
    {
        for (name, end) in
            [("plain", None), ("shim at the sender", Some(0)), ("shim at the receiver", Some(1))]
        {
            let mut runs = (0..RUNS).map(|_| measure(end, rate)).collect::<io::Result<Vec<_>>>()?;
            runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let [acks, segments, packets, mbps] = runs[RUNS / 2];
            println!(
                "{:<44}{acks:>9.1}{segments:>10.1}{packets:>9.1}{mbps:>9.0}",
                format!("{path}, {name}")
            );
        }
    }
    println!("\nMedians of {RUNS} runs by ACKs.");
    Ok(())
}
