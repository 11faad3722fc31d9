//! The tail loss probe (RFC 8985 §7): when acknowledgments stop coming, one segment more, new or the
//! last one again, so that what is reported about it lets RACK repair the rest without a timeout.

use driftway_base::{Duration, Seq, SeqRange};

use super::contract::AckFeedback;
use crate::send_state::{SendState, RecoveryPhase};

/// How long a peer may delay its acknowledgment of a lone segment (§7.2: TLP.max_ack_delay).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe timeout before a round trip is measured (§7.2).
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// The probe that is out, if one is (§7.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct TailLossProbe {
    /// SND.NXT when it was sent (§7.1: TLP.end_seq).
    end_seq: Option<Seq>,
    /// It was something sent before (TLP.is_retrans).
    is_retrans: bool,
    /// Nothing has been acknowledged since the last probe.
    unanswered: bool,
}

impl TailLossProbe {
    /// §7.2: may a probe be scheduled now?
    pub fn may_probe(&self, flight: &SendState) -> bool {
        self.end_seq.is_none()
            && !self.unanswered
            && flight.phase() == RecoveryPhase::Open
            && flight.scoreboard().is_empty()
            && flight.outstanding() > 0
            && flight.nxt() == flight.max()
    }

    /// §7.2: how long to wait for an acknowledgment.
    pub fn probe_timeout(flight: &SendState, srtt: Option<Duration>) -> Duration {
        let Some(srtt) = srtt else { return INITIAL_PTO };
        let alone = flight.outstanding() <= flight.mss();
        srtt.times(2) + if alone { MAX_ACK_DELAY } else { Duration::ZERO }
    }

    /// A probe was sent.
    pub fn on_sent(&mut self, end: Seq, again: bool) {
        (self.end_seq, self.is_retrans, self.unanswered) = (Some(end), again, true);
    }

    /// Is it the probe that is out, and was sent before?
    pub fn is_retransmitted_probe(&self, range: SeqRange) -> bool {
        self.is_retrans && self.end_seq == Some(range.end)
    }

    /// Recovery takes over (§7.1).
    pub fn cancel(&mut self) {
        self.end_seq = None;
    }

    /// §7.4: did the probe repair a loss, which nobody would hear of otherwise?
    pub fn on_feedback(&mut self, flight: &SendState, feedback: &AckFeedback<'_>) -> bool {
        if feedback.acked_bytes > 0 {
            self.unanswered = false;
        }
        let Some(end) = self.end_seq.filter(|end| flight.una().at_or_after(*end)) else { return false };
        let both = feedback.dsack.is_some_and(|range| range.end == end);
        // Without D-SACK, a bare duplicate says that original and probe have both arrived.
        let bare = feedback.acked_bytes == 0 && feedback.sack_blocks.is_empty();
        let repaired = self.is_retrans && !both && flight.una().after(end);
        if !self.is_retrans || both || repaired || bare {
            self.end_seq = None;
        }
        repaired
    }
}
