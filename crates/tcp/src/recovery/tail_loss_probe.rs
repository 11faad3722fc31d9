//! The tail loss probe (RFC 8985 §7): without further acknowledgments, one more segment is sent,
//! new data or the last segment again, whose SACK lets RACK repair the rest without a timeout.

use driftway_base::{Duration, Seq, SeqRange};

use super::contract::AckFeedback;
use crate::send_state::{RecoveryPhase, SendState};

/// Longest delay of the acknowledgment of a single segment (§7.2: TLP.max_ack_delay).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout before the first RTT sample (§7.2).
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// State of the outstanding probe (§7.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct TailLossProbe {
    /// SND.NXT at its transmission (§7.1: TLP.end_seq).
    end_seq: Option<Seq>,
    /// The probe is a retransmission (TLP.is_retrans).
    is_retrans: bool,
    /// Nothing has been acknowledged since the last probe.
    unanswered: bool,
}

impl TailLossProbe {
    /// True if a probe may be scheduled now (§7.2).
    pub fn may_probe(&self, send: &SendState) -> bool {
        self.end_seq.is_none()
            && !self.unanswered
            && send.phase() == RecoveryPhase::Open
            && send.scoreboard().is_empty()
            && send.outstanding() > 0
            && send.nxt() == send.max()
    }

    /// Probe timeout (PTO, §7.2), `margin` longer if more than one segment is outstanding.
    pub fn probe_timeout(send: &SendState, srtt: Option<Duration>, margin: Duration) -> Duration {
        let Some(srtt) = srtt else { return INITIAL_PTO };
        let alone = send.outstanding() <= send.mss();
        srtt.times(2) + if alone { MAX_ACK_DELAY } else { margin }
    }

    /// Records the transmission of a probe.
    pub fn on_sent(&mut self, end: Seq, is_retransmission: bool) {
        (self.end_seq, self.is_retrans, self.unanswered) = (Some(end), is_retransmission, true);
    }

    /// True if `range` is the outstanding probe and that is a retransmission.
    pub fn is_retransmitted_probe(&self, range: SeqRange) -> bool {
        self.is_retrans && self.end_seq == Some(range.end)
    }

    /// Cancels the probe because recovery takes over (§7.1).
    pub fn cancel(&mut self) {
        self.end_seq = None;
    }

    /// True if the probe has repaired a loss that would otherwise go undetected (§7.4).
    pub fn on_feedback(&mut self, send: &SendState, feedback: &AckFeedback<'_>) -> bool {
        if feedback.acked_bytes > 0 {
            self.unanswered = false;
        }
        let Some(end) = self.end_seq.filter(|end| send.una().at_or_after(*end)) else {
            return false;
        };
        let both = feedback.dsack.is_some_and(|range| range.end == end);
        // Without D-SACK, a bare duplicate acknowledges that both original and probe were received.
        let bare = feedback.acked_bytes == 0 && feedback.sack_blocks.is_empty();
        let repaired = self.is_retrans && !both && send.una().after(end);
        if !self.is_retrans || both || repaired || bare {
            self.end_seq = None;
        }
        repaired
    }
}
