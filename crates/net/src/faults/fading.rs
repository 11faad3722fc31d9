//! False warnings: hosts are warned of outages that do not occur.

use driftway_base::{Duration, Instant, NodeId};
use driftway_scenario::{FalseWarning, FaultKind, Schedule, Time};

use super::action::FaultAction;
use super::outage_times::Deviation;
use super::plan::{FaultPlan, link_of};

/// False warnings of outages of a link, or of the radio of a node.
pub struct FadingFault {
    warning: FaultAction,
    schedule: Schedule,
    deviation: Deviation,
    fired: u32,
}

impl FadingFault {
    /// `None` in a scenario that was not checked.
    pub(super) fn new(fault: &FalseWarning, plan: &FaultPlan<'_>, number: u64) -> Option<Self> {
        let (Time(lead), Time(jitter)) = (fault.lead, fault.jitter);
        Some(Self {
            warning: warning(fault, lead)?,
            schedule: fault.schedule()?,
            deviation: Deviation { seed: plan.seed, fault: (FaultKind::Fading, number), jitter },
            fired: 0,
        })
    }

    pub(super) fn next_instant(&self) -> Option<Instant> {
        Some(self.schedule.nth(self.fired)? + self.deviation.delay(self.fired))
    }

    pub(super) fn fire(&mut self, actions: &mut Vec<FaultAction>) {
        self.fired += 1;
        actions.push(self.warning);
    }
}

fn warning(fault: &FalseWarning, lead: Duration) -> Option<FaultAction> {
    let of_hop = |hop: u32| FaultAction::SignalFading { link: link_of(hop), lead };
    let of_node = |node: u32| FaultAction::SignalRadioFading { node: NodeId::new(node), lead };
    fault.hop.map(of_hop).or(fault.node.map(of_node))
}
