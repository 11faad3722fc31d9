//! The scenario: everything about a run but its seed.

use serde::{Deserialize, Serialize};

use base::Rate;

use crate::{BitRate, CutSignal, Fault, Flow, Network, Reference, Time, Transport};

/// A scenario file. What [`Scenario::parse`] and [`Scenario::load`] give is checked, and has its
/// defaults written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        let Network::Path(path) = &mut self.network;
        path.link.queue.resolve();
        let overrides = path.overrides.iter_mut().map(|o| &mut o.link);
        for change in overrides.chain(path.parallel.iter_mut().map(|p| &mut p.link)) {
            if let Some(queue) = &mut change.queue {
                queue.resolve();
            }
        }
        let notifies =
            |fault: &Fault| matches!(fault, Fault::Partition(cut) if cut.signal == CutSignal::Rfn);
        if path.faults.iter().any(notifies) {
            path.routers.get_or_insert_default();
        }
        let mut faults = std::mem::take(&mut path.faults);
        for fault in &mut faults {
            if let Fault::Congestion(flood) = fault {
                let BitRate(hop) = path.link_of(flood.hop).rate;
                let twice = BitRate(Rate::from_bps(hop.as_bps().saturating_mul(2)));
                flood.rate.get_or_insert(twice);
            }
        }
        path.faults = faults;
        for flow in &mut self.flows {
            if flow.transport == Transport::Tcp {
                flow.tcp.get_or_insert_default().resolve();
            }
        }
    }

    /// Writes each of several alike flows out.
    pub(crate) fn write_out_copies(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        let copies = flows.into_iter().flat_map(|flow| {
            let copies = flow.copies as usize;
            std::iter::repeat_n(Flow { copies: 1, ..flow }, copies)
        });
        self.flows = copies.collect();
    }
}
