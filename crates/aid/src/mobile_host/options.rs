//! Options of the mobile host's aid.

use driftway_base::{Duration, named, options};

named! {
    /// The segment that is sent again after a disconnection.
    pub enum Resend {
        /// The first unacknowledged segment, and others as after a timeout (singh-iyer-2002 §III, text: the
        /// lost packet).
        FirstUnacknowledged = "first-unacknowledged",
        /// The last segment that was sent, alone (singh-iyer-2002 §III, listing).
        LastSent = "last-sent",
    }
}

named! {
    /// ssthresh after a timeout while disconnected.
    pub enum SsthreshAfterTimeout {
        /// The congestion window at the disconnection (text).
        Cwnd = "cwnd",
        /// The maximum of ssthresh, congestion window and the peer's window (listing).
        Max = "max",
    }
}

options! {
    /// Parameters of singh-iyer-2002, where its text and its listing differ, and what it leaves open.
    pub struct MobileHostOptions {
        /// Segment that is sent again after a disconnection, on which the paper's text and its listing
        /// differ.
        resend: word(Resend::FirstUnacknowledged),
        /// Slow-start threshold after a timeout while disconnected, on which the paper's text and its
        /// listing differ.
        ssthresh: word(SsthreshAfterTimeout::Cwnd),
        /// Delay of the acknowledgment of the last two bytes that were received (singh-iyer-2002 §III: d).
        // 200 ms in the paper's listing.
        ack_delay: time(200 ms, Self::MIN_ACK_DELAY..=Self::MAX_ACK_DELAY),
        /// Time from the disconnection to the first probe of one byte, in case the connection signal is
        /// missing. Not in the paper, which sends nothing while disconnected.
        // The RTO's lower bound (RFC 6298 §2.4), so that a TCP whose signals are missing is not later than
        // one without the aid.
        probe_min: time(1 s, Self::MIN_PROBE_INTERVAL..),
        /// Longest interval between two probes; each is twice as long as the one before.
        // The RTO's upper bound (RFC 6298 §2.5: at least 60 s).
        probe_max: time(60 s, Self::MIN_PROBE_INTERVAL..),
    }
}

impl MobileHostOptions {
    /// Maximum delay of an acknowledgment (RFC 1122 §4.2.3.2).
    pub const MAX_ACK_DELAY: Duration = Duration::from_millis(500);
    /// Minimum delay of an acknowledgment.
    pub const MIN_ACK_DELAY: Duration = Duration::from_millis(1);
    /// Minimum interval of probes.
    pub const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(100);
}
