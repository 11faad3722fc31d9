//! Faults of links and radios: each fault of the scenario is a state machine that is woken at its next
//! instant and returns actions.

use driftway_base::{Duration, Instant, Probability, RandomStream, Rate};
use driftway_link::{QueueOnPartition, Side};
use driftway_scenario::{
    BitRate, ChangeTrigger, Congestion, Direction, Fault, HopChange, Interference, InterferenceHop,
    Link, Partition, PartitionHop, PartitionQueue, PartitionSignal, RadioDown, ReorderMode,
    Reordering, Schedule, Spacing, Time,
};

use crate::wired::link_config::{link_delay, packet_bytes};

/// An action of a fault on the network.
#[derive(Clone, Copy, Debug)]
pub enum FaultAction {
    /// Cuts a link, and signals that to the hosts at its ends, or not.
    Cut { link: usize, queue: QueueOnPartition, seen: bool },
    /// Ends this fault's cut of a link, and signals that to the hosts at its ends, or not.
    Heal { link: usize, signal_ends: bool },
    /// Signals to the hosts at the ends of a link that it will be cut.
    SignalFading { link: usize, lead: Duration },
    /// Moves the next frames of a side to the front of its queue.
    MoveToFront { link: usize, side: Side, frames: u32 },
    /// Holds the next frames of a side back and reverses their order.
    Reverse { link: usize, side: Side, frames: u32, max_wait: Duration },
    /// Sends a packet of cross traffic of this size over a link.
    CrossTraffic { link: usize, side: Side, bytes: u32 },
    /// Changes the rate.
    Rate { link: usize, rate: Rate },
    /// Changes the delay.
    Delay { link: usize, delay: driftway_link::Delay },
    /// Begins or ends a flood into a side; with `marks`, all ECN-capable frames are marked
    /// meanwhile.
    Flood { link: usize, side: Side, begins: bool, marks: bool },
    /// Switches the radio of a node off.
    RadioDown { node: usize, drops_queue: bool },
    /// Switches the radio of a node on again.
    RadioUp { node: usize },
}

/// An active fault.
pub enum ActiveFault {
    /// Cuts of a link.
    Partition(PartitionFault),
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
}

/// Outages of the radio of a node.
pub struct RadioDownFault {
    node: usize,
    schedule: Schedule,
    duration: Duration,
    drops_queue: bool,
    fired: u32,
    /// The end of the present outage.
    until: Option<Instant>,
}

impl RadioDownFault {
    fn new(fault: &RadioDown, schedule: Schedule) -> Self {
        let Time(duration) = fault.lasts;
        Self {
            node: fault.node as usize,
            schedule,
            duration,
            drops_queue: fault.queue == PartitionQueue::Drop,
            fired: 0,
            until: None,
        }
    }

    fn next_instant(&self) -> Option<Instant> {
        self.until.or_else(|| self.schedule.nth(self.fired))
    }

    fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        let node = self.node;
        if self.until.take().is_some() {
            return actions.push(FaultAction::RadioUp { node });
        }
        self.fired += 1;
        self.until = Some(now + self.duration);
        actions.push(FaultAction::RadioDown { node, drops_queue: self.drops_queue });
    }
}

/// Cuts of a hop, or of random hops.
pub struct PartitionFault {
    fault: Partition,
    /// Random start times; empty with a schedule.
    random_starts: Vec<Instant>,
    hop_stream: RandomStream,
    links: u32,
    fired: u32,
    /// Link that is cut now, and the end of the cut.
    cut: Option<(usize, Instant)>,
    /// Link of the next cut, if that was signalled in advance.
    announced_link: Option<usize>,
    /// End of the last cut.
    healed_at: Instant,
    loss_stream: RandomStream,
    /// For the second kind of signal, so that its losses do not shift those of the first.
    restored_loss_stream: RandomStream,
    loss_probability: Probability,
}

/// Floods of a hop.
pub struct CongestionFault {
    link: usize,
    side: Side,
    schedule: Schedule,
    duration: Duration,
    bytes: u32,
    gap: Duration,
    marks: bool,
    fired: u32,
    /// Next packet of the current flood, and the flood's end.
    active: Option<(Instant, Instant)>,
}

/// A stream of cross traffic.
pub struct InterferenceStream {
    link: usize,
    side: Side,
    bytes: u32,
    gap: Duration,
    poisson: bool,
    stream: RandomStream,
    next: Instant,
}

/// Changes of a hop.
pub struct ChangeFault {
    link: usize,
    fault: HopChange,
    stream: RandomStream,
    rate: BitRate,
    delay: driftway_scenario::Delay,
    next: Option<Instant>,
}

/// The faults of a scenario, and what they act on.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan<'a> {
    /// The faults.
    pub faults: &'a [Fault],
    /// The links that faults can name: hop 1 is the first.
    pub hops: &'a [Link],
    /// The time within which random times fall.
    pub duration: Time,
    /// The seed of the random streams.
    pub seed: u64,
}

impl FaultPlan<'_> {
    fn hop(&self, hop: u32) -> &Link {
        &self.hops[hop as usize - 1]
    }
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
                all.push(ActiveFault::Partition(PartitionFault::new(fault, plan, number)));
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
                let schedule = fault.schedule();
                all.extend(
                    schedule.map(|schedule| {
                        ActiveFault::RadioDown(RadioDownFault::new(fault, schedule))
                    }),
                );
            }
        }
    }
    all
}

impl ActiveFault {
    /// Returns its kind as in scenarios.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Partition(_) => "partition",
            Self::Congestion(_) => "congestion",
            Self::Reordering { .. } => "reordering",
            Self::Interference(_) => "interference",
            Self::Change(_) => "change",
            Self::RadioDown(_) => "radio-down",
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
        }
    }

    /// Appends its actions at this instant, at most two.
    pub fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        match self {
            Self::Partition(cuts) => cuts.fire(now, actions),
            Self::Congestion(floods) => floods.fire(now, actions),
            Self::Reordering { fault, fired, .. } => {
                *fired += 1;
                let link = fault.hop as usize - 1;
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
            Self::Change(changes) => {
                changes.next = None;
                changes.pick_new_values(actions);
            }
        }
    }

    /// Handles the end of a partition of `link`.
    pub fn on_healed(&mut self, link: usize, actions: &mut Vec<FaultAction>) {
        if let Self::Change(changes) = self
            && changes.link == link
            && changes.fault.after == Some(ChangeTrigger::Partition)
        {
            changes.pick_new_values(actions);
        }
    }

    /// Returns the signal that goes with this fault's cut of a link, while that is cut.
    pub fn cut_signal(&self, link: usize) -> Option<PartitionSignal> {
        match self {
            Self::Partition(cuts) if cuts.cut.is_some_and(|(cut, _)| cut == link) => {
                Some(cuts.fault.signal)
            }
            _ => None,
        }
    }

    /// Returns the notification that the router sends for a packet refused by a link that this
    /// fault has cut; `None`: this fault does not cut that link.
    pub fn draw_notification(&mut self, link: usize) -> Option<PartitionNotification> {
        let signal = self.cut_signal(link)?;
        let Self::Partition(cuts) = self else { return None };
        Some(match signal {
            PartitionSignal::None | PartitionSignal::Link => PartitionNotification::Silent,
            PartitionSignal::IcmpUnreachable
                if cuts.loss_stream.bernoulli(cuts.loss_probability) =>
            {
                PartitionNotification::MessageLost
            }
            PartitionSignal::IcmpUnreachable => PartitionNotification::HostUnreachable,
            PartitionSignal::Rfn => PartitionNotification::RouteFailure,
        })
    }

    /// Returns true if a route notification about `link` is lost where it is generated; `None`:
    /// this fault generates none about that link.
    pub fn draw_notice_loss(&mut self, link: usize, restored: bool) -> Option<bool> {
        match self {
            Self::Partition(cuts) if cuts.may_notify_of(link) => {
                let losses =
                    if restored { &mut cuts.restored_loss_stream } else { &mut cuts.loss_stream };
                Some(losses.bernoulli(cuts.loss_probability))
            }
            _ => None,
        }
    }
}

/// Returns the sending sides of a direction.
const fn sides(direction: Direction) -> &'static [Side] {
    match direction {
        Direction::Forward => &[Side::A],
        Direction::Backward => &[Side::B],
        Direction::Both => &[Side::A, Side::B],
    }
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
    fn new(fault: &Partition, plan: &FaultPlan<'_>, number: u64) -> Self {
        let (Time(duration), seed) = (plan.duration, plan.seed);
        let mut random = Vec::new();
        if fault.schedule().is_none() {
            let mut stream = RandomStream::new(seed, "partition-time", number);
            let count = fault.count.unwrap_or(0);
            let draw = |_| Instant::ZERO + stream.uniform_duration(Duration::ZERO, duration);
            random = (0..count).map(draw).collect();
            random.sort_unstable();
        }
        Self {
            fault: fault.clone(),
            random_starts: random,
            hop_stream: RandomStream::new(seed, "partition-hop", number),
            links: plan.hops.len() as u32,
            fired: 0,
            cut: None,
            announced_link: None,
            healed_at: Instant::ZERO,
            loss_stream: RandomStream::new(seed, "signal-loss", number),
            restored_loss_stream: RandomStream::new(seed, "signal-loss-restored", number),
            loss_probability: Probability::from_f64(fault.signal_loss),
        }
    }

    fn may_notify_of(&self, link: usize) -> bool {
        self.fault.signal == PartitionSignal::Rfn
            && match self.fault.hop {
                PartitionHop::Number(hop) => hop as usize - 1 == link,
                PartitionHop::Random => link < self.links as usize,
            }
    }

    fn nth_start(&self, n: u32) -> Option<Instant> {
        match self.fault.schedule() {
            Some(schedule) => schedule.nth(n),
            None => self.random_starts.get(n as usize).copied(),
        }
    }

    /// Returns the end of the current cut, else the next start. A start during a cut of the same
    /// fault is deferred to its end.
    fn next_instant(&self) -> Option<Instant> {
        self.cut.map(|(_, until)| until).or_else(|| {
            let begins = self.next_start()?;
            let Some(Time(lead)) = self.fault.lead.filter(|_| self.announced_link.is_none()) else {
                return Some(begins);
            };
            let ahead = begins.since(Instant::ZERO).saturating_sub(lead);
            Some((Instant::ZERO + ahead).max(self.healed_at))
        })
    }

    fn next_start(&self) -> Option<Instant> {
        Some(self.nth_start(self.fired)?.max(self.healed_at))
    }

    fn draw_link(&mut self) -> usize {
        match self.fault.hop {
            PartitionHop::Number(hop) => hop as usize - 1,
            PartitionHop::Random => self.hop_stream.uniform_below(u64::from(self.links)) as usize,
        }
    }

    fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        let seen = self.fault.signal == PartitionSignal::Link;
        if let Some((link, _)) = self.cut.take() {
            self.healed_at = now;
            actions.push(FaultAction::Heal { link, signal_ends: seen });
            return;
        }
        if self.fault.lead.is_some()
            && self.announced_link.is_none()
            && let Some(begins) = self.next_start().filter(|begins| *begins > now)
        {
            let link = self.draw_link();
            self.announced_link = Some(link);
            actions.push(FaultAction::SignalFading { link, lead: begins.since(now) });
            return;
        }
        self.fired += 1;
        let link = self.announced_link.take().unwrap_or_else(|| self.draw_link());
        let Time(lasts) = self.fault.lasts;
        self.cut = Some((link, now + lasts));
        let queue = match self.fault.queue {
            PartitionQueue::Wait => QueueOnPartition::Wait,
            PartitionQueue::Drop => QueueOnPartition::Drop,
        };
        actions.push(FaultAction::Cut { link, queue, seen });
    }
}

impl CongestionFault {
    fn new(fault: &Congestion, side: Side, plan: &FaultPlan<'_>) -> Option<Self> {
        let BitRate(rate) = fault.rate.unwrap_or(plan.hop(fault.hop).rate);
        let bytes = packet_bytes(fault.size);
        let Time(lasts) = fault.lasts;
        let gap = rate.transmission_time(bytes);
        let (link, schedule) = (fault.hop as usize - 1, fault.schedule()?);
        let marks = fault.marks;
        Some(Self {
            link,
            side,
            schedule,
            duration: lasts,
            bytes,
            gap,
            marks,
            fired: 0,
            active: None,
        })
    }

    fn next_instant(&self) -> Option<Instant> {
        self.active.map(|(next, end)| next.min(end)).or_else(|| self.schedule.nth(self.fired))
    }

    fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        let (link, side, bytes, marks) = (self.link, self.side, self.bytes, self.marks);
        match self.active {
            Some((_, end)) if end <= now => {
                self.active = None;
                actions.push(FaultAction::Flood { link, side, begins: false, marks });
            }
            Some((_, end)) => {
                self.active = Some((now + self.gap, end));
                actions.push(FaultAction::CrossTraffic { link, side, bytes });
            }
            None => {
                self.fired += 1;
                self.active = Some((now + self.gap, now + self.duration));
                actions.push(FaultAction::Flood { link, side, begins: true, marks });
                actions.push(FaultAction::CrossTraffic { link, side, bytes });
            }
        }
    }
}

impl InterferenceStream {
    /// Creates a stream for each hop and direction concerned.
    fn all(fault: &Interference, plan: &FaultPlan<'_>, number: u64) -> impl Iterator<Item = Self> {
        let Time(gap) = fault.every;
        let sides = sides(fault.direction);
        let concerns = |link: usize, side: Side| match fault.hop {
            InterferenceHop::Number(hop) => link == hop as usize - 1,
            // liu-singh-2001 §V-E: each intermediate hop, except at the sender and the receiver.
            InterferenceHop::Intermediate => match side {
                Side::A => link > 0,
                Side::B => link + 1 < plan.hops.len(),
            },
        };
        let poisson = fault.spacing == Spacing::Poisson;
        let bytes = packet_bytes(fault.size);
        let mut all = Vec::new();
        for link in 0..plan.hops.len() {
            for &side in sides.iter().filter(|side| concerns(link, **side)) {
                let entity = number << 32 | (link as u64) << 1 | u64::from(side == Side::B);
                let mut stream = RandomStream::new(plan.seed, "interference", entity);
                // Streams of several hops start unsynchronized.
                let next = Instant::ZERO + stream.uniform_duration(Duration::ZERO, gap);
                all.push(Self { link, side, bytes, gap, poisson, stream, next });
            }
        }
        all.into_iter()
    }

    fn fire(&mut self, actions: &mut Vec<FaultAction>) {
        let gap = if self.poisson { self.stream.exponential_duration(self.gap) } else { self.gap };
        self.next += gap.max(Duration::from_nanos(1));
        actions.push(FaultAction::CrossTraffic {
            link: self.link,
            side: self.side,
            bytes: self.bytes,
        });
    }
}

impl ChangeFault {
    fn new(fault: &HopChange, plan: &FaultPlan<'_>, number: u64) -> Self {
        let link = plan.hop(fault.hop);
        Self {
            link: fault.hop as usize - 1,
            fault: fault.clone(),
            stream: RandomStream::new(plan.seed, "change", number),
            rate: link.rate,
            delay: link.delay,
            next: fault.at.map(|Time(at)| Instant::ZERO + at),
        }
    }

    /// liu-singh-2001 §V-E: picks one of the listed values that differ from the current one, at
    /// random.
    fn pick_new_values(&mut self, actions: &mut Vec<FaultAction>) {
        let link = self.link;
        if let Some(rate) = draw_other(&self.fault.rate, self.rate, &mut self.stream) {
            self.rate = rate;
            actions.push(FaultAction::Rate { link, rate: rate.0 });
        }
        if let Some(chosen) = draw_other(&self.fault.delay, self.delay, &mut self.stream) {
            self.delay = chosen;
            actions.push(FaultAction::Delay { link, delay: link_delay(chosen) });
        }
    }
}

/// Draws one of `listed` other than the `present` one, uniformly.
fn draw_other<T: Copy + PartialEq>(
    listed: &[T],
    present: T,
    stream: &mut RandomStream,
) -> Option<T> {
    let others = || listed.iter().filter(|value| **value != present);
    let count = others().count() as u64;
    if count == 0 { None } else { others().nth(stream.uniform_below(count) as usize).copied() }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::{Network, Scenario};

    fn faults(text: &str, seed: u64) -> Vec<ActiveFault> {
        let text = format!(
            r#"
            name = "faults"
            duration = "100 s"
            [[flow]]
            from = 0
            to = 1
            application = "ftp"
            [network]
            kind = "path"
            hops = 4
            link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
            {text}
            "#
        );
        let scenario = Scenario::parse("faults.toml", &text, &[]).unwrap();
        let Network::Path(path) = &scenario.network else { panic!("the network is a path") };
        let hops: Vec<Link> = (1..=path.hops).map(|hop| path.hop_link(hop)).collect();
        let duration = scenario.duration;
        active_faults(&FaultPlan { faults: &path.faults, hops: &hops, duration, seed })
    }

    fn fault(kind: &str, more: &str) -> ActiveFault {
        let mut all = faults(&format!("[[network.fault]]\nkind = \"{kind}\"\n{more}"), 1);
        assert_eq!((all.len(), all[0].kind()), (1, kind));
        all.remove(0)
    }

    /// Actions of its next `count` instants, and their times (ms). Time never goes back.
    fn run_turns(fault: &mut ActiveFault, count: usize) -> Vec<(u64, String)> {
        let mut fired = Vec::new();
        let mut last = Instant::ZERO;
        for _ in 0..count {
            let Some(at) = fault.next_instant() else { break };
            assert!(at >= last, "{at:?} after {last:?}");
            last = at;
            let mut actions = Vec::new();
            fault.fire(at, &mut actions);
            assert!((1..=2).contains(&actions.len()), "{actions:?}");
            fired.extend(actions.iter().map(|action| (at.as_millis(), brief(action))));
        }
        fired
    }

    fn saw(seen: bool) -> &'static str {
        if seen { " seen" } else { "" }
    }

    fn brief(action: &FaultAction) -> String {
        match action {
            FaultAction::RadioDown { node, drops_queue } => format!("down {node} {drops_queue}"),
            FaultAction::RadioUp { node } => format!("up {node}"),
            FaultAction::Cut { link, queue, seen } => format!("cut {link} {queue:?}{}", saw(*seen)),
            FaultAction::Heal { link, signal_ends: seen } => format!("heal {link}{}", saw(*seen)),
            FaultAction::SignalFading { link, lead } => format!("fade {link} {}", lead.as_millis()),
            FaultAction::MoveToFront { link, side, frames } => {
                format!("reorder {link} {side:?} {frames}")
            }
            FaultAction::CrossTraffic { link, side, bytes } => {
                format!("foreign {link} {side:?} {bytes}")
            }
            FaultAction::Rate { link, rate } => format!("rate {link} {}", rate.as_bps()),
            FaultAction::Delay { link, delay } => format!("delay {link} {delay:?}"),
            FaultAction::Reverse { link, side, frames, max_wait: at_most } => {
                format!("reverse {link} {side:?} {frames} {}", at_most.as_millis())
            }
            FaultAction::Flood { link, begins, marks: false, .. } => {
                format!("flood {link} {begins}")
            }
            FaultAction::Flood { link, side, begins, .. } => {
                format!("marking {link} {side:?} {begins}")
            }
        }
    }

    fn expect(found: &[(u64, String)], expected: &[(u64, &str)]) {
        let found: Vec<_> = found.iter().map(|(at, what)| (*at, what.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cut_starts_after_its_period_unless_first_is_set() {
        let mut cut = fault("partition", "hop = 2\nevery = \"30 s\"\nlasts = \"5 s\"");
        expect(
            &run_turns(&mut cut, 3),
            &[(30_000, "cut 1 Wait"), (35_000, "heal 1"), (60_000, "cut 1 Wait")],
        );
        let more = "hop = 4\nevery = \"30 s\"\nfirst = \"1 s\"\nlasts = \"5 s\"\ncount = 2\nqueue = \"drop\"";
        let mut cut = fault("partition", more);
        expect(
            &run_turns(&mut cut, 9),
            &[(1_000, "cut 3 Drop"), (6_000, "heal 3"), (31_000, "cut 3 Drop"), (36_000, "heal 3")],
        );
        assert_eq!(cut.next_instant(), None);
    }

    #[test]
    fn overlapping_random_cuts_are_sequential() {
        let more = "hop = \"random\"\ncount = 20\nlasts = \"5 s\"";
        let mut cut = fault("partition", more);
        let fired = run_turns(&mut cut, 100);
        assert_eq!(fired.len(), 40);
        for pair in fired.chunks(2) {
            assert_eq!(pair[1].0 - pair[0].0, 5_000);
            let link = pair[0].1.strip_prefix("cut ").unwrap().strip_suffix(" Wait").unwrap();
            assert_eq!(pair[1].1, format!("heal {link}"));
        }
    }

    #[test]
    fn only_the_fault_that_cuts_a_link_notifies() {
        let notification = |more: &str| {
            let mut cut =
                fault("partition", &format!("hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\n{more}"));
            let before = cut.draw_notification(1);
            run_turns(&mut cut, 1);
            let (during, elsewhere) = (cut.draw_notification(1), cut.draw_notification(0));
            run_turns(&mut cut, 1);
            assert_eq!((before, elsewhere, cut.draw_notification(1)), (None, None, None));
            during
        };
        assert_eq!(notification(""), Some(PartitionNotification::HostUnreachable));
        assert_eq!(notification("signal_loss = 1"), Some(PartitionNotification::MessageLost));
        assert_eq!(notification("signal = \"none\""), Some(PartitionNotification::Silent));
        assert_eq!(
            notification("signal = \"rfn\"\nsignal_loss = 1"),
            Some(PartitionNotification::RouteFailure)
        );
    }

    #[test]
    fn losses_of_rfns_and_rrns_are_independent() {
        let more = "hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\nsignal = \"rfn\"\nsignal_loss = 0.5";
        let losses = |restored: &[bool], of: bool| {
            let mut cut = fault("partition", more);
            let drawn = restored.iter().map(|r| (*r, cut.draw_notice_loss(1, *r).unwrap()));
            drawn.filter(|(r, _)| *r == of).map(|(_, lost)| lost).collect::<Vec<_>>()
        };
        let alone = losses(&[false; 100], false);
        assert_eq!(losses(&[[false, true]; 100].concat(), false), alone);
        let lost = alone.iter().filter(|lost| **lost).count();
        assert!((30..=70).contains(&lost), "four standard deviations off: {lost}");
        assert_ne!(losses(&[true; 100], true), alone);
        // Another hop; another signal; any hop.
        assert_eq!(fault("partition", more).draw_notice_loss(2, false), None);
        let silent = more.replace("rfn", "none");
        assert_eq!(fault("partition", &silent).draw_notice_loss(1, false), None);
        let random = more.replace("hop = 2", "hop = \"random\"").replace("0.5", "1.0");
        assert_eq!(fault("partition", &random).draw_notice_loss(3, true), Some(true));
        assert_eq!(
            fault("partition", &random).draw_notice_loss(4, true),
            None,
            "on a parallel route"
        );
    }

    #[test]
    fn signals_are_lost_with_their_probability() {
        let more = "hop = 2\nfirst = \"1 s\"\nlasts = \"5 s\"\nsignal_loss = 0.2";
        let mut cut = fault("partition", more);
        run_turns(&mut cut, 1);
        let lost = (0..10_000)
            .filter(|_| cut.draw_notification(1) == Some(PartitionNotification::MessageLost))
            .count();
        assert!((1840..=2160).contains(&lost), "four standard deviations off: {lost}");
    }

    #[test]
    fn the_ends_of_a_hop_are_signalled_a_cut_and_its_lead() {
        let more = "hop = 2\nevery = \"10 s\"\nlasts = \"8 s\"\nsignal = \"link\"";
        let seen = [(10_000, "cut 1 Wait seen"), (18_000, "heal 1 seen")];
        expect(&run_turns(&mut fault("partition", more), 2), &seen);
        let ahead =
            |lead| run_turns(&mut fault("partition", &format!("{more}\nlead = \"{lead}\"")), 5);
        let [cut, heal] = seen;
        let next = (20_000, "cut 1 Wait seen");
        expect(&ahead("1 s"), &[(9_000, "fade 1 1000"), cut, heal, (19_000, "fade 1 1000"), next]);
        // A cut sooner than the lead time is signalled as early as possible.
        expect(&ahead("99 s"), &[(0, "fade 1 10000"), cut, heal, (18_000, "fade 1 2000"), next]);
    }

    /// A cut is signalled at the link where it happens, and random hops are those of cuts without
    /// signals.
    #[test]
    fn random_cuts_are_where_they_were_signalled() {
        let cut = "hop = \"random\"\nevery = \"10 s\"\nlasts = \"1 s\"";
        let places = |more: &str, what: &str| {
            let fired = run_turns(&mut fault("partition", &format!("{cut}\n{more}")), 24);
            let place = |(_, action): &(u64, String)| action.split(' ').nth(1).unwrap().to_owned();
            let of = fired.iter().filter(|(_, action)| action.starts_with(what));
            of.take(8).map(place).collect::<Vec<_>>()
        };
        let seen = "signal = \"link\"\nlead = \"2 s\"";
        assert_eq!(places(seen, "fade"), places(seen, "cut"));
        assert_eq!(places(seen, "cut"), places("", "cut"));
    }

    /// 250 bytes at twice 1 Mbit/s: a packet per millisecond.
    #[test]
    fn a_flood_has_twice_the_rate_of_its_hop() {
        let more = "hop = 3\nfirst = \"1 s\"\nevery = \"10 s\"\nlasts = \"3 ms\"\nsize = \"250 B\"";
        let mut flood = fault("congestion", more);
        expect(
            &run_turns(&mut flood, 5),
            &[
                (1_000, "flood 2 true"),
                (1_000, "foreign 2 A 250"),
                (1_001, "foreign 2 A 250"),
                (1_002, "foreign 2 A 250"),
                (1_003, "flood 2 false"),
                (11_000, "flood 2 true"),
                (11_000, "foreign 2 A 250"),
            ],
        );
        let mut slow = fault("congestion", &format!("{more}\nrate = \"1 Mbit/s\""));
        expect(
            &run_turns(&mut slow, 3)[1..],
            &[(1_000, "foreign 2 A 250"), (1_002, "foreign 2 A 250"), (1_003, "flood 2 false")],
        );
    }

    #[test]
    fn reordering_recurs() {
        let mut fault = fault("reordering", "hop = 2\nevery = \"10 s\"");
        expect(&run_turns(&mut fault, 2), &[(10_000, "reorder 1 A 4"), (20_000, "reorder 1 A 4")]);
    }

    #[test]
    fn reordering_in_reverse_has_a_time_limit() {
        let more = "hop = 2\nevery = \"10 s\"\npackets = 3\nhow = \"reverse\"";
        let fault_of = |more: &str| run_turns(&mut fault("reordering", more), 1);
        expect(&fault_of(more), &[(10_000, "reverse 1 A 3 5000")]);
        expect(
            &fault_of(&format!("{more}\nat_most = \"2 s\"\ndirection = \"both\"")),
            &[(10_000, "reverse 1 A 3 2000"), (10_000, "reverse 1 B 3 2000")],
        );
    }

    #[test]
    fn a_marking_flood_marks_from_start_to_end() {
        let more = "hop = 3\nfirst = \"1 s\"\nlasts = \"1 ms\"\nsize = \"250 B\"\nmarks = true\n\
                    direction = \"backward\"";
        expect(
            &run_turns(&mut fault("congestion", more), 3),
            &[
                (1_000, "marking 2 B true"),
                (1_000, "foreign 2 B 250"),
                (1_001, "marking 2 B false"),
            ],
        );
    }

    #[test]
    fn interference_has_one_stream_per_hop_and_direction() {
        let links = |more: &str| {
            let text =
                format!("[[network.fault]]\nkind = \"interference\"\nevery = \"10 ms\"\n{more}\n");
            let streams = faults(&text, 1);
            let places = streams.iter().map(|stream| match stream {
                ActiveFault::Interference(stream) => (stream.link, stream.side),
                _ => unreachable!("{}", stream.kind()),
            });
            places.collect::<Vec<_>>()
        };
        assert_eq!(links("hop = 1"), [(0, Side::A)]);
        assert_eq!(links("hop = 4\ndirection = \"backward\""), [(3, Side::B)]);
        assert_eq!(
            links("hop = \"intermediate\"\ndirection = \"both\""),
            [(0, Side::B), (1, Side::A), (1, Side::B), (2, Side::A), (2, Side::B), (3, Side::A)]
        );
    }

    #[test]
    fn streams_start_unsynchronized_and_keep_their_gap() {
        let text = "[[network.fault]]\nkind = \"interference\"\nevery = \"10 ms\"\n\
                    hop = \"intermediate\"\nsize = \"77 B\"\n";
        let mut streams = faults(text, 1);
        let mut begins: Vec<_> =
            streams.iter().map(|stream| stream.next_instant().unwrap()).collect();
        let first = begins[0];
        begins.sort();
        begins.dedup();
        assert_eq!(begins.len(), 3);
        let fired = run_turns(&mut streams[0], 3);
        assert!(fired.iter().all(|(_, what)| what == "foreign 1 A 77"), "{fired:?}");
        assert_eq!(streams[0].next_instant(), Some(first + Duration::from_millis(30)));
    }

    #[test]
    fn poisson_gaps_have_the_configured_mean() {
        let more = "every = \"10 ms\"\nhop = 2\nspacing = \"poisson\"";
        let mut stream = fault("interference", more);
        run_turns(&mut stream, 10_000);
        let end = stream.next_instant().unwrap().as_millis();
        assert!((96_000..=104_000).contains(&end), "four standard deviations off: {end}");
    }

    #[test]
    fn a_timed_change_happens_once() {
        let more =
            "hop = 2\nat = \"5 s\"\nrate = [\"1 Mbit/s\", \"2 Mbit/s\"]\ndelay = [\"10 ms\"]";
        let mut change = fault("change", more);
        let mut actions = Vec::new();
        change.on_healed(1, &mut actions);
        assert!(actions.is_empty(), "it is not triggered by a partition");
        expect(&run_turns(&mut change, 1), &[(5_000, "rate 1 2000000")]);
        assert_eq!(change.next_instant(), None);
    }

    #[test]
    fn a_change_after_partitions_picks_another_value_each_time() {
        let text = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nevery = \"10 s\"\nlasts = \"1 s\"\n\
                    [[network.fault]]\nkind = \"change\"\nhop = 2\nafter = \"partition\"\n\
                    rate = [\"1 Mbit/s\", \"2 Mbit/s\", \"3 Mbit/s\"]\n";
        let mut change = faults(text, 1).remove(1);
        assert_eq!(change.next_instant(), None);
        let mut actions = Vec::new();
        change.on_healed(0, &mut actions);
        assert!(actions.is_empty(), "another hop");
        let mut present = 1_000_000;
        let mut picked = Vec::new();
        for _ in 0..100 {
            change.on_healed(1, &mut actions);
            let [FaultAction::Rate { link: 1, rate }] = actions[..] else { panic!("{actions:?}") };
            assert_ne!(rate.as_bps(), present);
            present = rate.as_bps();
            picked.push(present);
            actions.clear();
        }
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked, [1_000_000, 2_000_000, 3_000_000]);
    }

    /// Random draws are independent for each fault, and depend on the seed.
    #[test]
    fn random_cuts_depend_on_seed_and_fault() {
        let cut = "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\ncount = 9\nlasts = \"1 s\"\n";
        let mut one = faults(cut, 1);
        let mut two = faults(&format!("{cut}{cut}"), 1);
        let mut other = faults(cut, 2);
        let first = run_turns(&mut one[0], 20);
        assert_eq!(run_turns(&mut two[0], 20), first);
        assert_ne!(run_turns(&mut two[1], 20), first);
        assert_ne!(run_turns(&mut other[0], 20), first);
    }
}
