//! The faults at work: each one is a state machine that is woken at its next instant and returns
//! actions.

use driftway_base::{Instant, LinkId};
use driftway_scenario::{
    ChangeTrigger, Fault, FaultKind, OutagePlace, PartitionSignal, ReorderMode, Reordering,
    Schedule,
};

use super::action::{FaultAction, sides};
use super::change::ChangeFault;
use super::congestion::CongestionFault;
use super::fading::FadingFault;
use super::interference::InterferenceStream;
use super::partition::{PartitionFault, PartitionNotification};
use super::plan::{FaultPlan, link_of};
use super::radio_down::RadioDownFault;

/// An active fault.
pub enum ActiveFault {
    /// Cuts of a link.
    Partition(Box<PartitionFault>),
    /// Floods of cross traffic.
    Congestion(CongestionFault),
    /// Reordering of frames.
    Reordering { fault: Reordering, schedule: Schedule, fired: u32 },
    /// A stream of cross traffic.
    Interference(InterferenceStream),
    /// Changes of rate or delay.
    Change(ChangeFault),
    /// Outages of a radio.
    RadioDown(RadioDownFault),
    /// Warnings of outages that do not occur.
    Fading(FadingFault),
}

/// Creates the active faults, one for each stream of a fault.
pub fn active_faults(plan: &FaultPlan<'_>) -> Vec<ActiveFault> {
    let mut all = Vec::new();
    for (place, fault) in plan.faults.iter().enumerate() {
        // A fault's random streams are keyed by its index among those of its kind, so that another
        // kind of fault does not shift them.
        let kind = std::mem::discriminant(fault);
        let before = plan.faults.iter().take(place);
        let number = before.filter(|other| std::mem::discriminant(*other) == kind).count() as u64;
        match fault {
            Fault::Partition(fault) => {
                let cuts = Box::new(PartitionFault::new(fault, plan, number));
                all.push(ActiveFault::Partition(cuts));
            }
            Fault::Congestion(fault) => {
                let sides = sides(fault.direction).iter();
                let floods = sides.filter_map(|side| CongestionFault::new(fault, *side, plan));
                all.extend(floods.map(ActiveFault::Congestion));
            }
            Fault::Reordering(fault) => {
                all.extend(fault.schedule().map(|schedule| ActiveFault::Reordering {
                    fault: fault.clone(),
                    schedule,
                    fired: 0,
                }));
            }
            Fault::Interference(fault) => {
                let streams = InterferenceStream::all(fault, plan, number);
                all.extend(streams.map(ActiveFault::Interference));
            }
            Fault::Change(fault) => {
                all.push(ActiveFault::Change(ChangeFault::new(fault, plan, number)));
            }
            Fault::RadioDown(fault) => {
                all.extend(fault.schedule().map(|schedule| {
                    ActiveFault::RadioDown(RadioDownFault::new(fault, schedule, plan, number))
                }));
            }
            Fault::Outage(fault) => {
                let at = |place: &OutagePlace| match *place {
                    OutagePlace::Hop(hop) => {
                        let cuts = PartitionFault::of_outage(fault, hop, plan, number)?;
                        Some(ActiveFault::Partition(Box::new(cuts)))
                    }
                    OutagePlace::Radio(node) => {
                        RadioDownFault::of_outage(fault, node, plan, number)
                            .map(ActiveFault::RadioDown)
                    }
                };
                all.extend(fault.places.iter().filter_map(at));
            }
            Fault::Fading(fault) => {
                all.extend(FadingFault::new(fault, plan, number).map(ActiveFault::Fading));
            }
        }
    }
    all
}

impl ActiveFault {
    /// Returns its kind.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Partition(cuts) => cuts.kind(),
            Self::Congestion(_) => FaultKind::Congestion,
            Self::Reordering { .. } => FaultKind::Reordering,
            Self::Interference(_) => FaultKind::Interference,
            Self::Change(_) => FaultKind::Change,
            Self::RadioDown(outages) => outages.kind(),
            Self::Fading(_) => FaultKind::Fading,
        }
    }

    /// Returns the time of its next action.
    pub fn next_instant(&self) -> Option<Instant> {
        match self {
            Self::Partition(cuts) => cuts.next_instant(),
            Self::Congestion(floods) => floods.next_instant(),
            Self::Reordering { schedule, fired, .. } => schedule.nth(*fired),
            Self::Interference(stream) => Some(stream.next),
            Self::Change(changes) => changes.next,
            Self::RadioDown(outages) => outages.next_instant(),
            Self::Fading(warnings) => warnings.next_instant(),
        }
    }

    /// Appends its actions at this instant, at most two.
    pub fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        match self {
            Self::Partition(cuts) => cuts.fire(now, actions),
            Self::Congestion(floods) => floods.fire(now, actions),
            Self::Reordering { fault, fired, .. } => {
                *fired += 1;
                let link = link_of(fault.hop);
                for &side in sides(fault.direction) {
                    let (frames, at_most) = (fault.packets, fault.at_most());
                    actions.push(match fault.how {
                        ReorderMode::Front => FaultAction::MoveToFront { link, side, frames },
                        ReorderMode::Reverse => {
                            FaultAction::Reverse { link, side, frames, max_wait: at_most }
                        }
                    });
                }
            }
            Self::Interference(stream) => stream.fire(actions),
            Self::RadioDown(outages) => outages.fire(now, actions),
            Self::Fading(warnings) => warnings.fire(actions),
            Self::Change(changes) => {
                changes.next = None;
                changes.pick_new_values(actions);
            }
        }
    }

    /// Handles the end of a partition of `link`.
    pub fn on_healed(&mut self, link: LinkId, actions: &mut Vec<FaultAction>) {
        if let Self::Change(changes) = self
            && changes.link == link
            && changes.fault.after == Some(ChangeTrigger::Partition)
        {
            changes.pick_new_values(actions);
        }
    }

    /// Returns the signal that goes with this fault's cut of a link, while that is cut.
    pub fn cut_signal(&self, link: LinkId) -> Option<PartitionSignal> {
        match self {
            Self::Partition(cuts) => cuts.cut_signal(link),
            _ => None,
        }
    }

    /// Returns the notification that the router sends for a packet refused by a link that this
    /// fault has cut; `None`: this fault does not cut that link.
    pub fn draw_notification(&mut self, link: LinkId) -> Option<PartitionNotification> {
        match self {
            Self::Partition(cuts) => cuts.draw_notification(link),
            _ => None,
        }
    }

    /// Returns true if a route notification about `link` is lost where it is generated; `None`:
    /// this fault generates none about that link.
    pub fn draw_notice_loss(&mut self, link: LinkId, restored: bool) -> Option<bool> {
        match self {
            Self::Partition(cuts) => cuts.draw_notice_loss(link, restored),
            _ => None,
        }
    }
}
