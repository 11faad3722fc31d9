//! The tables `[[traffic]]`: flows between pairs of nodes that the seed draws.

use std::borrow::Cow;
use std::collections::BTreeSet;

use driftway_base::RandomStream;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::SeqAccess;
use serde::{Serialize, Serializer};

use crate::flow::MAX_FLOWS;
use crate::forms::forms;
use crate::keys::keys;
use crate::node_reference::NodeReference;
use crate::value_or::{self, Forms, Found};
use crate::{Aid, Application, Flow, Tcp, Time, Transport};

keys! {
    /// Flows between pairs of nodes that are drawn by the seed of a run, `[[traffic]]`: each seed has
    /// other pairs, and the same ones with every other key. The flows follow those of `[[flow]]`, in
    /// the order of the file. Networks of kind `"path"` and `"adhoc"` only.
    pub struct Traffic expecting "a table with the keys of traffic" {
        /// Name of each of the flows, in results and for a study's measures.
        name: Option<String> => "none",
        /// Number of pairs, and of flows: different pairs of a sender and another node,
        /// each equally likely. A node may be in several pairs.
        pairs: u32 [range("the number of pairs", 1..=MAX_FLOWS)],
        /// Senders: `"any"` node, or a list such as `[0, 1, 2]`, also of names in a movement file.
        from: TrafficNodes = default,
        /// Receivers: `"any"` node, or a list such as `[0, 1, 2]`, also of names in a movement file.
        to: TrafficNodes = default,
        /// Start of each flow: a time, or `{ uniform = ["0 s", "10 s"] }`, drawn for each flow.
        start: TrafficStart = default,
        /// Application, as that of a flow.
        application: Application,
        /// Transport protocol: `"tcp"` or `"udp"`.
        transport: Transport = default,
        /// TCP configuration of both ends.
        #[schemars(with = "Option<crate::schema::TcpOrPreset>")]
        tcp: Option<Tcp> => "the defaults of all keys",
        /// Aid to the sender's TCP.
        aid: Aid = default,
    }
}

/// The nodes of which the ends of pairs are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TrafficNodes {
    /// `"any"`: all nodes.
    #[default]
    Any,
    /// These nodes.
    Listed(Vec<u32>),
}

forms! {
    /// The start of a flow.
    pub enum TrafficStart [Copy] expecting
        "a time with its unit, such as \"10 s\", or { uniform = [\"0 s\", \"10 s\"] }", {
        text {
            /// `"10 s"`: the same for all flows.
            Fixed(Time)
        }
        /// `{ uniform = ["0 s", "10 s"] }`: drawn uniformly for each flow.
        Uniform(UniformStart) {
            /// Earliest and latest start.
            uniform: (Time, Time),
        }
    }
}

impl Default for TrafficStart {
    fn default() -> Self {
        Self::Fixed(Time::default())
    }
}

/// The seed whose pairs a scenario has when it is loaded.
pub(crate) const FIRST_SEED: u64 = 1;

/// The ends and the start of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrawnFlow {
    pub from: u32,
    pub to: u32,
    pub start: Time,
}

impl Traffic {
    /// The flows with all keys but those that are drawn.
    pub(crate) fn flows(&self, number: usize) -> impl Iterator<Item = Flow> {
        let flow = Flow {
            name: self.name.clone(),
            from: 0,
            to: 1,
            copies: 1,
            start: Time::default(),
            application: self.application,
            back: None,
            transport: self.transport,
            tcp: self.tcp.clone(),
            aid: self.aid.clone(),
            receiver_aid: None,
            unreachable_at: Vec::new(),
            unreachable_until: None,
            traffic: Some(number),
        };
        std::iter::repeat_n(flow, u64::from(self.pairs).min(MAX_FLOWS) as usize)
    }

    /// The flows that a seed draws in a network with this number of nodes; `number` is the index of the
    /// table. `None` if there are fewer pairs than flows.
    pub(crate) fn draw(&self, number: usize, nodes: u32, seed: u64) -> Option<Vec<DrawnFlow>> {
        let (from, to) = (self.from.list(nodes), self.to.list(nodes));
        let stream = |purpose| RandomStream::new(seed, purpose, number as u64);
        let pairs = draw_pairs(&from, &to, self.pairs as usize, &mut stream("traffic-pairs"))?;
        // Their own stream: other starts do not change the pairs.
        let mut starts = stream("traffic-starts");
        let flow = |(from, to)| DrawnFlow {
            from,
            to,
            start: match self.start {
                TrafficStart::Fixed(start) => start,
                TrafficStart::Uniform(UniformStart { uniform: (Time(low), Time(high)) }) => {
                    Time(starts.uniform_duration(low, high))
                }
            },
        };
        Some(pairs.into_iter().map(flow).collect())
    }
}

impl TrafficNodes {
    /// The nodes, each once.
    pub(crate) fn list(&self, nodes: u32) -> Vec<u32> {
        match self {
            Self::Any => (0..nodes).collect(),
            Self::Listed(listed) => {
                let listed: BTreeSet<u32> = listed.iter().copied().collect();
                listed.into_iter().collect()
            }
        }
    }
}

/// Draws different pairs of two different nodes; `None` if there are fewer.
fn draw_pairs(
    from: &[u32],
    to: &[u32],
    pairs: usize,
    random: &mut RandomStream,
) -> Option<Vec<(u32, u32)>> {
    let pair = |index: usize| (from[index / to.len()], to[index % to.len()]);
    let is_pair = |(from, to): &(u32, u32)| from != to;
    let all = from.len() * to.len();
    let in_both = from.iter().filter(|node| to.binary_search(node).is_ok()).count();
    if all - in_both < pairs {
        return None;
    }
    // With few of many pairs a repetition is rare, and drawn again.
    if pairs < all / 4 {
        let (mut drawn, mut seen) = (Vec::with_capacity(pairs), BTreeSet::new());
        while drawn.len() < pairs {
            let next = pair(random.uniform_below(all as u64) as usize);
            if is_pair(&next) && seen.insert(next) {
                drawn.push(next);
            }
        }
        return Some(drawn);
    }
    let mut left: Vec<(u32, u32)> = (0..all).map(pair).filter(is_pair).collect();
    let mut draw = || left.swap_remove(random.uniform_below(left.len() as u64) as usize);
    Some((0..pairs).map(|_| draw()).collect())
}

impl Forms for TrafficNodes {
    fn expecting() -> Cow<'static, str> {
        "\"any\", or an array of nodes such as [0, 1, 2]".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        (found == Found::Text("any")).then_some(Ok(Self::Any))
    }
    fn read_array<'de, A: SeqAccess<'de>>(nodes: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::array(nodes).map(Self::Listed))
    }
}

impl Serialize for TrafficNodes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => "any".serialize(to),
            Self::Listed(nodes) => nodes.serialize(to),
        }
    }
}

impl JsonSchema for TrafficNodes {
    fn schema_name() -> Cow<'static, str> {
        "TrafficNodes".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let node = generator.subschema_for::<NodeReference>();
        let nodes = json_schema!({ "type": "array", "items": node });
        json_schema!({ "anyOf": [{ "const": "any" }, nodes] })
    }
}

value_or::by_forms!(TrafficNodes);

#[cfg(test)]
mod test {
    use super::*;

    fn draw(from: &[u32], to: &[u32], pairs: usize, seed: u64) -> Option<Vec<(u32, u32)>> {
        draw_pairs(from, to, pairs, &mut RandomStream::new(seed, "test", 0))
    }

    #[test]
    fn pairs_are_different_and_join_two_nodes() {
        let nodes: Vec<u32> = (0..50).collect();
        for (pairs, seed) in [(10, 1), (10, 2), (600, 1), (2450, 3)] {
            let drawn = draw(&nodes, &nodes, pairs, seed).unwrap();
            let different: BTreeSet<_> = drawn.iter().collect();
            assert_eq!((drawn.len(), different.len()), (pairs, pairs));
            assert!(drawn.iter().all(|(from, to)| from != to && *from < 50 && *to < 50));
            assert_eq!(draw(&nodes, &nodes, pairs, seed), Some(drawn));
        }
        assert_ne!(draw(&nodes, &nodes, 10, 1), draw(&nodes, &nodes, 10, 2));
        assert_eq!(draw(&nodes, &nodes, 2451, 1), None, "50 × 49 pairs are all");
    }

    /// Two senders and three receivers, of which one is both: 2 × 3 − 1 pairs.
    #[test]
    fn pairs_are_of_the_lists() {
        let all = draw(&[1, 2], &[2, 3, 4], 5, 1).unwrap();
        let all: BTreeSet<_> = all.into_iter().collect();
        assert_eq!(all, [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4)].into());
        assert_eq!(draw(&[1, 2], &[2, 3, 4], 6, 1), None);
        assert_eq!((draw(&[], &[1], 1, 1), draw(&[1], &[1], 1, 1)), (None, None));
    }

    /// Each of the 90 pairs of ten nodes is expected 100 times in 1000 draws of nine; the standard deviation
    /// is below ten.
    #[test]
    fn each_pair_is_equally_likely() {
        let nodes: Vec<u32> = (0..10).collect();
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..1000 {
            for pair in draw(&nodes, &nodes, 9, seed).unwrap() {
                *counts.entry(pair).or_insert(0_u32) += 1;
            }
        }
        assert_eq!(counts.len(), 90);
        assert!(counts.values().all(|count| count.abs_diff(100) < 45), "{counts:?}");
    }
}
