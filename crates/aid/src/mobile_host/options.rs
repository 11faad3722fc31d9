//! Options of the mobile host's aid.

use driftway_base::Duration;

/// Parameters of singh-iyer-2002, where its text and its listing differ, and what it leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileHostOptions {
    /// The segment that is sent again.
    pub resend: Resend,
    /// ssthresh after a timeout while disconnected.
    pub ssthresh: SsthreshAfterTimeout,
    /// Delay of the acknowledgment of the last two bytes (*d* in the paper's listing: 200 ms).
    pub ack_delay: Duration,
    /// Time from the disconnection to the first probe. Not in the paper. The default is the RTO's lower bound
    /// (RFC 6298 §2.4), so that a TCP whose signals are missing is not later than one without the aid.
    pub probe_min: Duration,
    /// Longest interval between two probes. The default is the RTO's upper bound (RFC 6298 §2.5: at least
    /// 60 s).
    pub probe_max: Duration,
}

/// The segment that is sent again after a disconnection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Resend {
    /// The first unacknowledged segment, as TCP does after a timeout; all others follow as after a timeout.
    #[default]
    FirstUnacknowledged,
    /// The last one sent, alone.
    LastSent,
}

/// ssthresh after a timeout while disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SsthreshAfterTimeout {
    /// The congestion window at the disconnection.
    #[default]
    Cwnd,
    /// The maximum of ssthresh, cwnd and the peer's window.
    Max,
}

impl MobileHostOptions {
    /// Maximum delay of an acknowledgment (RFC 1122 §4.2.3.2).
    pub const MAX_ACK_DELAY: Duration = Duration::from_millis(500);
    /// Minimum delay of an acknowledgment.
    pub const MIN_ACK_DELAY: Duration = Duration::from_millis(1);
    /// Minimum interval of probes.
    pub const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(100);
}

impl Default for MobileHostOptions {
    fn default() -> Self {
        Self {
            resend: Resend::default(),
            ssthresh: SsthreshAfterTimeout::default(),
            ack_delay: Duration::from_millis(200),
            probe_min: Duration::from_secs(1),
            probe_max: Duration::from_secs(60),
        }
    }
}
