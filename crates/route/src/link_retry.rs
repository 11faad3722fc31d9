//! Link retry: retransmission of packets that reached the retry limit of the link layer, to distinguish a busy
//! neighbour from a lost one before routing is notified.
//!
//! 802.11 gives up at its retry limit, whatever the reason: a neighbour that defers to other transmissions,
//! or whose answers collide, looks like one that is out of range. westin-2003 §4.10.3 names this as the
//! problem to be solved before ATCP can be used, since a false link failure disconnects it. No standard has a
//! rule for it; those here use the information that a node has.

use driftway_base::{Duration, Instant, Ipv4Addr, ReceivedPower};

use crate::received_powers::ReceivedPowers;

/// The conditions for returning a packet to the link layer, which must all hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRetryConfig {
    /// The maximum number of times that one packet is returned.
    pub max_retries: u32,
    /// The maximum time since the neighbour was last heard.
    pub heard_within: Option<Duration>,
    /// The received power of the neighbour, extrapolated by its trend, is still sufficient.
    pub check_received_power: bool,
}

impl LinkRetryConfig {
    /// Returns true if it uses the received power of neighbours.
    pub const fn monitors_neighbours(&self) -> bool {
        self.heard_within.is_some() || self.check_received_power
    }
}

/// Link retry at one node, whose link layer holds one packet at a time.
#[derive(Clone, Debug)]
pub struct LinkRetry {
    config: LinkRetryConfig,
    strengths: ReceivedPowers,
    /// The number of times that the current packet was returned.
    retries: u32,
}

impl LinkRetry {
    /// Creates the state before the first packet.
    pub fn new(config: LinkRetryConfig) -> Self {
        Self { config, strengths: ReceivedPowers::default(), retries: 0 }
    }

    /// Records that a neighbour was heard.
    pub fn on_heard(&mut self, neighbour: Ipv4Addr, strength: ReceivedPower) {
        self.strengths.update(neighbour, strength);
    }

    /// Handles a packet that the link layer has sent; returns true if it had been returned before.
    pub fn on_sent(&mut self) -> bool {
        core::mem::take(&mut self.retries) > 0
    }

    /// Handles a packet to a neighbour that reached the retry limit. Returns true if it is to be returned to
    /// the link layer; otherwise the link has failed.
    pub fn on_failure(&mut self, now: Instant, to: Ipv4Addr) -> bool {
        let again = self.retries < self.config.max_retries && self.seems_reachable(now, to);
        self.retries = if again { self.retries + 1 } else { 0 };
        again
    }

    fn seems_reachable(&self, now: Instant, to: Ipv4Addr) -> bool {
        let strength = self.strengths.get(to);
        let heard = |within| strength.is_some_and(|heard| heard.heard_at + within >= now);
        let strong = || strength.is_some_and(|heard| heard.is_receivable_at(now));
        self.config.heard_within.is_none_or(heard)
            && (!self.config.check_received_power || strong())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Heard at 1 s, 4 dB above the sensitivity, and 2 dB weaker each second.
    fn fading() -> ReceivedPower {
        ReceivedPower {
            heard_at: at(1_000),
            power_mbm: -8_600,
            trend_cdb_per_s: Some(-200),
            sensitivity_mbm: -9_000,
        }
    }

    fn retry(max_retries: u32, heard_within: Option<u64>, check_received_power: bool) -> LinkRetry {
        let heard_within = heard_within.map(Duration::from_millis);
        let mut retry =
            LinkRetry::new(LinkRetryConfig { max_retries, heard_within, check_received_power });
        retry.on_heard(THERE, fading());
        retry
    }

    #[test]
    fn each_packet_is_retried_up_to_the_maximum() {
        let mut retry = retry(2, None, false);
        let fails = |retry: &mut LinkRetry| retry.on_failure(at(9_000), THERE);
        assert_eq!([(); 3].map(|()| fails(&mut retry)), [true, true, false]);
        assert!(!retry.on_sent(), "the retry count was reset");
        assert!(fails(&mut retry) && retry.on_sent() && !retry.on_sent());
        assert_eq!([(); 3].map(|()| fails(&mut retry)), [true, true, false]);
    }

    #[test]
    fn a_neighbour_must_have_been_heard_recently() {
        let fails = |now| retry(1, Some(500), false).on_failure(at(now), THERE);
        assert!(fails(1_500) && !fails(1_501));
        let other = Ipv4Addr::new(10, 0, 0, 3);
        assert!(!retry(1, Some(500), false).on_failure(at(1_000), other), "never heard");
    }

    #[test]
    fn the_extrapolated_power_must_suffice() {
        let fails = |now| retry(1, None, true).on_failure(at(now), THERE);
        assert!(fails(3_000) && !fails(3_010));
        let both = |now| retry(1, Some(500), true).on_failure(at(now), THERE);
        assert!(both(1_500) && !both(1_501));
    }
}
