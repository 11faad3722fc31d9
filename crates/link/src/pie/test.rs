//! PIE beside the pseudocode of RFC 8033, Appendix A, drop by drop.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, RandomStream};

use super::*;

const CONFIG: PieConfig = PieConfig {
    target: Duration::from_millis(15),
    interval: Duration::from_millis(15),
    ecn: false,
};

/// The pseudocode of RFC 8033, Appendix A, with the timestamps of §4.3 as measure of the latency, in
/// seconds and bytes. Time proceeds in steps of a millisecond, at which it is asked to update.
struct Pseudocode {
    drop_prob: f64,
    qdelay_old: f64,
    current_qdelay: f64,
    burst_allowance_ms: i64,
    queue: VecDeque<(u64, u64)>,
    random: RandomStream,
}

impl Pseudocode {
    fn new() -> Self {
        Self {
            drop_prob: 0.0,
            qdelay_old: 0.0,
            current_qdelay: 0.0,
            burst_allowance_ms: 150,
            queue: VecDeque::new(),
            random: RandomStream::new(1, "link-pie", 0),
        }
    }

    fn byte_length(&self) -> u64 {
        self.queue.iter().map(|(_, bytes)| bytes).sum()
    }

    fn drop_early(&mut self, u: f64) -> bool {
        if (self.qdelay_old < 0.015 / 2.0 && self.drop_prob < 0.2) || self.byte_length() <= 2 * 1500
        {
            return false;
        }
        u < self.drop_prob
    }

    /// Returns true if the packet is dropped.
    fn enque(&mut self, ms: u64, bytes: u64) -> bool {
        let u = self.random.uniform_f64();
        if self.drop_prob == 0.0
            && self.current_qdelay < 0.015 / 2.0
            && self.qdelay_old < 0.015 / 2.0
        {
            self.burst_allowance_ms = 150;
        }
        if self.burst_allowance_ms == 0 && self.drop_early(u) {
            return true;
        }
        self.queue.push_back((ms, bytes));
        false
    }

    fn deque(&mut self, ms: u64) -> Option<(u64, u64)> {
        let first = self.queue.pop_front()?;
        self.current_qdelay =
            if self.queue.is_empty() { 0.0 } else { (ms - first.0) as f64 / 1000.0 };
        Some(first)
    }

    fn calculate_drop_prob(&mut self) {
        let mut p =
            0.125 * (self.current_qdelay - 0.015) + 1.25 * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance_ms = (self.burst_allowance_ms - 15).max(0);
    }
}

/// Arrivals per millisecond at a time: a load that rises above the rate, falls, and ceases.
fn load(ms: u64, random: &mut RandomStream) -> u64 {
    let most = match ms / 4000 % 5 {
        0 => 2,
        1 => 4,
        2 => 6,
        3 => 3,
        _ => u64::from(ms.is_multiple_of(40)),
    };
    random.uniform_below(most + 1)
}

#[test]
fn the_drops_are_those_of_the_pseudocode() {
    let mut own = Pie::new(CONFIG, 1, 0);
    let mut queue: VecDeque<(Instant, u64)> = VecDeque::new();
    let mut given = Pseudocode::new();
    let mut random = RandomStream::new(1, "arrivals", 0);
    let (mut drops, mut expected) = (Vec::new(), Vec::new());
    let mut packet = 0;
    for ms in 0..60_000_u64 {
        let now = Instant::from_millis(ms);
        if ms > 0 && ms.is_multiple_of(15) {
            given.calculate_drop_prob();
        }
        // Two packets of 1000 bytes leave in each millisecond.
        for _ in 0..2 {
            let own_departs = queue.pop_front();
            if let Some((since, _)) = own_departs {
                own.on_departure(now, since, queue.is_empty());
            }
            let departs = given.deque(ms).map(|(since, _)| Instant::from_millis(since));
            assert_eq!(own_departs.map(|(since, _)| since), departs);
        }
        for _ in 0..load(ms, &mut random) {
            let bytes = queue.iter().map(|(_, bytes)| bytes).sum();
            if own.on_arrival(now, bytes, true) == PieDecision::Enqueue {
                queue.push_back((now, 1000));
            } else {
                drops.push(packet);
            }
            if given.enque(ms, 1000) {
                expected.push(packet);
            }
            packet += 1;
        }
    }
    assert_eq!(drops, expected);
    assert!(drops.len() > 1000, "{} of {packet}", drops.len());
}

#[test]
fn frames_are_marked_while_the_probability_is_low() {
    let mut pie = Pie::new(PieConfig { ecn: true, ..CONFIG }, 1, 0);
    pie.burst_allowance = Duration::ZERO;
    pie.qdelay_old = Duration::from_millis(30);
    let mut decide = |drop_prob: f64, ecn_capable: bool| {
        let mut all: Vec<PieDecision> = Vec::new();
        for _ in 0..1000 {
            pie.drop_prob = drop_prob;
            all.push(pie.on_arrival(Instant::ZERO, 10_000, ecn_capable));
        }
        let count = |of| all.iter().filter(|decision| **decision == of).count();
        (count(PieDecision::Mark), count(PieDecision::Drop))
    };
    let (marks, drops) = decide(0.09, true);
    assert!((60..120).contains(&marks) && drops == 0, "{marks} {drops}");
    let (marks, drops) = decide(0.09, false);
    assert!((60..120).contains(&drops) && marks == 0, "{marks} {drops}");
    let (marks, drops) = decide(0.3, true);
    assert!((240..360).contains(&drops) && marks == 0, "{marks} {drops}");
}

#[test]
fn idle_time_of_any_length_ends_at_once() {
    let mut pie = Pie::new(CONFIG, 1, 0);
    pie.drop_prob = 0.5;
    let late = Instant::from_nanos(u64::MAX - 1);
    assert_eq!(pie.on_arrival(late, 10_000, false), PieDecision::Enqueue);
    assert_eq!(pie.drop_prob, 0.0);
    let mut zero = Pie::new(PieConfig { interval: Duration::ZERO, ..CONFIG }, 1, 0);
    assert_eq!(zero.on_arrival(late, 0, false), PieDecision::Enqueue);
}
