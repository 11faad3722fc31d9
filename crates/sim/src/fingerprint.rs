//! The fingerprint of a run: three digests, of the events handled, of the packets moved, and of the
//! results. The digests that a change in the code alters show what kind of change it was.

use driftway_base::Instant;
use driftway_net::Digest;

/// The digests of a run, but for that of packets, which the network keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fingerprint {
    events: Digest,
    statistics: Digest,
}

impl Fingerprint {
    /// Adds an event that was handled.
    pub fn event(&mut self, at: Instant, class: usize, entity: u32) {
        self.events.add(at.as_nanos());
        self.events.add((class as u64) << 32 | u64::from(entity));
    }

    /// Adds a number of the results.
    pub fn statistic(&mut self, value: u64) {
        self.statistics.add(value);
    }

    /// The digests of events, packets and statistics, in hexadecimal.
    pub fn to_hex(self, packets: Digest) -> String {
        let [events, packets, statistics] =
            [self.events, packets, self.statistics].map(Digest::value);
        format!("{events:016x}-{packets:016x}-{statistics:016x}")
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// The parts of the fingerprint that `change` alters.
    fn moved(change: impl Fn(&mut Fingerprint)) -> [bool; 3] {
        let (before, mut after) = (Fingerprint::default(), Fingerprint::default());
        change(&mut after);
        let [before, after] = [before, after].map(|print| print.to_hex(Digest::default()));
        let parts: Vec<bool> =
            before.split('-').zip(after.split('-')).map(|(a, b)| a != b).collect();
        parts.try_into().unwrap()
    }

    #[test]
    fn each_part_has_its_own_digest() {
        let now = Instant::from_secs(1);
        assert_eq!(moved(|_| {}), [false; 3]);
        assert_eq!(moved(|f| f.event(now, 0, 0)), [true, false, false]);
        assert_eq!(moved(|f| f.statistic(0)), [false, false, true]);
        let mut packets = Digest::default();
        packets.add(1);
        let print = Fingerprint::default();
        assert_ne!(print.to_hex(packets), print.to_hex(Digest::default()));
    }
}
