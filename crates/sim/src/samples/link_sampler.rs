//! Samples of links.

use driftway_base::Instant;
use driftway_link::Side;
use driftway_net::Network;

use crate::results::Direction;

/// The state of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSample {
    /// The hop or wire, from 1.
    pub hop: u32,
    /// The direction.
    pub direction: Direction,
    /// Capacity (bit/s): the rate at this time, or the delivery opportunities since the sample before; 0 while
    /// the link is cut.
    pub capacity_bps: f64,
    /// Packets queued, without the one in transmission.
    pub queue_packets: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
}

/// Takes samples of all links of a network.
#[derive(Clone, Debug, Default)]
pub struct LinkSampler {
    before: Instant,
    /// Bits of delivery opportunities up to that time, of each link and side.
    opportunities: Vec<[u64; 2]>,
}

impl LinkSampler {
    /// Returns the samples of a time, which is not before the previous one: of each link forward, then backward.
    pub fn sample(&mut self, at: Instant, net: &Network) -> Vec<LinkSample> {
        let span_s = at.since(self.before).as_secs_f64();
        self.before = at;
        self.opportunities.resize(net.links().len(), [0; 2]);
        let mut samples = Vec::with_capacity(net.links().len() * 2);
        for ((id, link), before) in net.links().iter_enumerated().zip(&mut self.opportunities) {
            let sides = [(Side::A, Direction::Forward), (Side::B, Direction::Backward)];
            for ((side, direction), before) in sides.into_iter().zip(before) {
                let bits = link.opportunity_bits(side, at).unwrap_or_default();
                let passed = bits.saturating_sub(std::mem::replace(before, bits)) as f64;
                let capacity_bps = match link.rate_bps(side, at) {
                    _ if net.is_cut(id) => 0.0,
                    Some(rate) => rate as f64,
                    None if span_s > 0.0 => passed / span_s,
                    None => 0.0,
                };
                samples.push(LinkSample {
                    hop: id.number() + 1,
                    direction,
                    capacity_bps,
                    queue_packets: link.queue_len(side) as u64,
                    sent_bytes: link.counters(side).bits / 8,
                });
            }
        }
        samples
    }
}
