//! Impairments of packets on a TUN device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use driftway_base::{Duration, Ecn, Instant, Probability, RandomStream};
use driftway_wire::edit_header;

/// Impairments of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Impairment {
    /// One-way delay.
    pub delay: Duration,
    /// Probability of a loss.
    pub drop: Probability,
    /// Probability of a second copy right behind the packet.
    pub duplicate: Probability,
    /// Probability of an additional delay of `reorder_delay`, by which later packets overtake.
    pub reorder: Probability,
    /// See `reorder`.
    pub reorder_delay: Duration,
    /// Probability of a congestion mark: ECT becomes CE.
    pub mark: Probability,
    /// Probability of a flipped bit (not in the second copy, if there is one).
    pub corrupt: Probability,
}

/// Packet counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ImpairmentCounts {
    /// Packets offered.
    pub offered: u64,
    /// Lost.
    pub dropped: u64,
    /// Duplicated.
    pub duplicated: u64,
    /// Delayed for reordering.
    pub reordered: u64,
    /// Marked with CE.
    pub marked: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Delivered, copies included.
    pub delivered: u64,
}

/// One direction of an impaired device: packets enter by [`offer`](Impairer::offer) and leave by
/// [`take`](Impairer::take) at their time, in the order of (time, offer).
///
/// The impairments of packet n depend only on seed, direction and probabilities: every packet takes
/// the same number of draws, so that changing one probability does not affect the others.
#[derive(Debug)]
pub struct Impairer {
    impairment: Impairment,
    random: RandomStream,
    in_transit: BinaryHeap<Reverse<(Instant, u64, Vec<u8>)>>,
    spare: Vec<Vec<u8>>,
    next: u64,
    counts: ImpairmentCounts,
}

impl Impairer {
    /// Direction `direction` in the run with this `seed`.
    pub fn new(impairment: Impairment, seed: u64, direction: u64) -> Self {
        Self {
            impairment,
            random: RandomStream::new(seed, "impairment", direction),
            in_transit: BinaryHeap::new(),
            spare: Vec::new(),
            next: 0,
            counts: ImpairmentCounts::default(),
        }
    }

    /// Replaces the impairments from now on; packets in transit are not affected.
    pub fn set_impairment(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// Counters so far.
    pub const fn counts(&self) -> ImpairmentCounts {
        self.counts
    }

    /// Time at which the next packet leaves; `None` if none is in transit.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.in_transit.peek().map(|Reverse((due, ..))| *due)
    }

    /// Accepts a packet.
    pub fn offer(&mut self, now: Instant, packet: &[u8]) {
        let Impairment { delay, drop, duplicate, reorder, reorder_delay, mark, corrupt } =
            self.impairment;
        let [drop, duplicate, reorder, mark, corrupt] =
            [drop, duplicate, reorder, mark, corrupt].map(|chance| self.random.bernoulli(chance));
        let bit = self.random.uniform_below(packet.len() as u64 * 8);

        self.counts.offered += 1;
        if drop {
            self.counts.dropped += 1;
            return;
        }
        let due = now + delay + if reorder { reorder_delay } else { Duration::ZERO };
        self.counts.reordered += u64::from(reorder);
        let mut bytes = self.copy(packet);
        if mark && mark_ce(&mut bytes) {
            self.counts.marked += 1;
        }
        if corrupt && let Some(byte) = bytes.get_mut((bit / 8) as usize) {
            *byte ^= 1 << (bit % 8);
            self.counts.corrupted += 1;
        }
        self.push(due, bytes);
        if duplicate {
            self.counts.duplicated += 1;
            let bytes = self.copy(packet);
            self.push(due, bytes);
        }
    }

    /// Replaces `packet` by the next due one; `false` if none is due.
    pub fn take(&mut self, now: Instant, packet: &mut Vec<u8>) -> bool {
        if self.next_timeout().is_none_or(|due| due > now) {
            return false;
        }
        let Some(Reverse((_, _, bytes))) = self.in_transit.pop() else { return false };
        self.spare.push(std::mem::replace(packet, bytes));
        self.counts.delivered += 1;
        true
    }

    fn push(&mut self, due: Instant, bytes: Vec<u8>) {
        self.in_transit.push(Reverse((due, self.next, bytes)));
        self.next += 1;
    }

    fn copy(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        bytes
    }
}

/// Sets CE in an IPv4 header with ECT (RFC 3168 §5); returns whether it did.
fn mark_ce(packet: &mut [u8]) -> bool {
    const CHECKSUM: usize = 10;
    let [version, tos, ..] = *packet else { return false };
    if packet.len() < CHECKSUM + 2 || version >> 4 != 4 || !Ecn::from_bits(tos).is_capable() {
        return false;
    }
    edit_header(packet, 1, &[tos | Ecn::Ce.bits()], CHECKSUM);
    true
}

#[cfg(test)]
mod test {
    use driftway_base::Ipv4Addr;
    use driftway_wire::{Body, IpHeader, IpOptions, Packet, UdpDatagram};

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn chance(p: f64) -> Probability {
        Probability::from_f64(p)
    }

    /// Sends `n` packets that carry their number, one per millisecond, and returns those that
    /// leave, with times (ms).
    fn send(impairer: &mut Impairer, n: u32) -> Vec<(u64, Vec<u8>)> {
        let (mut out, mut packet) = (Vec::new(), Vec::new());
        for i in 0..n {
            let now = Instant::ZERO + MS.times(u64::from(i));
            while let Some(due) = impairer.next_timeout().filter(|due| *due <= now) {
                assert!(impairer.take(due, &mut packet));
                out.push((due.as_millis(), packet.clone()));
            }
            impairer.offer(now, &i.to_be_bytes());
        }
        while let Some(due) = impairer.next_timeout() {
            assert!(!impairer.take(due - Duration::from_nanos(1), &mut packet));
            assert!(impairer.take(due, &mut packet));
            out.push((due.as_millis(), packet.clone()));
        }
        out
    }

    #[test]
    fn an_unimpaired_device_only_delays() {
        let delay = MS.times(5);
        let mut impairer = Impairer::new(Impairment { delay, ..Default::default() }, 1, 0);
        let out = send(&mut impairer, 100);
        let sent: Vec<_> =
            (0..100_u32).map(|i| (u64::from(i) + 5, i.to_be_bytes().to_vec())).collect();
        assert_eq!(out, sent);
        let counts = impairer.counts();
        assert_eq!(
            counts,
            ImpairmentCounts { offered: 100, delivered: 100, ..ImpairmentCounts::default() }
        );
    }

    #[test]
    fn losses_and_copies_occur_at_their_rate_and_packets_are_conserved() {
        let impairment =
            Impairment { drop: chance(0.1), duplicate: chance(0.2), ..Default::default() };
        let mut impairer = Impairer::new(impairment, 1, 0);
        let out = send(&mut impairer, 10_000);
        let counts = impairer.counts();
        assert!((900..1100).contains(&counts.dropped), "{counts:?}");
        assert!((1650..1950).contains(&counts.duplicated), "{counts:?}");
        assert_eq!(counts.delivered, 10_000 - counts.dropped + counts.duplicated);
        assert_eq!(counts.delivered, out.len() as u64);
    }

    #[test]
    fn a_reordered_packet_is_overtaken_by_as_many_as_fit() {
        let impairment =
            Impairment { reorder: chance(0.01), reorder_delay: MS.times(3), ..Default::default() };
        let mut impairer = Impairer::new(impairment, 1, 0);
        let out = send(&mut impairer, 1000);
        let late = out.windows(2).filter(|pair| pair[0].1 > pair[1].1).count() as u64;
        assert!(impairer.counts().reordered > 0);
        assert_eq!(late, impairer.counts().reordered);
        for (at, packet) in out {
            let sent = u64::from(u32::from_be_bytes(packet.try_into().unwrap()));
            assert!(at == sent || at == sent + 3);
        }
    }

    #[test]
    fn corruption_flips_exactly_one_bit() {
        let impairment = Impairment {
            corrupt: Probability::ALWAYS,
            duplicate: Probability::ALWAYS,
            ..Default::default()
        };
        let mut impairer = Impairer::new(impairment, 1, 0);
        let mut places = [0_u32; 64];
        for _ in 0..1000 {
            impairer.offer(Instant::ZERO, &[0; 8]);
            let mut packet = Vec::new();
            assert!(impairer.take(Instant::ZERO, &mut packet));
            let bits = u64::from_be_bytes(packet.clone().try_into().unwrap());
            assert_eq!(bits.count_ones(), 1);
            places[bits.trailing_zeros() as usize] += 1;
            assert!(impairer.take(Instant::ZERO, &mut packet));
            assert_eq!(packet, [0; 8]);
        }
        assert!(places.iter().all(|hits| *hits > 0), "{places:?}");
        // An empty packet has no bit to flip.
        impairer.offer(Instant::ZERO, &[]);
        assert_eq!(impairer.counts().corrupted, 1000);
    }

    #[test]
    fn impairments_depend_on_seed_and_direction_only() {
        let outcomes = |impairment, seed, direction| {
            let mut impairer = Impairer::new(impairment, seed, direction);
            let out = send(&mut impairer, 1000);
            out.into_iter().map(|(_, packet)| packet).collect::<Vec<_>>()
        };
        let lossy = Impairment { drop: chance(0.3), ..Default::default() };
        assert_eq!(outcomes(lossy, 1, 0), outcomes(lossy, 1, 0));
        assert_ne!(outcomes(lossy, 1, 0), outcomes(lossy, 2, 0));
        assert_ne!(outcomes(lossy, 1, 0), outcomes(lossy, 1, 1));
        let mut both = outcomes(Impairment { duplicate: chance(0.3), ..lossy }, 1, 0);
        both.dedup();
        assert_eq!(both, outcomes(lossy, 1, 0));
    }

    #[test]
    fn a_cut_passes_packets_in_transit() {
        let slow = Impairment { delay: MS.times(10), ..Default::default() };
        let mut impairer = Impairer::new(slow, 1, 0);
        impairer.offer(Instant::ZERO, b"before");
        impairer.set_impairment(Impairment { drop: Probability::ALWAYS, ..slow });
        impairer.offer(Instant::ZERO, b"during");
        let mut packet = Vec::new();
        assert!(impairer.take(Instant::from_millis(10), &mut packet));
        assert_eq!(packet, b"before");
        assert_eq!(impairer.next_timeout(), None);
    }

    #[test]
    fn a_mark_keeps_the_packet_valid_and_needs_ect() {
        let marking = Impairment { mark: Probability::ALWAYS, ..Default::default() };
        let mut impairer = Impairer::new(marking, 1, 0);
        let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        for (ecn, identification) in
            codepoints.into_iter().flat_map(|ecn| (0..999).map(move |i| (ecn, i * 65)))
        {
            let ip = IpHeader {
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: Ipv4Addr::new(10, 0, 0, 2),
                ecn,
                dscp: 3,
                ttl: 64,
                identification,
                dont_fragment: true,
                options: IpOptions::EMPTY,
            };
            let sent = Packet { ip, body: Body::Udp(UdpDatagram::default()) };
            let (mut bytes, mut got) = ([0; 28], Vec::new());
            sent.encode(&mut bytes, |_, _| ()).unwrap();
            impairer.offer(Instant::ZERO, &bytes);
            assert!(impairer.take(Instant::ZERO, &mut got));
            let ecn = if ecn == Ecn::NotEct { ecn } else { Ecn::Ce };
            assert_eq!(Packet::decode(&got).unwrap().packet.ip, IpHeader { ecn, ..ip });
        }
        assert_eq!(impairer.counts().marked, 3 * 999);
        impairer.offer(Instant::ZERO, &[0x45, 0x02]);
        assert_eq!(impairer.counts().marked, 3 * 999);
    }
}
