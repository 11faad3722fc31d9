//! Fault injection for tests: corrupts a run on purpose, so that its checks can be shown to fail. It
//! is compiled in with the Cargo feature `fault-injection`, and acts only after a call of
//! `inject_fault`.

use driftway_wire::{Body, Packet};

/// The index of the data segment, acknowledgment or delivery that is hit: late enough that the
/// connection is established.
const VICTIM: u64 = 40;

/// Counts segments and deliveries up to the one that is hit.
#[derive(Debug, Default)]
pub struct Sabotage {
    seen: u64,
    acknowledgments: u64,
    delivered: u64,
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// A payload's offset is one too high.
    Offset,
    /// A payload carries another stream's identifier.
    Stream,
    /// A packet disappears without a drop reason.
    Leak,
    /// A payload is delivered twice.
    Twice,
    /// An acknowledgment number is one too high.
    Ack,
    /// The network's random streams are those of another seed.
    Random,
}

#[cfg(feature = "broken")]
thread_local! {
    static BREAKAGE: std::cell::Cell<Option<Breakage>> = const { std::cell::Cell::new(None) };
}

/// Injects this fault into all later runs of the calling thread.
#[cfg(feature = "broken")]
pub fn break_by(way: Option<Breakage>) {
    BREAKAGE.set(way);
}

/// True if this fault is to be injected.
fn broken(way: Breakage) -> bool {
    #[cfg(feature = "broken")]
    return BREAKAGE.get() == Some(way);
    #[cfg(not(feature = "broken"))]
    {
        let _ = way;
        false
    }
}

/// The effect of an injected fault on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crime {
    /// No effect.
    None,
    /// The packet disappears without a drop reason.
    Leak,
    /// The payload is delivered to the application twice.
    Twice,
}

impl Sabotage {
    /// Handles a packet that is about to enter a link.
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

    /// Handles a payload that is about to be delivered.
    pub fn on_delivery(&mut self) -> Crime {
        if !broken(Breakage::Twice) {
            return Crime::None;
        }
        self.delivered += 1;
        if self.delivered == VICTIM { Crime::Twice } else { Crime::None }
    }

    /// The seed of the network's random streams.
    pub fn seed(seed: u64) -> u64 {
        if broken(Breakage::Random) { seed ^ 1 } else { seed }
    }
}
