//! Breaks the simulator on purpose, by Cargo features that only tests switch on: with each, a run
//! must fail. A check that cannot fail checks nothing.

use wire::{Body, Packet};

/// Which piece of payload is hit: late enough that everything is under way.
const VICTIM: u64 = 40;

/// Counts pieces until the victim comes.
#[derive(Debug, Default)]
pub struct Sabotage {
    seen: u64,
    acknowledgments: u64,
    delivered: u64,
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
            if cfg!(feature = "break-ack") && self.acknowledgments == VICTIM {
                segment.ack += 1;
            }
            return Crime::None;
        }
        self.seen += 1;
        if self.seen != VICTIM {
            return Crime::None;
        }
        if cfg!(feature = "break-offset") {
            segment.payload.offset += 1;
        }
        if cfg!(feature = "break-stream") {
            segment.payload.stream += 1;
        }
        if cfg!(feature = "break-leak") { Crime::Leak } else { Crime::None }
    }

    /// A piece is about to be delivered.
    pub fn on_delivery(&mut self) -> Crime {
        if !cfg!(feature = "break-twice") {
            return Crime::None;
        }
        self.delivered += 1;
        if self.delivered == VICTIM { Crime::Twice } else { Crime::None }
    }

    /// The seed of links: a run whose random streams move must not go unnoticed, either.
    pub fn seed(seed: u64) -> u64 {
        if cfg!(feature = "break-random") { seed ^ 1 } else { seed }
    }
}
