//! The faults of a network, and the actions that are due.

use driftway_base::{FaultId, Instant, LinkId};
use driftway_scenario::{FaultKind, PartitionSignal};
use typed_index_collections::TiVec;

use super::action::FaultAction;
use super::active::ActiveFault;
use super::partition::PartitionNotification;

/// The faults of a network, and their actions that are still to be applied.
pub struct Faults {
    active: TiVec<FaultId, ActiveFault>,
    /// Actions with the kind of their fault, the next one last.
    planned: Vec<(FaultKind, FaultAction)>,
    /// The allocation is reused.
    new_actions: Vec<FaultAction>,
}

impl Faults {
    /// Takes the faults of a network.
    pub fn new(active: Vec<ActiveFault>) -> Self {
        let active = active.into();
        Self { active, planned: Vec::with_capacity(4), new_actions: Vec::with_capacity(4) }
    }

    /// Returns the faults.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = FaultId> + use<> {
        self.active.keys()
    }

    /// Returns the time of the next action of a fault.
    pub fn next_instant(&self, fault: FaultId) -> Option<Instant> {
        self.active[fault].next_instant()
    }

    /// Plans the actions of a fault at this instant before those that are already planned; returns their
    /// number.
    pub fn fire(&mut self, fault: FaultId, now: Instant) -> usize {
        let fault = &mut self.active[fault];
        fault.fire(now, &mut self.new_actions);
        let kind = fault.kind();
        self.plan(kind)
    }

    /// Plans the actions that follow the end of a link's cut; returns their number.
    pub fn on_healed(&mut self, link: LinkId) -> usize {
        let mut planned = 0;
        for number in self.active.keys().rev() {
            let fault = &mut self.active[number];
            fault.on_healed(link, &mut self.new_actions);
            let kind = fault.kind();
            planned += self.plan(kind);
        }
        planned
    }

    fn plan(&mut self, kind: FaultKind) -> usize {
        let count = self.new_actions.len();
        self.planned.extend(self.new_actions.drain(..).rev().map(|action| (kind, action)));
        count
    }

    /// Returns the next planned action, with the kind of its fault.
    pub fn next_action(&mut self) -> Option<(FaultKind, FaultAction)> {
        self.planned.pop()
    }

    /// Returns the signal that goes with the cut of a link.
    pub fn cut_signal(&self, link: LinkId) -> Option<PartitionSignal> {
        self.active.iter().find_map(|fault| fault.cut_signal(link))
    }

    /// Returns the notification that a router sends for a packet refused by a cut link.
    pub fn draw_notification(&mut self, link: LinkId) -> Option<PartitionNotification> {
        self.active.iter_mut().find_map(|fault| fault.draw_notification(link))
    }

    /// Returns true if a route notification about a link is lost where it is generated.
    pub fn draw_notice_loss(&mut self, link: LinkId, restored: bool) -> bool {
        let lost = |fault: &mut ActiveFault| fault.draw_notice_loss(link, restored);
        self.active.iter_mut().find_map(lost).unwrap_or(false)
    }
}
