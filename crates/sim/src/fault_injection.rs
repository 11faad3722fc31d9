//! Fault injection for tests: corrupts a run on purpose, so that its checks can be shown to fail. It
//! is compiled in with the Cargo feature `fault-injection`, and acts only after a call of
//! `inject_fault`.

use driftway_wire::{Body, Packet};

/// The index of the data segment, acknowledgment or delivery that is hit: late enough that the
/// connection is established.
const TARGET_COUNT: u64 = 40;

/// Counts segments and deliveries up to the one that is hit.
#[derive(Debug, Default)]
pub struct FaultInjection {
    data_segments: u64,
    acknowledgments: u64,
    deliveries: u64,
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// A payload's offset is one too high.
    Offset,
    /// A payload carries another stream's identifier.
    Stream,
    /// A packet disappears without a drop reason.
    Leak,
    /// A payload is delivered twice.
    Duplicate,
    /// Acknowledgment numbers are one too high.
    Ack,
    /// The network's random streams are those of another seed.
    RandomSeed,
}

#[cfg(feature = "fault-injection")]
thread_local! {
    static INJECTED_FAULT: std::cell::Cell<Option<InjectedFault>> = const { std::cell::Cell::new(None) };
}

/// Injects this fault into all later runs of the calling thread.
#[cfg(feature = "fault-injection")]
pub fn inject_fault(fault: Option<InjectedFault>) {
    INJECTED_FAULT.set(fault);
}

/// True if this fault is to be injected.
fn is_injected(fault: InjectedFault) -> bool {
    #[cfg(feature = "fault-injection")]
    return INJECTED_FAULT.get() == Some(fault);
    #[cfg(not(feature = "fault-injection"))]
    {
        let _ = fault;
        false
    }
}

/// The effect of an injected fault on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// No effect.
    None,
    /// The packet disappears without a drop reason.
    Leak,
    /// The payload is delivered to the application twice.
    Duplicate,
}

impl FaultInjection {
    /// Handles a packet that a host sends.
    pub fn on_sent(&mut self, packet: &mut Packet) -> FaultEffect {
        let Body::Tcp(segment) = &mut packet.body else { return FaultEffect::None };
        if segment.payload.is_empty() {
            self.acknowledgments += 1;
            // The byte may have arrived when one of them does: all are raised from then on.
            if is_injected(InjectedFault::Ack) && self.acknowledgments >= TARGET_COUNT {
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

    /// Makes a packet disappear in the network.
    pub fn lose(&self, net: &mut driftway_net::Network, packet: &Packet) {
        #[cfg(feature = "fault-injection")]
        net.lose_silently(packet);
        #[cfg(not(feature = "fault-injection"))]
        let _ = (net, packet);
    }

    /// Handles a payload that is about to be delivered.
    pub fn on_delivery(&mut self) -> FaultEffect {
        if !is_injected(InjectedFault::Duplicate) {
            return FaultEffect::None;
        }
        self.deliveries += 1;
        if self.deliveries == TARGET_COUNT { FaultEffect::Duplicate } else { FaultEffect::None }
    }

    /// The seed of the network's random streams.
    pub fn network_seed(seed: u64) -> u64 {
        if is_injected(InjectedFault::RandomSeed) { seed ^ 1 } else { seed }
    }
}
