//! Cuts of a hop, or of random hops.

use driftway_base::{Duration, Instant, LinkId, Probability, RandomStream};
use driftway_link::QueueOnPartition;
use driftway_scenario::{
    FaultKind, Outage, Partition, PartitionHop, PartitionQueue, PartitionSignal, Time,
};

use super::action::FaultAction;
use super::outage_times::{Deviation, OutageEvent, Outages, Starts, Warnings};
use super::plan::{FaultPlan, link_of};

/// Cuts of a hop, or of random hops.
pub struct PartitionFault {
    kind: FaultKind,
    fault: Partition,
    outages: Outages,
    hop_stream: RandomStream,
    links: u32,
    /// The link that is cut now.
    cut_link: Option<LinkId>,
    /// Link of the next cut, if that was signalled in advance.
    announced_link: Option<LinkId>,
    loss_stream: RandomStream,
    /// The stream of the second kind of signal, whose losses do not shift those of the first.
    restored_loss_stream: RandomStream,
    loss_probability: Probability,
}

/// Notification that a router sends for a refused packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionNotification {
    /// No notification.
    Silent,
    /// A message that is lost immediately.
    MessageLost,
    /// ICMP host unreachable.
    HostUnreachable,
    /// A route failure notification (RFN), sent by the router's feedback.
    RouteFailure,
}

impl PartitionFault {
    pub(super) fn new(fault: &Partition, plan: &FaultPlan<'_>, number: u64) -> Self {
        Self::with_starts(FaultKind::Partition, fault, starts(fault, plan, number), plan, number)
    }

    /// Creates the outages of a hop. `None` in a scenario that was not checked.
    pub(super) fn of_outage(
        outage: &Outage,
        hop: u32,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> Option<Self> {
        let starts = Starts::of_outage(outage)?;
        Some(Self::with_starts(FaultKind::Outage, &outage.of_hop(hop), starts, plan, number))
    }

    fn with_starts(
        kind: FaultKind,
        fault: &Partition,
        starts: Starts,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> Self {
        let (lasts, Time(jitter), seed) = (fault.lasts.bounds(), fault.jitter, plan.seed);
        let loss_probability = Probability::from_f64(fault.signal_loss);
        let warnings = fault.lead.map(|Time(lead)| Warnings { lead, loss_probability });
        let deviation = Deviation { seed, fault: (kind, number), jitter };
        let (loss, restored_loss) = match kind {
            FaultKind::Outage => ("outage-signal-loss", "outage-signal-loss-restored"),
            _ => ("signal-loss", "signal-loss-restored"),
        };
        Self {
            kind,
            fault: fault.clone(),
            outages: Outages::new(starts, deviation, lasts, warnings),
            hop_stream: RandomStream::new(seed, "partition-hop", number),
            links: plan.hops.len() as u32,
            cut_link: None,
            announced_link: None,
            loss_stream: RandomStream::new(seed, loss, number),
            restored_loss_stream: RandomStream::new(seed, restored_loss, number),
            loss_probability,
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
        let signals = self.fault.signal == PartitionSignal::Link;
        match self.outages.advance(now) {
            OutageEvent::Warning(lead) => {
                let link = self.draw_link();
                self.announced_link = Some(link);
                actions.push(FaultAction::SignalFading { link, lead });
            }
            OutageEvent::Begins => {
                let link = self.announced_link.take().unwrap_or_else(|| self.draw_link());
                self.cut_link = Some(link);
                let queue = match self.fault.queue {
                    PartitionQueue::Wait => QueueOnPartition::Wait,
                    PartitionQueue::Drop => QueueOnPartition::Drop,
                };
                actions.push(FaultAction::Cut { link, queue, signals });
            }
            OutageEvent::Ends => {
                let heal = |link| FaultAction::Heal { link, signals };
                actions.extend(self.cut_link.take().map(heal));
            }
        }
    }

    /// Returns the signal that goes with the cut of a link, while that is cut.
    pub(super) fn cut_signal(&self, link: LinkId) -> Option<PartitionSignal> {
        (self.cut_link == Some(link)).then_some(self.fault.signal)
    }

    pub(super) fn draw_notification(&mut self, link: LinkId) -> Option<PartitionNotification> {
        Some(match self.cut_signal(link)? {
            PartitionSignal::None | PartitionSignal::Link => PartitionNotification::Silent,
            PartitionSignal::IcmpUnreachable
                if self.loss_stream.bernoulli(self.loss_probability) =>
            {
                PartitionNotification::MessageLost
            }
            PartitionSignal::IcmpUnreachable => PartitionNotification::HostUnreachable,
            PartitionSignal::Rfn => PartitionNotification::RouteFailure,
        })
    }

    pub(super) fn draw_notice_loss(&mut self, link: LinkId, restored: bool) -> Option<bool> {
        if !self.may_notify_of(link) {
            return None;
        }
        let losses = if restored { &mut self.restored_loss_stream } else { &mut self.loss_stream };
        Some(losses.bernoulli(self.loss_probability))
    }

    fn may_notify_of(&self, link: LinkId) -> bool {
        self.fault.signal == PartitionSignal::Rfn
            && match self.fault.hop {
                PartitionHop::Number(hop) => link_of(hop) == link,
                PartitionHop::Random => link.number() < self.links,
            }
    }

    fn draw_link(&mut self) -> LinkId {
        match self.fault.hop {
            PartitionHop::Number(hop) => link_of(hop),
            PartitionHop::Random => {
                LinkId::new(self.hop_stream.uniform_below(self.links.into()) as u32)
            }
        }
    }
}

/// The scheduled starts, or random ones.
fn starts(fault: &Partition, plan: &FaultPlan<'_>, number: u64) -> Starts {
    if let Some(schedule) = fault.schedule() {
        return Starts::Scheduled(schedule);
    }
    let Time(duration) = plan.duration;
    let mut stream = RandomStream::new(plan.seed, "partition-time", number);
    let draw = |_| Instant::ZERO + stream.uniform_duration(Duration::ZERO, duration);
    let mut random: Vec<_> = (0..fault.count.unwrap_or(0)).map(draw).collect();
    random.sort_unstable();
    Starts::Listed(random)
}
