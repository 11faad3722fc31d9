//! Where packets are, and the books that must balance: each packet made is delivered, dropped for a
//! named reason, or still on its way.

use std::collections::BTreeMap;

use wire::Packet;

/// Why a packet was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// Bits were wrong.
    BitError,
    /// The queue was full.
    QueueOverflow,
    /// RED dropped it early.
    Red,
    /// It was on the hop, or in a queue that is emptied, when the hop was cut.
    Partition,
    /// It came to a hop that was cut.
    Unreachable,
    /// The signal was drawn to be lost.
    SignalLoss,
    /// Its time to live ran out.
    TimeToLive,
    /// Nobody at its destination knows it.
    Nobody,
}

impl Drop {
    const ALL: [Self; 8] = [
        Self::BitError,
        Self::QueueOverflow,
        Self::Red,
        Self::Partition,
        Self::Unreachable,
        Self::SignalLoss,
        Self::TimeToLive,
        Self::Nobody,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitError => "bit-error",
            Self::QueueOverflow => "queue-overflow",
            Self::Red => "red",
            Self::Partition => "partition",
            Self::Unreachable => "unreachable",
            Self::SignalLoss => "signal-loss",
            Self::TimeToLive => "time-to-live",
            Self::Nobody => "nobody",
        }
    }
}

/// Room made at once for packets on their way; more of them grow into their room once.
const RESERVED: usize = 512;

/// All packets on their way, by handle, and the account of those that are not any more.
#[derive(Debug)]
pub struct Packets {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
    made: u64,
    delivered: u64,
    dropped: [u64; Drop::ALL.len()],
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            slots: Vec::with_capacity(RESERVED),
            free: Vec::with_capacity(RESERVED),
            made: 0,
            delivered: 0,
            dropped: [0; Drop::ALL.len()],
        }
    }
}

impl Packets {
    /// A new packet is on its way.
    pub fn make(&mut self, packet: Packet) -> u32 {
        self.made += 1;
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(packet);
                id
            }
            None => {
                self.slots.push(Some(packet));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// A packet on its way. Handles come from [`make`](Self::make) and are good until the packet
    /// ends; `None` would be a mistake in the simulator, which the books then show.
    pub fn get(&mut self, id: u32) -> Option<&mut Packet> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    fn end(&mut self, id: u32) -> Option<Packet> {
        let packet = self.slots.get_mut(id as usize)?.take();
        if packet.is_some() {
            self.free.push(id);
        }
        packet
    }

    /// It is where it was to go.
    pub fn deliver(&mut self, id: u32) -> Option<Packet> {
        let packet = self.end(id)?;
        self.delivered += 1;
        Some(packet)
    }

    /// It is lost.
    pub fn drop(&mut self, id: u32, why: Drop) -> Option<Packet> {
        let packet = self.end(id)?;
        self.dropped[why as usize] += 1;
        Some(packet)
    }

    /// Packets on their way.
    pub fn on_their_way(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Drops by reason; reasons without any are left out.
    pub fn drops(&self) -> BTreeMap<String, u64> {
        let counts = Drop::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, n)| *n > 0).map(|(why, n)| (why.name().to_owned(), n)).collect()
    }

    /// Do the books balance, with so many packets found on links?
    ///
    /// # Errors
    /// Says what is missing.
    pub fn balance(&self, on_links: u64) -> Result<(), String> {
        let dropped: u64 = self.dropped.iter().sum();
        let way = self.on_their_way();
        if self.made != self.delivered + dropped + way {
            return Err(format!(
                "{} packets were made, but {} delivered + {dropped} dropped + {way} on their way",
                self.made, self.delivered
            ));
        }
        if way != on_links {
            return Err(format!("{way} packets are on their way, but links hold {on_links}"));
        }
        Ok(())
    }
}
