//! The tail loss probe (RFC 8985 §7): without further acknowledgments, one more segment is sent,
//! new data or the last segment again, whose SACK lets RACK repair the rest without a timeout.

use driftway_base::{Duration, Seq, SeqRange};

use super::contract::Feedback;
use crate::flight::{Flight, Phase};

/// Longest delay of the acknowledgment of a single segment (§7.2: TLP.max_ack_delay).
const MOST_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout before the first RTT sample (§7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

/// State of the outstanding probe (§7.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tail {
    /// SND.NXT at its transmission (§7.1: TLP.end_seq).
    end: Option<Seq>,
    /// The probe is a retransmission (TLP.is_retrans).
    again: bool,
    /// Nothing has been acknowledged since the last probe.
    unanswered: bool,
}

impl Tail {
    /// True if a probe may be scheduled now (§7.2).
    pub fn may_probe(&self, flight: &Flight) -> bool {
        self.end.is_none()
            && !self.unanswered
            && flight.phase() == Phase::Open
            && flight.board().is_empty()
            && flight.outstanding() > 0
            && flight.nxt() == flight.max()
    }

    /// Probe timeout (PTO, §7.2).
    pub fn timeout(flight: &Flight, srtt: Option<Duration>) -> Duration {
        let Some(srtt) = srtt else { return UNMEASURED };
        let alone = flight.outstanding() <= flight.mss();
        srtt.times(2) + if alone { MOST_ACK_DELAY } else { Duration::ZERO }
    }

    /// Records the transmission of a probe.
    pub fn on_sent(&mut self, end: Seq, again: bool) {
        (self.end, self.again, self.unanswered) = (Some(end), again, true);
    }

    /// True if `range` is the outstanding probe and that is a retransmission.
    pub fn is_probe(&self, range: SeqRange) -> bool {
        self.again && self.end == Some(range.end)
    }

    /// Cancels the probe because recovery takes over (§7.1).
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// True if the probe has repaired a loss that would otherwise go undetected (§7.4).
    pub fn on_feedback(&mut self, flight: &Flight, feedback: &Feedback<'_>) -> bool {
        if feedback.advanced > 0 {
            self.unanswered = false;
        }
        let Some(end) = self.end.filter(|end| flight.una().at_or_after(*end)) else { return false };
        let both = feedback.duplicate.is_some_and(|range| range.end == end);
        // Without D-SACK, a bare duplicate acknowledges that both original and probe were received.
        let bare = feedback.advanced == 0 && feedback.blocks.is_empty();
        let repaired = self.again && !both && flight.una().after(end);
        if !self.again || both || repaired || bare {
            self.end = None;
        }
        repaired
    }
}
