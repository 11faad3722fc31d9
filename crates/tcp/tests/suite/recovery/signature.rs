//! One transfer with the same losses under each recovery: each leaves its characteristic trace
//! (Fall & Floyd 1996 §3).

use driftway_base::{Instant, Seq};
use driftway_wire::TcpFlags;

use super::*;
use crate::common::{DELAY, MS, Pair, WireAction};

#[derive(Debug, PartialEq, Eq)]
struct Trace {
    retransmitted: Vec<u32>,
    timeouts: u64,
    tail_probes: u64,
    fast_retransmits: u64,
    smallest_window: u32,
    done: Instant,
    wasted: usize,
}

/// A transfer of 200 segments; of those in the window after the first twenty, the first
/// transmissions of `lost` are dropped.
fn trace(recovery: RecoveryKind, lost: &'static [u32]) -> Trace {
    let sack = matches!(recovery, RecoveryKind::Sack | RecoveryKind::RackTlp);
    let config = Config { recovery, sack, ..plain() };
    let mut pair = Pair::new(&config, &config);
    let first = Seq(u32::MAX - 500) + 1;
    let mut dropped = vec![];
    pair.policy = Box::new(move |from, _, transmit| {
        let number = transmit.segment.seq.0.wrapping_sub(first.0) / 1000;
        let data = from == 0 && !transmit.segment.payload.is_empty();
        if data && lost.contains(&number) && !dropped.contains(&number) {
            dropped.push(number);
            WireAction::Drop
        } else {
            WireAction::Deliver(DELAY)
        }
    });
    pair.ends[0].tcp.write(200_000);
    let mut smallest_window = u32::MAX;
    while pair.ends[1].read < 200_000 {
        assert!(pair.step());
        let view = pair.ends[0].tcp.view();
        smallest_window = smallest_window.min(view.cwnd.value().unwrap());
    }
    let retransmitted: Vec<u32> = pair.ends[0]
        .sent
        .iter()
        .filter(|(_, t)| t.retransmission && !t.segment.flags.contains(TcpFlags::SYN))
        .map(|(_, t)| t.segment.seq.0.wrapping_sub(first.0) / 1000)
        .collect();
    let stats = pair.ends[0].tcp.stats();
    Trace {
        wasted: retransmitted.iter().filter(|n| !lost.contains(n)).count(),
        retransmitted,
        timeouts: stats.timeouts,
        tail_probes: stats.tail_probes,
        fast_retransmits: stats.fast_retransmits,
        smallest_window,
        done: pair.now,
    }
}

#[test]
fn each_recovery_has_its_characteristic_trace() {
    const LOST: &[u32] = &[20, 22, 24, 26];
    let of = |recovery| trace(recovery, LOST);
    let (tahoe, reno) = (of(RecoveryKind::Tahoe), of(RecoveryKind::Reno));
    let (newreno, sack) = (of(RecoveryKind::NewReno), of(RecoveryKind::Sack));
    let seen = format!("{tahoe:#?}\n{reno:#?}\n{newreno:#?}\n{sack:#?}");

    // Tahoe: one segment after its fast retransmit, and received data is sent again.
    assert_eq!((tahoe.smallest_window, tahoe.timeouts), (1000, 0), "{seen}");
    assert!(tahoe.wasted > 0, "{seen}");
    // Reno: several holes cause several reductions, or a timeout.
    assert!(reno.fast_retransmits >= 2 || reno.timeouts > 0, "{seen}");
    // NewReno: one recovery, one hole per round trip, no timeout.
    assert_eq!((newreno.fast_retransmits, newreno.timeouts), (1, 0), "{seen}");
    assert_eq!(newreno.retransmitted, LOST, "{seen}");
    // SACK: the same without the round trips; no received data is sent again.
    assert_eq!((sack.fast_retransmits, sack.timeouts, sack.wasted), (1, 0, 0), "{seen}");
    assert_eq!(sack.retransmitted, LOST, "{seen}");
    assert!(sack.done < newreno.done && newreno.done < reno.done, "{seen}");
    let all = [tahoe, reno, newreno, sack];
    for (n, a) in all.iter().enumerate() {
        assert!(!all[..n].contains(a), "{seen}");
    }
}

#[test]
fn a_lost_tail_needs_a_probe_instead_of_a_timeout() {
    const TAIL: &[u32] = &[197, 198, 199];
    let rack = trace(RecoveryKind::RackTlp, TAIL);
    assert_eq!((rack.tail_probes, rack.timeouts, rack.wasted), (1, 0, 0), "{rack:#?}");
    for recovery in
        [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack]
    {
        let other = trace(recovery, TAIL);
        assert_eq!((other.tail_probes, other.timeouts), (0, 1), "{other:#?}");
        assert!(rack.done + MS(500) < other.done);
        assert_ne!(rack, other);
    }
}

#[test]
fn three_recoveries_repair_a_single_hole_alike() {
    let of = |recovery| trace(recovery, &[20]);
    for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack] {
        let trace = of(recovery);
        assert_eq!(trace.retransmitted, [20]);
        assert_eq!((trace.timeouts, trace.fast_retransmits), (0, 1));
        assert!(trace.smallest_window >= 5000, "{trace:?}");
    }
    assert_eq!(of(RecoveryKind::Tahoe).smallest_window, 1000);
}
