//! Breaks the simulator on purpose, where the Cargo feature `broken` is on, which only tests switch
//! on, and a test has asked for it: a run must then fail. A check that cannot fail checks nothing.

use driftway_wire::{Body, Packet};

/// Which piece of payload is hit: late enough that everything is under way.
const VICTIM: u64 = 40;

/// Counts pieces until the victim comes.
#[derive(Debug, Default)]
pub struct Sabotage {
    seen: u64,
    acknowledgments: u64,
    delivered: u64,
}

/// A way of breaking the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// A payload's offset is one too high.
    Offset,
    /// A payload has another stream's name.
    Stream,
    /// A packet vanishes.
    Leak,
    /// A payload is delivered twice.
    Twice,
    /// An acknowledgment speaks of one byte more.
    Ack,
    /// The network's random streams are those of another seed.
    Random,
}

#[cfg(feature = "broken")]
thread_local! {
    static BREAKAGE: std::cell::Cell<Option<Breakage>> = const { std::cell::Cell::new(None) };
}

/// Breaks the runs of this thread from now on.
#[cfg(feature = "broken")]
pub fn break_by(fault: Option<Breakage>) {
    BREAKAGE.set(fault);
}

/// Is it broken in this way?
fn broken(fault: Breakage) -> bool {
    #[cfg(feature = "broken")]
    return BREAKAGE.get() == Some(fault);
    #[cfg(not(feature = "broken"))]
    {
        let _ = fault;
        false
    }
}

/// What is done to the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crime {
    /// Nothing.
    None,
    /// The packet vanishes without a reason.
    Leak,
    /// Its payload is handed to the application twice.
    Twice,
}

impl Sabotage {
    /// A packet is about to enter a link.
    pub fn on_link(&mut self, packet: &mut Packet) -> Crime {
        let Body::Tcp(segment) = &mut packet.body else { return Crime::None };
        if segment.payload.is_empty() {
            self.acknowledgments += 1;
            if broken(Breakage::Ack) && self.acknowledgments == VICTIM {
                segment.ack += 1;
            }
            return Crime::None;
        }
        self.seen += 1;
        if self.seen != VICTIM {
            return Crime::None;
        }
        if broken(Breakage::Offset) {
            segment.payload.offset += 1;
        }
        if broken(Breakage::Stream) {
            segment.payload.stream += 1;
        }
        if broken(Breakage::Leak) { Crime::Leak } else { Crime::None }
    }

    /// A piece is about to be delivered.
    pub fn on_delivery(&mut self) -> Crime {
        if !broken(Breakage::Twice) {
            return Crime::None;
        }
        self.delivered += 1;
        if self.delivered == VICTIM { Crime::Twice } else { Crime::None }
    }

    /// The seed of links: a run whose random streams move must not go unnoticed, either.
    pub fn seed(seed: u64) -> u64 {
        if broken(Breakage::Random) { seed ^ 1 } else { seed }
    }
}
