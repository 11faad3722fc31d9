//! Lists of node addresses in DSR options.

use driftway_base::Ipv4Addr;

/// Maximum number of addresses in one list. It gives a header a fixed size in memory; the format allows about
/// sixty. A reply lists all nodes but the initiator, so that a route has at most 17 nodes.
pub const DSR_ROUTE_MAX: usize = 16;

/// An ordered list of node addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressList {
    list: [Ipv4Addr; DSR_ROUTE_MAX],
    len: u8,
}

impl core::fmt::Debug for AddressList {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl Default for AddressList {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl AddressList {
    /// The empty list.
    pub const EMPTY: Self = Self { list: [Ipv4Addr::UNSPECIFIED; DSR_ROUTE_MAX], len: 0 };

    /// Copies `nodes`; `None` if there are more than [`DSR_ROUTE_MAX`].
    pub fn new(nodes: &[Ipv4Addr]) -> Option<Self> {
        let mut list = Self::EMPTY;
        list.list.get_mut(..nodes.len())?.copy_from_slice(nodes);
        list.len = nodes.len() as u8;
        Some(list)
    }

    /// Appends an address; returns false if there is no space left.
    pub fn push(&mut self, node: Ipv4Addr) -> bool {
        let Some(slot) = self.list.get_mut(usize::from(self.len)) else { return false };
        *slot = node;
        self.len += 1;
        true
    }

    /// Number of addresses.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The addresses.
    pub fn as_slice(&self) -> &[Ipv4Addr] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}
