//! Link retry: whether a neighbour that the link layer could not reach is busy, and the packet is
//! sent again, or lost, and routing hears of it.
//!
//! 802.11 gives up after so many tries, whatever the reason: a neighbour that defers to others, or
//! whose answers collide, looks like one that is out of range. westin-2003 §4.10.3 names this as the
//! problem to be solved before ATCP can be used, because a false link failure disconnects it. No
//! standard has a rule for it; those here use what a node has at hand.

use driftway_base::{Duration, Instant, Ipv4Addr, ReceivedPower};

use crate::received_powers::ReceivedPowers;

/// When a packet is handed to the link layer again. All conditions must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRetryConfig {
    /// How often one packet is handed down again.
    pub max_retries: u32,
    /// The neighbour was heard so shortly before.
    pub heard_within: Option<Duration>,
    /// The power with which the neighbour was heard, continued with its trend, still suffices.
    pub check_received_power: bool,
}

impl LinkRetryConfig {
    /// Does it need to know how neighbours are heard?
    pub const fn monitors_neighbours(&self) -> bool {
        self.heard_within.is_some() || self.check_received_power
    }
}

/// Link retry at one node, whose link layer has one packet at a time.
#[derive(Clone, Debug)]
pub struct LinkRetry {
    config: LinkRetryConfig,
    strengths: ReceivedPowers,
    /// How often the packet that the link layer has was handed down again.
    retries: u32,
}

impl LinkRetry {
    /// Before the first packet.
    pub fn new(config: LinkRetryConfig) -> Self {
        Self { config, strengths: ReceivedPowers::default(), retries: 0 }
    }

    /// A neighbour is heard.
    pub fn on_heard(&mut self, neighbour: Ipv4Addr, strength: ReceivedPower) {
        self.strengths.update(neighbour, strength);
    }

    /// The link layer has sent a packet; was it one that was handed down again?
    pub fn on_sent(&mut self) -> bool {
        core::mem::take(&mut self.retries) > 0
    }

    /// The link layer gave up on a packet to a neighbour; is it to be handed down again? Otherwise the
    /// link has failed.
    pub fn on_failure(&mut self, now: Instant, to: Ipv4Addr) -> bool {
        let again = self.retries < self.config.max_retries && self.seems_reachable(now, to);
        self.retries = if again { self.retries + 1 } else { 0 };
        again
    }

    fn seems_reachable(&self, now: Instant, to: Ipv4Addr) -> bool {
        let strength = self.strengths.get(to);
        let heard = |within| strength.is_some_and(|heard| heard.heard_at + within >= now);
        let strong = || strength.is_some_and(|heard| heard.is_receivable_at(now));
        self.config.heard_within.is_none_or(heard) && (!self.config.check_received_power || strong())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Heard at 1 s, 4 dB above the least, and 2 dB weaker each second.
    fn fading() -> ReceivedPower {
        ReceivedPower { heard_at: at(1_000), power_mbm: -8_600, trend_cdb_per_s: Some(-200), sensitivity_mbm: -9_000 }
    }

    fn retry(most: u32, heard_within: Option<u64>, strength: bool) -> LinkRetry {
        let heard_within = heard_within.map(Duration::from_millis);
        let mut retry = LinkRetry::new(LinkRetryConfig { max_retries: most, heard_within, check_received_power: strength });
        retry.on_heard(THERE, fading());
        retry
    }

    #[test]
    fn each_packet_is_handed_down_again_so_often() {
        let mut retry = retry(2, None, false);
        let fails = |retry: &mut LinkRetry| retry.on_failure(at(9_000), THERE);
        assert_eq!([(); 3].map(|()| fails(&mut retry)), [true, true, false]);
        assert!(!retry.on_sent(), "the next packet is a new one");
        assert!(fails(&mut retry) && retry.on_sent() && !retry.on_sent());
        assert_eq!([(); 3].map(|()| fails(&mut retry)), [true, true, false]);
    }

    #[test]
    fn a_neighbour_must_have_been_heard_lately() {
        let fails = |now| retry(1, Some(500), false).on_failure(at(now), THERE);
        assert!(fails(1_500) && !fails(1_501));
        let other = Ipv4Addr::new(10, 0, 0, 3);
        assert!(!retry(1, Some(500), false).on_failure(at(1_000), other), "never heard");
    }

    #[test]
    fn a_neighbour_must_still_be_strong_enough() {
        let fails = |now| retry(1, None, true).on_failure(at(now), THERE);
        assert!(fails(3_000) && !fails(3_010));
        let both = |now| retry(1, Some(500), true).on_failure(at(now), THERE);
        assert!(both(1_500) && !both(1_501));
    }
}
