//! Outages of the radio of a node.

use driftway_base::{Instant, NodeId, Probability};
use driftway_scenario::{PartitionQueue, RadioDown, RadioSignal, Schedule, Time};

use super::action::FaultAction;
use super::outage_times::{Deviation, OutageEvent, OutageKind, Outages, Starts, Warnings};
use super::plan::FaultPlan;

/// Outages of the radio of a node.
pub struct RadioDownFault {
    node: NodeId,
    outages: Outages,
    drops_queue: bool,
    signals: bool,
}

impl RadioDownFault {
    pub(super) fn new(
        fault: &RadioDown,
        schedule: Schedule,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> Self {
        let (lasts, Time(jitter)) = (fault.lasts.bounds(), fault.jitter);
        let missing = Probability::from_f64(fault.signal_loss);
        let warnings = fault.lead.map(|Time(lead)| Warnings { lead, missing });
        let deviation =
            Deviation { seed: plan.seed, fault: (OutageKind::RadioDown, number), jitter };
        Self {
            node: NodeId::new(fault.node),
            outages: Outages::new(Starts::Scheduled(schedule), deviation, lasts, warnings),
            drops_queue: fault.queue == PartitionQueue::Drop,
            signals: fault.signal == RadioSignal::Link,
        }
    }

    pub(super) fn next_instant(&self) -> Option<Instant> {
        self.outages.next_instant()
    }

    pub(super) fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        let Self { node, drops_queue, signals, .. } = *self;
        actions.push(match self.outages.advance(now) {
            OutageEvent::Warning(lead) => FaultAction::SignalRadioFading { node, lead },
            OutageEvent::Begins => FaultAction::RadioDown { node, drops_queue, signals },
            OutageEvent::Ends => FaultAction::RadioUp { node, signals },
        });
    }
}
