//! The tail loss probe (RFC 8985 §7): when acknowledgments stop coming, one segment more, new or the
//! last one again, so that what is reported about it lets RACK repair the rest without a timeout.

use driftway_base::{Duration, Seq, SeqRange};

use super::contract::Feedback;
use crate::flight::{Flight, Phase};

/// How long a peer may delay its acknowledgment of a lone segment (§7.2: TLP.max_ack_delay).
const MOST_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe timeout before a round trip is measured (§7.2).
const UNMEASURED: Duration = Duration::from_secs(1);

/// The probe that is out, if one is (§7.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tail {
    /// SND.NXT when it was sent (§7.1: TLP.end_seq).
    end: Option<Seq>,
    /// It was something sent before (TLP.is_retrans).
    again: bool,
    /// Nothing has been acknowledged since the last probe.
    unanswered: bool,
}

impl Tail {
    /// §7.2: may a probe be scheduled now?
    pub fn may_probe(&self, flight: &Flight) -> bool {
        self.end.is_none()
            && !self.unanswered
            && flight.phase() == Phase::Open
            && flight.board().is_empty()
            && flight.outstanding() > 0
            && flight.nxt() == flight.max()
    }

    /// §7.2: how long to wait for an acknowledgment.
    pub fn timeout(flight: &Flight, srtt: Option<Duration>) -> Duration {
        let Some(srtt) = srtt else { return UNMEASURED };
        let alone = flight.outstanding() <= flight.mss();
        srtt.times(2) + if alone { MOST_ACK_DELAY } else { Duration::ZERO }
    }

    /// A probe was sent.
    pub fn on_sent(&mut self, end: Seq, again: bool) {
        (self.end, self.again, self.unanswered) = (Some(end), again, true);
    }

    /// Is it the probe that is out, and was sent before?
    pub fn is_probe(&self, range: SeqRange) -> bool {
        self.again && self.end == Some(range.end)
    }

    /// Recovery takes over (§7.1).
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// §7.4: did the probe repair a loss, which nobody would hear of otherwise?
    pub fn on_feedback(&mut self, flight: &Flight, feedback: &Feedback<'_>) -> bool {
        if feedback.advanced > 0 {
            self.unanswered = false;
        }
        let Some(end) = self.end.filter(|end| flight.una().at_or_after(*end)) else { return false };
        let both = feedback.duplicate.is_some_and(|range| range.end == end);
        // Without D-SACK, a bare duplicate says that original and probe have both arrived.
        let bare = feedback.advanced == 0 && feedback.blocks.is_empty();
        let repaired = self.again && !both && flight.una().after(end);
        if !self.again || both || repaired || bare {
            self.end = None;
        }
        repaired
    }
}
