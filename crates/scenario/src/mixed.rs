//! The table `[network]` with `kind = "mixed"`: named nodes, wires between them, radios on some.

use std::borrow::Cow;

use driftway_base::RandomStream;
use schemars::Schema;
use serde::de::{Error, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::keys;
use crate::value_or::{self, Forms, Found};
use crate::{Adhoc, BitRate, Fault, Flow, Gateway, Link, OutagePlace, Transport, fault, tagged};

keys! {
    /// A mixed network, `[network]` with `kind = "mixed"`: named nodes, wires between any of them, and
    /// radios on some of them.
    pub struct Mixed expecting "a table with the keys of a network" {
        /// Names of the nodes, 2 to 1000, each with a wire or a radio. A name begins with a letter
        /// and continues with letters, digits, `-` and `_`; `"n[1-20]"` stands for `"n1"` to
        /// `"n20"`. Where a key takes a node, it takes its name, or its index in this list, from 0.
        #[schemars(with = "Vec<crate::schema::NodeName>")]
        nodes: Vec<String>,
        /// Wired links: `[[network.wire]]`.
        #[serde(rename = "wire")]
        wires: Vec<Wire> => "none",
        /// Routes over wires: `[[network.route]]`.
        #[serde(rename = "route")]
        routes: Vec<Route> =>
            "the shortest by the number of wires; of equal ones, the one whose first wire comes \
             first in the file",
        /// Radio channels: `[network.air]`, or several `[[network.air]]` with names.
        #[serde(rename = "air", with = "airs")]
        #[schemars(with = "crate::schema::OneOrSeveral<Air>")]
        airs: Vec<Air> => "none, no node has a radio",
        /// The gateway, if it does more than forward: `[network.gateway]`.
        gateway: Option<Gateway> => "it forwards",
        /// Faults and their schedule: `[[network.fault]]`.
        #[serde(rename = "fault")]
        faults: Vec<Fault> => "none",
    }
}

/// Wired link between two nodes, `[[network.wire]]`: any key of `[network.link]`, with the same
/// defaults.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wire {
    /// The two nodes that it joins, such as `["server", "router"]`.
    #[schemars(
        with = "(crate::node_reference::NodeReference, crate::node_reference::NodeReference)"
    )]
    pub between: [u32; 2],
    /// Keys of the link.
    #[serde(flatten)]
    pub link: Link,
}

/// Route over wires, `[[network.route]]`: the wire by which packets for a node leave another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `at`, `to` and `via`")]
pub struct Route {
    /// The node that the packets leave.
    #[schemars(with = "crate::node_reference::NodeReference")]
    pub at: u32,
    /// Their destination, which wires reach.
    #[schemars(with = "crate::node_reference::NodeReference")]
    pub to: u32,
    /// The wire at that node, by its number in the file, from 1.
    pub via: u32,
}

/// Radio channel of a mixed network, `[network.air]`: every key of a network of kind `"adhoc"` but
/// `nodes` and `fault`. Their descriptions call them `network.mobility`, `network.feedback` and so
/// on; here they are `network.air.mobility`, `network.air.feedback` and so on.
///
/// Several airs, `[[network.air]]`, do not disturb each other. A node may have a radio on each of them, and
/// routing finds routes over all: each air has a node in common with another, where its positions are the
/// same, and all have the same `queue`, `arp`, `routing`, `feedback`, `icmp_rate` and `route_probe`, without
/// `link_signals` and `link_retry`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields, transform = remove_keys_of_network)]
pub struct Air {
    /// Name, which differs from those of other airs.
    #[schemars(with = "Option<String>", extend("x-default" = "none; required if there are several"))]
    #[serde(skip_serializing_if = "airs::is_only")]
    pub name: String,
    /// The nodes with a radio, at least 2, in the order in which `network.air.mobility` lists
    /// positions; `"n[1-20]"` stands for `"n1"` to `"n20"`.
    #[schemars(with = "Vec<crate::node_reference::NodeReference>")]
    pub radios: Vec<u32>,
    /// Keys of an ad hoc network, whose node *n* is the *n*-th element of `radios`, from 0.
    #[serde(flatten, serialize_with = "serialize_without_keys_of_network")]
    pub adhoc: Adhoc,
}

impl Mixed {
    /// The key of each air: `network.air`, or `network.air.0` and so on.
    pub(crate) fn air_keys(&self) -> Vec<String> {
        match self.airs.len() {
            1 => vec!["network.air".to_owned()],
            several => (0..several).map(|air| format!("network.air.{air}")).collect(),
        }
    }

    /// The seed of the random streams of an air, by its index: that of the network for the first.
    pub fn air_seed(seed: u64, air: usize) -> u64 {
        match air {
            0 => seed,
            air => RandomStream::new(seed, "air", air as u64).next_u64(),
        }
    }

    /// Returns whether a node has a radio.
    pub fn has_radio(&self, node: u32) -> bool {
        self.airs.iter().any(|air| air.radios.contains(&node))
    }

    /// The nodes with a radio, each once, in the order of the file.
    pub fn radio_nodes(&self) -> Vec<u32> {
        let mut nodes = Vec::new();
        let mut found = vec![false; self.nodes.len()];
        for node in self.airs.iter().flat_map(|air| &air.radios) {
            if found.get_mut(*node as usize).is_some_and(|found| !std::mem::replace(found, true)) {
                nodes.push(*node);
            }
        }
        nodes
    }

    /// The gateway, if it splits connections.
    pub fn splitting_gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref().filter(|gateway| gateway.split)
    }

    /// Returns whether the gateway splits the connection of `flow`: it does if one end has a radio and
    /// the other has none, because no other node joins air and wires.
    pub fn is_split(&self, flow: &Flow) -> bool {
        let Some(gateway) = self.splitting_gateway() else { return false };
        let [from, to] = [flow.from, flow.to].map(|node| self.has_radio(node));
        let is_at_gateway = [flow.from, flow.to].contains(&gateway.node);
        flow.transport == Transport::Tcp && from != to && !is_at_gateway
    }

    /// Link of wire `hop`, from 1 in the order of the file; `None`: there is no such wire.
    pub fn hop_link(&self, hop: u32) -> Option<&Link> {
        Some(&self.wires.get((hop as usize).checked_sub(1)?)?.link)
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        for wire in &mut self.wires {
            wire.link.resolve();
        }
        for air in &mut self.airs {
            air.adhoc.nodes = u32::try_from(air.radios.len()).ok();
            air.adhoc.resolve();
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.resolve();
        }
        let mut faults = std::mem::take(&mut self.faults);
        let rate_of = |hop| Some(BitRate(self.hop_link(hop)?.mean_rate()));
        let places = |node: u32| {
            let wires = (1..).zip(&self.wires);
            let own = wires.filter(|(_, wire)| wire.between.contains(&node));
            let radio = self.has_radio(node).then_some(OutagePlace::Radio(node));
            own.map(|(hop, _)| OutagePlace::Hop(hop)).chain(radio).collect()
        };
        fault::resolve(&mut faults, rate_of, places);
        self.faults = faults;
    }
}

/// Keys of an ad hoc network that its table in a mixed network does not have.
const KEYS_OF_NETWORK: [&str; 2] = ["nodes", "fault"];

fn remove_keys_of_network(schema: &mut Schema) {
    if let Some(keys) = schema.get_mut("properties").and_then(|keys| keys.as_object_mut()) {
        for key in KEYS_OF_NETWORK {
            keys.remove(key);
        }
    }
}

fn serialize_without_keys_of_network<S: Serializer>(
    adhoc: &Adhoc,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Adhoc { nodes: None, faults: Vec::new(), ..adhoc.clone() }.serialize(serializer)
}

/// One table, or an array of tables with names.
mod airs {
    use std::borrow::Cow;

    use serde::de::{Error, MapAccess, SeqAccess};
    use serde::{Deserializer, Serialize, Serializer};

    use super::Air;
    use crate::node_names::ONLY_AIR;
    use crate::value_or::{self, Forms, Found};

    pub fn serialize<S: Serializer>(airs: &[Air], serializer: S) -> Result<S::Ok, S::Error> {
        match airs {
            [air] => air.serialize(serializer),
            airs => airs.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Air>, D::Error> {
        value_or::deserialize(deserializer).map(|OneOrSeveral(airs)| airs)
    }

    pub fn is_only(name: &str) -> bool {
        name == ONLY_AIR
    }

    struct OneOrSeveral(Vec<Air>);

    impl Forms for OneOrSeveral {
        fn expecting() -> Cow<'static, str> {
            "a table, or an array of tables".into()
        }
        fn read(_: Found<'_>) -> Option<Result<Self, String>> {
            None
        }
        fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
            Some(value_or::table(found).map(|mut air: Air| {
                // Results have the scenario as it is written, without this name.
                if air.name.is_empty() {
                    ONLY_AIR.clone_into(&mut air.name);
                }
                Self(vec![air])
            }))
        }
        fn read_array<'de, A: SeqAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
            Some(value_or::array(found).and_then(|airs: Vec<Air>| {
                match airs.iter().find(|air| air.name.is_empty()) {
                    Some(_) => Err(A::Error::missing_field("name")),
                    None => Ok(Self(airs)),
                }
            }))
        }
    }
}

/// A value of an air's own keys.
enum AirValue {
    Name(String),
    Nodes(Vec<u32>),
}

impl Default for AirValue {
    fn default() -> Self {
        Self::Nodes(Vec::new())
    }
}

impl tagged::OwnKeyValue for AirValue {
    /// An empty name, for which `airs` has another one if there is only one air.
    fn without(key: &str) -> Option<Self> {
        (key == "name").then(|| Self::Name(String::new()))
    }
}

impl Forms for AirValue {
    fn expecting() -> Cow<'static, str> {
        "a name, or a list of nodes".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(Ok(Self::Name(name.to_owned())))
    }
    fn read_array<'de, A: SeqAccess<'de>>(nodes: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::array(nodes).map(Self::Nodes))
    }
}

value_or::by_forms!(AirValue);

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ([between], [], link) =
            tagged::deserialize_with_own_keys(deserializer, ["between"], [], &[])?;
        Ok(Self { between, link })
    }
}

impl<'de> Deserialize<'de> for Air {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (own, [], adhoc) = tagged::deserialize_with_own_keys(
            deserializer,
            ["name", "radios"],
            [],
            &KEYS_OF_NETWORK,
        )?;
        match own {
            [AirValue::Name(name), AirValue::Nodes(radios)] => Ok(Self { name, radios, adhoc }),
            [AirValue::Nodes(_), _] => Err(D::Error::custom("the name of an air is a string")),
            [_, AirValue::Name(_)] => Err(D::Error::custom("`radios` is a list of nodes")),
        }
    }
}
