//! Identifiers: numbers that cannot be taken for one another.

use core::fmt;

/// Defines identifiers. Those of a kind are numbered from 0, so that tables can be indexed by them.
macro_rules! identifiers {
    ($($(#[doc = $doc:literal])+ $name:ident)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Creates the identifier with this number.
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Returns the number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// Creates the identifier with this index, which is below 2³².
            fn from(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok(), "{index} entities of a kind");
                Self(index as u32)
            }
        }

        impl From<$name> for usize {
            fn from(id: $name) -> Self {
                id.index()
            }
        }

        impl From<$name> for u64 {
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

identifiers! {
    /// A node of a network. Its address follows from it.
    NodeId
    /// A station of an air: a radio by its number among those on the same air.
    StationId
    /// A radio of a network, whatever its air.
    RadioId
    /// An air of a network.
    AirId
    /// A link of a network, from 0: a hop of a path, or a wire.
    LinkId
    /// The handle of a packet in transit, which is used again after the packet's end.
    PacketId
    /// A flow of a scenario, from 0.
    FlowId
    /// A connection that a gateway splits.
    ConnectionId
    /// A fault of a network: one of the streams of actions of a scenario's faults.
    FaultId
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn an_identifier_is_its_number() {
        let node = NodeId::new(7);
        assert_eq!((node.number(), node.index(), usize::from(node)), (7, 7, 7));
        assert_eq!(u64::from(node), 7);
        assert_eq!((NodeId::from(7), alloc::format!("{node}").as_str()), (node, "7"));
        assert!(NodeId::default() < node);
    }
}
