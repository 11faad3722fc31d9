//! The timers of hosts.

use std::fmt;

use driftway_base::FlowId;
use driftway_endpoint::Side;
use driftway_net::Timer;

use crate::sockets::SocketId;

/// A leg of a flow's connection that a gateway splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegId {
    /// The flow.
    pub flow: FlowId,
    /// The gateway's side.
    pub side: Side,
}

/// A timer of a host. The order of the kinds is that within one instant, at which the network comes before all
/// of them: then aids, then TCPs, then applications, so that an aid that checks for a timeout due at this
/// instant acts before TCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTimer {
    /// A signal of an unreachable destination for a flow. These are the network's last events of an
    /// instant, so that a signal at the time of a link failure finds the routing state that the
    /// failure has left.
    Unreachable(FlowId),
    /// The aid of a socket.
    Aid(SocketId),
    /// The aid of a leg.
    LegAid(LegId),
    /// The TCP of a socket.
    Tcp(SocketId),
    /// The TCP of a leg.
    LegTcp(LegId),
    /// The application of a flow acts.
    Application(FlowId),
}

impl HostTimer {
    /// Returns the number of timers of each class, for this number of flows.
    pub const fn counts(flows: usize) -> [usize; Self::CLASSES] {
        [flows, 2 * flows, 2 * flows, 2 * flows, 2 * flows, flows]
    }
}

impl fmt::Display for HostTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(flow) => {
                write!(f, "the signal of an unreachable destination to flow {flow}")
            }
            Self::Aid(SocketId { flow, end }) => {
                write!(f, "the timeout of the aid at the {} of flow {flow}", end.name())
            }
            Self::LegAid(LegId { flow, side }) => {
                write!(
                    f,
                    "the timeout of the aid at the gateway's {} leg of flow {flow}",
                    side.name()
                )
            }
            Self::Tcp(SocketId { flow, end }) => {
                write!(f, "the timeout of TCP at the {} of flow {flow}", end.name())
            }
            Self::LegTcp(LegId { flow, side }) => {
                write!(f, "the timeout of TCP at the gateway's {} leg of flow {flow}", side.name())
            }
            Self::Application(flow) => write!(f, "the application of flow {flow}"),
        }
    }
}

impl Timer for HostTimer {
    const CLASSES: usize = 6;

    fn parts(self) -> (usize, u32) {
        match self {
            Self::Unreachable(flow) => (0, flow.number()),
            Self::Aid(socket) => (1, socket.number()),
            Self::LegAid(leg) => (2, leg.number()),
            Self::Tcp(socket) => (3, socket.number()),
            Self::LegTcp(leg) => (4, leg.number()),
            Self::Application(flow) => (5, flow.number()),
        }
    }

    fn from_parts(class: usize, entity: u32) -> Self {
        match class {
            0 => Self::Unreachable(FlowId::new(entity)),
            1 => Self::Aid(SocketId::from_number(entity)),
            2 => Self::LegAid(LegId::from_number(entity)),
            3 => Self::Tcp(SocketId::from_number(entity)),
            4 => Self::LegTcp(LegId::from_number(entity)),
            _ => Self::Application(FlowId::new(entity)),
        }
    }
}

impl LegId {
    /// Returns the number of the leg among all: two for each flow, the wireless one first.
    pub const fn number(self) -> u32 {
        let side = match self.side {
            Side::Wireless => 0,
            Side::Wired => 1,
        };
        self.flow.number() * 2 + side
    }

    const fn from_number(number: u32) -> Self {
        let side = if number.is_multiple_of(2) { Side::Wireless } else { Side::Wired };
        Self { flow: FlowId::new(number / 2), side }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn parts_are_one_to_one() {
        let flow = FlowId::new(3);
        let timers = [
            HostTimer::Unreachable(flow),
            HostTimer::Aid(SocketId::receiver(flow)),
            HostTimer::LegAid(LegId { flow, side: Side::Wireless }),
            HostTimer::Tcp(SocketId::sender(flow)),
            HostTimer::LegTcp(LegId { flow, side: Side::Wired }),
            HostTimer::Application(flow),
        ];
        for (n, timer) in timers.into_iter().enumerate() {
            let (class, entity) = timer.parts();
            assert!(class == n && (entity as usize) < HostTimer::counts(4)[class]);
            assert_eq!(HostTimer::from_parts(class, entity), timer);
        }
    }
}
