//! The table `[network]`.

use crate::tagged::tagged;
use crate::{Adhoc, Fault, Flow, Mixed, Mobility, MovementFile, Path};

tagged! {
    /// Network, `[network]`; the key `kind` selects the variant.
    #[allow(clippy::large_enum_variant, reason = "a scenario has one")]
    pub enum Network by "kind",
    /// Values of `kind`.
    pub enum NetworkKind {
        /// `"path"`: a chain of store-and-forward links.
        Path(Path) = "path",
        /// `"adhoc"`: mobile nodes with radios.
        Adhoc(Adhoc) = "adhoc",
        /// `"mixed"`: named nodes with wires between any of them, and with radios on some.
        Mixed(Mixed) = "mixed",
    }
}

impl Network {
    /// Number of nodes; in a path also those of its parallel routes.
    pub fn nodes(&self) -> u32 {
        match self {
            Self::Path(path) => path.nodes(),
            Self::Adhoc(adhoc) => adhoc.nodes(),
            Self::Mixed(mixed) => mixed.nodes.len().try_into().unwrap_or(u32::MAX),
        }
    }

    /// Faults of all kinds, in the order of the file.
    pub fn faults(&self) -> &[Fault] {
        match self {
            Self::Path(path) => &path.faults,
            Self::Adhoc(adhoc) => &adhoc.faults,
            Self::Mixed(mixed) => &mixed.faults,
        }
    }

    /// Returns whether a gateway splits the connection of `flow`.
    pub fn is_split(&self, flow: &Flow) -> bool {
        matches!(self, Self::Mixed(mixed) if mixed.is_split(flow))
    }

    /// Name of a node; its number if it has none.
    pub(crate) fn node_name(&self, node: u32) -> String {
        match self {
            Self::Mixed(mixed) => mixed.nodes.get(node as usize).cloned(),
            Self::Path(_) | Self::Adhoc(_) => None,
        }
        .unwrap_or_else(|| node.to_string())
    }

    /// The ad hoc network, or the airs of a mixed one; none: no node has a radio.
    pub fn radio_networks(&self) -> impl Iterator<Item = &Adhoc> {
        let (adhoc, airs) = match self {
            Self::Path(_) => (None, &[][..]),
            Self::Adhoc(adhoc) => (Some(adhoc), &[][..]),
            Self::Mixed(mixed) => (None, mixed.airs.as_slice()),
        };
        adhoc.into_iter().chain(airs.iter().map(|air| &air.adhoc))
    }

    /// The key of each of [`Network::radio_networks`]: `network`, `network.air`, `network.air.0` …
    pub(crate) fn radio_network_keys(&self) -> Vec<String> {
        match self {
            Self::Path(_) => Vec::new(),
            Self::Adhoc(_) => vec!["network".to_owned()],
            Self::Mixed(mixed) => mixed.air_keys(),
        }
    }

    /// The number of nodes that can be ends of flows, from 0: of a path those of the chain.
    pub(crate) fn end_nodes(&self) -> u32 {
        match self {
            Self::Path(path) => path.hops.saturating_add(1),
            Self::Adhoc(_) | Self::Mixed(_) => self.nodes(),
        }
    }

    /// Returns whether nodes may move.
    pub fn moves(&self) -> bool {
        self.radio_networks().any(|adhoc| !adhoc.mobility.is_static())
    }

    /// The movement file of each of [`Network::radio_networks`].
    pub(crate) fn movement_files(&self) -> Vec<Option<MovementFile>> {
        let file = |adhoc: &Adhoc| match &adhoc.mobility {
            Mobility::File(named) => Some(named.clone()),
            _ => None,
        };
        self.radio_networks().map(file).collect()
    }

    /// Mutable access to [`Network::radio_networks`].
    pub(crate) fn radio_networks_mut(&mut self) -> impl Iterator<Item = &mut Adhoc> {
        let (adhoc, airs) = match self {
            Self::Path(_) => (None, &mut [][..]),
            Self::Adhoc(adhoc) => (Some(adhoc), &mut [][..]),
            Self::Mixed(mixed) => (None, mixed.airs.as_mut_slice()),
        };
        adhoc.into_iter().chain(airs.iter_mut().map(|air| &mut air.adhoc))
    }
}
