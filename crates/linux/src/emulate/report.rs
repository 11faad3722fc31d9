//! The report of an emulation, and whether it can be trusted.

use driftway_base::{Duration, NodeId};

use super::{EmulationCounts, LatenessHistogram, Tolerance};

/// Share of packets that may be later than the network's own jitter.
const LATE_SHARE_MAX: f64 = 0.01;

/// Results of an emulation, and its accuracy.
#[derive(Clone, Debug)]
pub struct EmulationReport {
    /// Running time.
    pub duration: Duration,
    /// Packet counters.
    pub counts: EmulationCounts,
    /// Packets marked by queues.
    pub marked: u64,
    /// Lateness of packets leaving the network.
    pub lateness: LatenessHistogram,
    /// Packets that a kernel dropped before they reached the network, because this machine did not
    /// keep up.
    pub overflows: u64,
    /// Packets that a kernel rejected when they left the network.
    pub refused: u64,
    /// The node whose device was deleted, which ended the emulation.
    pub deleted: Option<NodeId>,
    /// The network's thread had real-time scheduling (see [`crate::enable_realtime_scheduling`]).
    pub is_realtime: bool,
    /// The lateness that does not matter.
    pub tolerance: Tolerance,
}

impl EmulationReport {
    /// Share of packets that were later than the network's own jitter.
    pub fn late_share(&self) -> f64 {
        1.0 - self.lateness.share_within(self.tolerance.unnoticed())
    }

    /// Reasons to distrust what programs saw; empty if there are none: more than one packet in a hundred
    /// was later than the network's own jitter, so that more than this machine's rare hiccups was
    /// disturbed.
    pub fn warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.late_share() > LATE_SHARE_MAX {
            doubts.push(format!(
                "{:.1} % of the packets were late by more than {} µs, the network's own jitter{}",
                self.late_share() * 100.0,
                self.tolerance.unnoticed().as_nanos() / 1000,
                self.besides(),
            ));
        }
        doubts.extend(self.losses());
        doubts
    }

    /// Reasons to distrust a measurement of a kernel, which is compared with the simulator's; empty if
    /// there are none.
    pub fn measurement_warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (p99, tolerated) = (self.lateness.quantile(0.99), self.tolerance.tolerated());
        if p99 > tolerated {
            doubts.push(format!(
                "one packet in a hundred was late by {} µs or more, {}{}",
                p99.as_nanos() / 1000,
                self.tolerance.description(),
                self.besides(),
            ));
        }
        doubts.extend(self.losses());
        doubts
    }

    const fn besides(&self) -> &'static str {
        if self.is_realtime { "" } else { "; it may not use the real time class" }
    }

    /// Packets that were lost besides those that the network dropped.
    fn losses(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.overflows > 0 {
            doubts.push(format!(
                "{} packets were dropped before the network saw them: this machine did not keep up",
                self.overflows
            ));
        }
        if self.refused > 0 {
            doubts.push(format!(
                "{} packets that had come through were not taken by a kernel: its interface was \
                 down, or they were no IP packets",
                self.refused
            ));
        }
        if let Some(node) = self.deleted {
            doubts.push(format!(
                "the interface of node {node} was deleted, which ended the emulation"
            ));
        }
        doubts
    }
}
