//! Breaks the simulator on purpose, where the Cargo feature `broken` is on, which only tests switch
//! on, and a test has asked for it: a run must then fail. A check that cannot fail checks nothing.

use driftway_wire::{Body, Packet};

/// Which piece of payload is hit: late enough that everything is under way.
const TARGET_COUNT: u64 = 40;

/// Counts pieces until the victim comes.
#[derive(Debug, Default)]
pub struct FaultInjection {
    data_segments: u64,
    acknowledgments: u64,
    deliveries: u64,
}

/// A way of breaking the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// A payload's offset is one too high.
    Offset,
    /// A payload has another stream's name.
    Stream,
    /// A packet vanishes.
    Leak,
    /// A payload is delivered twice.
    Duplicate,
    /// An acknowledgment speaks of one byte more.
    Ack,
    /// The network's random streams are those of another seed.
    RandomSeed,
}

#[cfg(feature = "broken")]
thread_local! {
    static INJECTED_FAULT: std::cell::Cell<Option<InjectedFault>> = const { std::cell::Cell::new(None) };
}

/// Breaks the runs of this thread from now on.
#[cfg(feature = "broken")]
pub fn inject_fault(fault: Option<InjectedFault>) {
    INJECTED_FAULT.set(fault);
}

/// Is it broken in this way?
fn is_injected(fault: InjectedFault) -> bool {
    #[cfg(feature = "broken")]
    return INJECTED_FAULT.get() == Some(fault);
    #[cfg(not(feature = "broken"))]
    {
        let _ = fault;
        false
    }
}

/// What is done to the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// Nothing.
    None,
    /// The packet vanishes without a reason.
    Leak,
    /// Its payload is handed to the application twice.
    Duplicate,
}

impl FaultInjection {
    /// A packet is about to enter a link.
    pub fn on_link_entry(&mut self, packet: &mut Packet) -> FaultEffect {
        let Body::Tcp(segment) = &mut packet.body else { return FaultEffect::None };
        if segment.payload.is_empty() {
            self.acknowledgments += 1;
            if is_injected(InjectedFault::Ack) && self.acknowledgments == TARGET_COUNT {
                segment.ack += 1;
            }
            return FaultEffect::None;
        }
        self.data_segments += 1;
        if self.data_segments != TARGET_COUNT {
            return FaultEffect::None;
        }
        if is_injected(InjectedFault::Offset) {
            segment.payload.offset += 1;
        }
        if is_injected(InjectedFault::Stream) {
            segment.payload.stream += 1;
        }
        if is_injected(InjectedFault::Leak) { FaultEffect::Leak } else { FaultEffect::None }
    }

    /// A piece is about to be delivered.
    pub fn on_delivery(&mut self) -> FaultEffect {
        if !is_injected(InjectedFault::Duplicate) {
            return FaultEffect::None;
        }
        self.deliveries += 1;
        if self.deliveries == TARGET_COUNT { FaultEffect::Duplicate } else { FaultEffect::None }
    }

    /// The seed of links: a run whose random streams move must not go unnoticed, either.
    pub fn network_seed(seed: u64) -> u64 {
        if is_injected(InjectedFault::RandomSeed) { seed ^ 1 } else { seed }
    }
}
