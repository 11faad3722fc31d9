//! The scenario: everything about a run but its seed.

use serde::{Deserialize, Serialize};

use crate::{Aid, Flow, Network, Reference, Time, Transport};

/// A scenario file. What [`Scenario::parse`] and [`Scenario::load`] give is checked, and has its
/// defaults written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a scenario")]
pub struct Scenario {
    /// What it is called in results.
    pub name: String,
    /// What it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The longest a run takes; it ends earlier when every transfer is complete.
    pub duration: Time,
    /// What lies between the ends.
    pub network: Network,
    /// Who sends what to whom: `[[flow]]`.
    #[serde(default, rename = "flow", skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// What a paper reported: `[[reference]]`.
    #[serde(default, rename = "reference", skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
}

impl Scenario {
    /// Writes out the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        match &mut self.network {
            Network::Path(path) => path.resolve(),
            Network::Adhoc(adhoc) => adhoc.resolve(),
        }
        for flow in &mut self.flows {
            if flow.transport == Transport::Tcp {
                flow.tcp.get_or_insert_default().resolve();
            }
            let both_ends = flow.back.is_some();
            let aid = if both_ends { flow.aid.clone() } else { Aid::default() };
            flow.receiver_aid.get_or_insert(aid);
        }
    }

    /// Writes each of several alike flows out.
    pub(crate) fn expand_copies(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        let copies = flows.into_iter().flat_map(|flow| {
            let copies = flow.copies as usize;
            std::iter::repeat_n(Flow { copies: 1, ..flow }, copies)
        });
        self.flows = copies.collect();
    }
}
