//! What happens to packets on the cable.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::{Chance, Duration, Instant, RandomStream};

/// What one direction of a cable does to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Impairment {
    /// How long a packet is on its way.
    pub delay: Duration,
    /// A packet is lost.
    pub drop: Chance,
    /// A second copy arrives right behind it.
    pub duplicate: Chance,
    /// It is on its way `reorder_by` longer, so that later ones overtake it.
    pub reorder: Chance,
    /// See `reorder`.
    pub reorder_by: Duration,
    /// One of its bits is flipped (not in the second copy, if there is one).
    pub corrupt: Chance,
}

/// How many packets met what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Came in.
    pub offered: u64,
    /// Were lost.
    pub dropped: u64,
    /// Were doubled.
    pub duplicated: u64,
    /// Were delayed for others to overtake.
    pub reordered: u64,
    /// Had a bit flipped.
    pub corrupted: u64,
    /// Went out, copies included.
    pub delivered: u64,
}

/// One direction of a cable: packets go in by [`offer`](Impairer::offer) and come out by
/// [`take`](Impairer::take) when it is time, in the order of (time, offer).
///
/// The fate of the n-th packet depends on seed, direction and the chances alone: every packet takes
/// the same number of draws, so that one more chance does not change what others hit.
#[derive(Debug)]
pub struct Impairer {
    impairment: Impairment,
    random: RandomStream,
    on_the_way: BinaryHeap<Reverse<(Instant, u64, Vec<u8>)>>,
    spare: Vec<Vec<u8>>,
    next: u64,
    counts: Counts,
}

impl Impairer {
    /// Direction `direction` of the cable in the run with this `seed`.
    pub fn new(impairment: Impairment, seed: u64, direction: u64) -> Self {
        Self {
            impairment,
            random: RandomStream::new(seed, "impairment", direction),
            on_the_way: BinaryHeap::new(),
            spare: Vec::new(),
            next: 0,
            counts: Counts::default(),
        }
    }

    /// Changes what happens to packets from now on; those on their way stay as they are.
    pub fn set(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// What happened so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// When the next packet comes out; `None`: nothing is on its way.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.on_the_way.peek().map(|Reverse((due, ..))| *due)
    }

    /// A packet goes in.
    pub fn offer(&mut self, now: Instant, packet: &[u8]) {
        let Impairment { delay, drop, duplicate, reorder, reorder_by, corrupt } = self.impairment;
        let [drop, duplicate, reorder, corrupt] =
            [drop, duplicate, reorder, corrupt].map(|chance| self.random.hits(chance));
        let bit = self.random.below(packet.len() as u64 * 8);

        self.counts.offered += 1;
        if drop {
            self.counts.dropped += 1;
            return;
        }
        let due = now + delay + if reorder { reorder_by } else { Duration::ZERO };
        self.counts.reordered += u64::from(reorder);
        let mut bytes = self.copy(packet);
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

    /// Replaces `packet` by the next one that is due; `false` if none is.
    pub fn take(&mut self, now: Instant, packet: &mut Vec<u8>) -> bool {
        if self.next_timeout().is_none_or(|due| due > now) {
            return false;
        }
        let Some(Reverse((_, _, bytes))) = self.on_the_way.pop() else { return false };
        self.spare.push(std::mem::replace(packet, bytes));
        self.counts.delivered += 1;
        true
    }

    fn push(&mut self, due: Instant, bytes: Vec<u8>) {
        self.on_the_way.push(Reverse((due, self.next, bytes)));
        self.next += 1;
    }

    fn copy(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        bytes
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn chance(p: f64) -> Chance {
        Chance::from_probability(p)
    }

    /// Sends `n` packets that carry their number, one each millisecond, and gives what comes out
    /// and when (ms).
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
    fn a_good_cable_only_delays() {
        let delay = MS.times(5);
        let mut impairer = Impairer::new(Impairment { delay, ..Default::default() }, 1, 0);
        let out = send(&mut impairer, 100);
        let sent: Vec<_> =
            (0..100_u32).map(|i| (u64::from(i) + 5, i.to_be_bytes().to_vec())).collect();
        assert_eq!(out, sent);
        let counts = impairer.counts();
        assert_eq!(counts, Counts { offered: 100, delivered: 100, ..Counts::default() });
    }

    #[test]
    fn losses_and_copies_come_at_their_rate_and_the_books_balance() {
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
            Impairment { reorder: chance(0.01), reorder_by: MS.times(3), ..Default::default() };
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
        let impairment =
            Impairment { corrupt: Chance::ALWAYS, duplicate: Chance::ALWAYS, ..Default::default() };
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
        // Nothing to flip in nothing.
        impairer.offer(Instant::ZERO, &[]);
        assert_eq!(impairer.counts().corrupted, 1000);
    }

    #[test]
    fn fates_depend_on_seed_and_direction_and_not_on_other_chances() {
        let fates = |impairment, seed, direction| {
            let mut impairer = Impairer::new(impairment, seed, direction);
            let out = send(&mut impairer, 1000);
            out.into_iter().map(|(_, packet)| packet).collect::<Vec<_>>()
        };
        let lossy = Impairment { drop: chance(0.3), ..Default::default() };
        assert_eq!(fates(lossy, 1, 0), fates(lossy, 1, 0));
        assert_ne!(fates(lossy, 1, 0), fates(lossy, 2, 0));
        assert_ne!(fates(lossy, 1, 0), fates(lossy, 1, 1));
        let mut both = fates(Impairment { duplicate: chance(0.3), ..lossy }, 1, 0);
        both.dedup();
        assert_eq!(both, fates(lossy, 1, 0));
    }

    #[test]
    fn a_cut_lets_through_what_is_on_its_way() {
        let slow = Impairment { delay: MS.times(10), ..Default::default() };
        let mut impairer = Impairer::new(slow, 1, 0);
        impairer.offer(Instant::ZERO, b"before");
        impairer.set(Impairment { drop: Chance::ALWAYS, ..slow });
        impairer.offer(Instant::ZERO, b"during");
        let mut packet = Vec::new();
        assert!(impairer.take(Instant::from_millis(10), &mut packet));
        assert_eq!(packet, b"before");
        assert_eq!(impairer.next_timeout(), None);
    }
}
