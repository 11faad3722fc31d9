//! Outages of the radio of a node.

use driftway_base::{Instant, NodeId, Probability};
use driftway_scenario::{
    FaultKind, Outage, PartitionQueue, RadioDown, RadioSignal, Schedule, Time,
};

use super::action::FaultAction;
use super::outage_times::{Deviation, OutageEvent, Outages, Starts, Warnings};
use super::plan::FaultPlan;

/// Outages of the radio of a node.
pub struct RadioDownFault {
    kind: FaultKind,
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
        Self::with_starts(FaultKind::RadioDown, fault, Starts::Scheduled(schedule), plan, number)
    }

    /// Creates the outages of a node's radios. `None` in a scenario that was not checked.
    pub(super) fn of_outage(
        outage: &Outage,
        node: u32,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> Option<Self> {
        let starts = Starts::of_outage(outage)?;
        Some(Self::with_starts(FaultKind::Outage, &outage.of_radio(node), starts, plan, number))
    }

    fn with_starts(
        kind: FaultKind,
        fault: &RadioDown,
        starts: Starts,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> Self {
        let (lasts, Time(jitter)) = (fault.lasts.bounds(), fault.jitter);
        let loss_probability = Probability::from_f64(fault.signal_loss);
        let warnings = fault.lead.map(|Time(lead)| Warnings { lead, loss_probability });
        let deviation = Deviation { seed: plan.seed, fault: (kind, number), jitter };
        Self {
            kind,
            node: NodeId::new(fault.node),
            outages: Outages::new(starts, deviation, lasts, warnings),
            drops_queue: fault.queue == PartitionQueue::Drop,
            signals: fault.signal == RadioSignal::Link,
        }
    }

    /// Returns its kind.
    pub(super) const fn kind(&self) -> FaultKind {
        self.kind
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
