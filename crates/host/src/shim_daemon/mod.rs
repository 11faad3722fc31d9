//! The shim at work below this host's own TCP.
//!
//! The kernel stops the host's TCP packets, and the ICMP errors that it gets, right below TCP: what
//! leaves before connection tracking, routing of the device and segmentation are over, what arrives
//! when the firewall has let it in. It asks a [`Queue`](queue::Queue) what is to become of each. What
//! asks is a table of nf_tables that belongs to this process: however it ends, the kernel removes the
//! table, and until it has done so lets pass what nobody takes. No route, rule, address, device or
//! setting is changed, so there is nothing to be put back.

mod dead_man_switch;
mod carrier_acks;
mod inject;
mod route_monitor;
mod nfnetlink;
mod owning_process;
mod parked;
mod privileges;
mod nfqueue;
mod rules;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use driftway_base::{Duration, FlowKey, Instant, Signal, SignalKind};
use driftway_shim::{Config, Counts, PacketDisposition, FlowStatus, Shim, PacketDestination};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use tracing::{debug, info, warn};

pub use owning_process::owning_process;
pub use privileges::{DedicatedUser, raise_priority, drop_all_privileges, drop_privileges, missing_capability};
pub use unseen::UnseenCounts;

use crate::RealClock;
use dead_man_switch::DeadManSwitch;
use carrier_acks::{CarrierAcks, ExitAction, flow_of};
use inject::Injector;
use route_monitor::{RouteMonitor, RouteStatus};
use parked::ParkedPackets;
use nfqueue::{HOOK_LOCAL_OUT, HOOK_POST_ROUTING, NfQueue, QueuedPacket};
use rules::Rules;
use unseen::FragmentCounts;

/// Packets that are worked off before their verdicts go to the kernel.
const BATCH: usize = 64;
/// Whoever asks waits no longer than this for somebody who works.
const ANSWER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);
/// The longest IP and TCP headers (bytes): nothing behind them is ever changed.
const MAX_HEADERS_LEN: usize = 120;

/// How long an orderly end waits for what the shim keeps to leave.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// What it is to do.
#[derive(Clone, Debug, Default)]
pub struct ShimSettings {
    /// The interfaces whose connections it carries; none named: all but the loopback one.
    pub interfaces: Vec<String>,
    /// How.
    pub config: Config,
}

/// The shim below the TCP of a network namespace, from [`start`](Field::start) until it is dropped.
pub struct ShimDaemon {
    // In this order: while the rules are there, the queue has to be, or what is in it is dropped.
    rules: Rules,
    queue: NfQueue,
    injector: Injector,
    carrier_acks: CarrierAcks,
    /// Flows of which something found no carrier, and whether one had taken it; to be looked at.
    missing_carriers: BTreeMap<FlowKey, bool>,
    parked: ParkedPackets,
    routes: RouteMonitor,
    dead_man_switch: DeadManSwitch,
    /// Is called each time that the rules are told that we work.
    heartbeat: Box<dyn FnMut() + Send>,
    shim: Shim,
    clock: RealClock,
    counts: DaemonCounts,
    /// Before it began.
    fragments_at_start: FragmentCounts,
    unseen: UnseenCounts,
    /// Outages that had begun and were survived when that was last told.
    logged_outages: (u64, u64),
    logged_states: Vec<(FlowKey, &'static str)>,
    requests: Receiver<SyncSender<ShimSnapshot>>,
    status_handle: StatusHandle,
    poll_buffer: Vec<u8>,
}

/// What the driver itself did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonCounts {
    /// Packets that the local TCP sent.
    pub outgoing: u64,
    /// Packets that arrived.
    pub incoming: u64,
    /// Packets that went on with other bytes than they came with.
    pub modified: u64,
    /// Packets of the shim's own, into the network, each in the place of one of the local TCP's.
    pub sent: u64,
    /// Packets of the shim's own, to the local TCP. Most have it send what carries another.
    pub injected: u64,
    /// Packets of the shim's own that the kernel did not take, or for which there was no room.
    pub refused: u64,
    /// Packets, the shim's own and the local TCP's, that did not leave when they were due, because this
    /// host's own link was down.
    pub unsent: u64,
    /// Times that a link or route came or went.
    pub route_events: u64,
}

impl DaemonCounts {
    /// Each count with its name, in the order of the fields.
    pub fn named_counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { outgoing, incoming, modified: changed, sent, injected: made_up, refused, unsent, route_events: news } = *self;
        [
            ("outgoing", outgoing),
            ("incoming", incoming),
            ("changed", changed),
            ("sent", sent),
            ("made_up", made_up),
            ("refused", refused),
            ("unsent", unsent),
            ("news", news),
        ]
        .into_iter()
    }
}

/// How everything stands.
#[derive(Clone, Debug)]
pub struct ShimSnapshot {
    /// How long it has been at work.
    pub uptime: Duration,
    /// What the shim counts.
    pub counts: Counts,
    /// What the driver counts.
    pub daemon_counts: DaemonCounts,
    /// What the kernel counts and shows to nobody.
    pub unseen: UnseenCounts,
    /// Bytes of stored packets, and bytes held for them in all.
    pub memory: (usize, usize),
    /// The flows that are followed, in the order of their keys.
    pub flows: Vec<FlowStatus>,
}

/// Asks a [`Field`] at work, from another thread.
#[derive(Clone, Debug)]
pub struct StatusHandle {
    requests: Sender<SyncSender<ShimSnapshot>>,
    wake: Arc<EventFd>,
}

impl StatusHandle {
    /// How everything stands; `None` if it works no more, or does not answer within a second.
    pub fn snapshot(&self) -> Option<ShimSnapshot> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.requests.send(answer).ok()?;
        self.wake.write(1).ok()?;
        answered.recv_timeout(ANSWER_TIMEOUT).ok()
    }
}

impl ShimDaemon {
    /// Begins to stop packets in the calling thread's namespace; they wait until [`run`](Self::run).
    /// If that has not begun within a second, packets pass until it has.
    ///
    /// # Errors
    /// `AddrInUse`: another one is at work in this namespace. Else what the kernel says; see
    /// [`lacks`] for what it takes.
    pub fn start(settings: &ShimSettings) -> io::Result<Self> {
        Self::start_with_shim(&settings.interfaces, Shim::new(settings.config))
    }

    /// The same with a shim that has been made, with another aid, say.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_shim(interfaces: &[String], shim: Shim) -> io::Result<Self> {
        let queue = NfQueue::open()?;
        let injector = Injector::open()?;
        let links = RouteMonitor::watch()?;
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let (asks, questions) = mpsc::channel();
        let mut alive = DeadManSwitch::open()?;
        let rules = Rules::install(interfaces)?;
        let clock = RealClock::start();
        alive.renew(clock.now())?;
        Ok(Self {
            rules,
            queue,
            injector,
            carrier_acks: CarrierAcks::default(),
            missing_carriers: BTreeMap::new(),
            parked: ParkedPackets::default(),
            routes: links,
            dead_man_switch: alive,
            heartbeat: Box::new(|| {}),
            shim,
            clock,
            counts: DaemonCounts::default(),
            fragments_at_start: FragmentCounts::parse()?,
            unseen: UnseenCounts::default(),
            logged_outages: (0, 0),
            logged_states: Vec::new(),
            requests: questions,
            status_handle: StatusHandle { requests: asks, wake: Arc::new(wake) },
            poll_buffer: Vec::new(),
        })
    }

    /// Removes what one has left that was killed. There is nothing, unless the kernel is at fault;
    /// says whether there was.
    ///
    /// # Errors
    /// `AddrInUse`: one is at work. Else what the kernel says.
    pub fn remove_leftovers() -> io::Result<bool> {
        let found = Rules::remove_orphaned()?;
        // It can be had, so nobody has it.
        NfQueue::open().map(drop)?;
        Ok(found)
    }

    /// Has `heartbeat` called four times a second, as long as this one works. It must not block.
    pub fn on_heartbeat(&mut self, heartbeat: impl FnMut() + Send + 'static) {
        self.heartbeat = Box::new(heartbeat);
    }

    /// One that other threads may ask with.
    pub fn status_handle(&self) -> StatusHandle {
        self.status_handle.clone()
    }

    /// Works in the calling thread, which has to be in the namespace, until `stop` can be read. Then
    /// no packet is stopped any more, and those that were, and what the shim keeps, are let go.
    ///
    /// # Errors
    /// What the kernel says; with this value, the rules go.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> io::Result<()> {
        // By default the kernel lets a timer be 50 µs late to wake less often.
        prctl::set_timerslack(1)?;
        let mut more = true;
        loop {
            if self.dead_man_switch.renew(self.clock.now())? {
                (self.heartbeat)();
            }
            let woken = self.wait(more, stop)?;
            if woken.stop {
                break;
            }
            more = self.process_packets()?;
            self.shim.on_timeout(self.clock.now());
            self.send_pending()?;
            if woken.route_event && self.routes.drain_events()? {
                self.counts.route_events += 1;
            }
            self.process_route_reviews()?;
            // What waits in the queue may be a carrier.
            if !more {
                self.expire_carrier_acks();
            }
            if woken.status_request {
                self.answer_requests();
            }
            self.log_state_changes();
        }
        self.shut_down()?;
        info!(packets = self.shim.counts().shown, "stopped");
        Ok(())
    }

    /// Lets everything go: what the shim keeps leaves while carriers are still stopped, then nothing is
    /// stopped any more, and what had been before is worked off.
    fn shut_down(&mut self) -> io::Result<()> {
        self.shim.shut_down(self.clock.now());
        self.send_pending()?;
        let end = self.clock.now() + SHUTDOWN_TIMEOUT;
        while !self.carrier_acks.is_empty() && self.clock.now() < end {
            self.wait_for_packets(Duration::from_millis(1))?;
            while self.process_packets()? && self.clock.now() < end {}
        }
        // Whoever changes nf_tables just now is waited for.
        (self.heartbeat)();
        self.rules.clear()?;
        (self.heartbeat)();
        while self.process_packets()? {}
        self.shim.shut_down(self.clock.now());
        self.send_pending()
    }

    fn wait_for_packets(&self, most: Duration) -> io::Result<()> {
        let mut watched = [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut watched, Some(to_timespec(most)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Works off packets; are there more?
    fn process_packets(&mut self) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(waiting) = self.queue.receive()? else {
                self.queue.flush()?;
                return Ok(false);
            };
            match waiting.hook {
                HOOK_POST_ROUTING => self.on_postrouting(waiting),
                HOOK_LOCAL_OUT => self.on_outgoing(waiting),
                _ => self.on_incoming(waiting),
            }?;
            self.send_pending()?;
        }
        self.queue.flush()?;
        Ok(true)
    }

    fn on_outgoing(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        self.counts.outgoing += 1;
        let packet = self.queue.bytes(waiting);
        let said = |flow| self.shim.last_ack_and_window(flow);
        if let Some(tag) = self.carrier_acks.on_local_out(packet, waiting.priority, said) {
            self.queue.accept_with_priority(waiting, tag);
            return Ok(());
        }
        let headers = headers(packet);
        let dead =
            self.routes.has_unroutable() && flow_of(packet).is_some_and(|flow| self.routes.is_unroutable(flow));
        let fate = self.shim.on_outgoing(self.clock.now(), packet);
        if let (true, PacketDisposition::Pass, Some(flow)) = (dead, fate, flow_of(packet)) {
            self.counts.unsent += 1;
            self.parked.park(flow, packet);
            self.queue.drop(waiting);
        } else {
            self.apply_disposition(waiting, fate, headers)?;
        }
        Ok(())
    }

    fn on_incoming(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        self.counts.incoming += 1;
        let packet = self.queue.bytes(waiting);
        let headers = headers(packet);
        let fate = self.shim.on_incoming(self.clock.now(), packet);
        self.apply_disposition(waiting, fate, headers)
    }

    /// Does with a packet, whose headers were these, what the shim wants.
    fn apply_disposition(&mut self, waiting: QueuedPacket, fate: PacketDisposition, before: [u8; MAX_HEADERS_LEN]) -> io::Result<()> {
        match fate {
            PacketDisposition::Pass if headers(self.queue.bytes(waiting)) != before => {
                self.counts.modified += 1;
                self.queue.accept_modified(waiting)?;
            }
            PacketDisposition::Pass | PacketDisposition::Untouched(_) => self.queue.accept(waiting),
            PacketDisposition::Stored | PacketDisposition::Discarded(_) => self.queue.drop(waiting),
        }
        Ok(())
    }

    /// A carrier is about to leave.
    fn on_postrouting(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        match self.carrier_acks.on_postrouting(self.queue.bytes(waiting), waiting.priority) {
            ExitAction::Substitute(bytes, priority, flow) => {
                self.counts.sent += 1;
                self.shim.on_carrier_sent(flow);
                self.queue.accept_replaced(waiting, &bytes, priority)?;
            }
            ExitAction::PassUnchanged(priority) => self.queue.accept_with_priority(waiting, priority),
            ExitAction::RouteObserved(flow, leaves) => {
                self.routes.on_interface_observed(flow, waiting.out_interface);
                match leaves {
                    Some(priority) => self.queue.accept_with_priority(waiting, priority),
                    None => self.queue.drop(waiting),
                }
            }
            ExitAction::NotACarrier => self.queue.accept(waiting),
        }
        Ok(())
    }

    /// Sends what the shim has to send, as far as there is room for it on its way to carriers.
    fn send_pending(&mut self) -> io::Result<()> {
        let mut made = std::mem::take(&mut self.poll_buffer);
        while !self.carrier_acks.is_full()
            && let Some(to) = self.shim.poll(self.clock.now(), &mut made)
        {
            // What was shown before goes before.
            self.queue.flush()?;
            match to {
                PacketDestination::LocalTcp => self.inject(&made),
                PacketDestination::Network => match flow_of(&made) {
                    Some(flow) if self.routes.is_unroutable(flow) => self.counts.unsent += 1,
                    Some(flow) => {
                        self.parked.on_sent(flow, &made);
                        self.solicit(flow, Some(&made));
                    }
                    None => {}
                },
            }
        }
        self.poll_buffer = made;
        Ok(())
    }

    /// A packet of the shim's arrives for the local TCP.
    fn inject(&mut self, packet: &[u8]) {
        self.counts.injected += 1;
        if let Err(error) = self.injector.send(packet) {
            // As if the network had lost it, which the shim is made for.
            self.counts.refused += 1;
            if self.counts.refused.is_power_of_two() {
                warn!(%error, refused = self.counts.refused, "a packet was not taken");
            }
        }
    }

    /// Has the local TCP send a carrier for this packet, or, without one, to see how it leaves.
    fn solicit(&mut self, flow: FlowKey, packet: Option<&[u8]>) {
        let (now, mut solicitation) = (self.clock.now(), Vec::new());
        if !self.shim.solicit_ack(now, flow, &mut solicitation) {
            return;
        }
        if self.carrier_acks.enqueue(now, flow, packet) {
            self.inject(&solicitation);
        } else {
            self.counts.refused += 1;
        }
    }

    /// Whatever had no carrier makes it look at its flow: where this host has no way at all, there can't
    /// be one. So does what the local TCP sends without one.
    fn expire_carrier_acks(&mut self) {
        let now = self.clock.now();
        if self.carrier_acks.next_timeout().is_some_and(|at| at <= now) {
            let expired = self.carrier_acks.expire(now);
            self.missing_carriers
                .extend(expired.into_iter().filter(|(flow, _)| !self.routes.is_unroutable(*flow)));
        }
        let flows: BTreeSet<FlowKey> =
            self.missing_carriers.keys().chain(self.parked.unreviewed()).copied().collect();
        if !flows.is_empty() {
            let flows = Vec::from_iter(flows);
            self.review_routes(&flows, false);
        }
    }

    /// Looks where the packets of these flows, or of all that there are, leave now.
    fn review_routes(&mut self, flows: &[FlowKey], all: bool) {
        if self.routes.start_review(self.clock.now(), flows, all) {
            for flow in flows {
                self.solicit(*flow, None);
            }
        }
    }

    /// A link, an address or a route has come or gone, or is to be looked at again.
    fn process_route_reviews(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if self.routes.is_review_due(now) {
            let flows: Vec<FlowKey> = self.shim.flows().map(|flow| flow.key).collect();
            self.review_routes(&flows, true);
        }
        self.routes.check_when_complete(now);
        for (flow, way, changed) in self.routes.poll_results()? {
            // Whoever has not answered by now need not.
            self.carrier_acks.cancel_route_queries(flow);
            let taken = self.missing_carriers.remove(&flow);
            if let (RouteStatus::Unknown, Some(taken)) = (way, taken) {
                debug!(flow = %format_flow(flow), taken, "no carrier");
                self.shim.on_carrier_missing(flow, taken);
            }
            if changed {
                self.on_route_change(flow, way != RouteStatus::Unusable);
            }
            self.parked.on_reviewed(flow);
        }
        self.send_pending()?;
        for (flow, packet) in self.parked.take_routable(|flow| self.routes.is_unroutable(flow)) {
            self.solicit(flow, Some(&packet));
        }
        Ok(())
    }

    /// This host knows that a flow has lost its way, or may have one again.
    fn on_route_change(&mut self, flow: FlowKey, is_there: bool) {
        info!(flow = %format_flow(flow), is_there, "this host's way");
        let kind = if is_there { SignalKind::RouteRestored } else { SignalKind::RouteFailed };
        let mut signal = Signal::new(kind);
        signal.details.flow = Some(flow);
        signal.details.destination = Some(flow.destination.address);
        self.shim.on_signal(self.clock.now(), &signal);
    }

    /// Answers whoever asks.
    fn answer_requests(&mut self) {
        // Nothing was written if it says that it would wait.
        let _ = self.status_handle.wake.read();
        match self.rules.counts().and_then(|counts| Ok((counts, FragmentCounts::parse()?))) {
            Ok((counts, now)) => self.unseen = UnseenCounts::since_start(&counts, self.fragments_at_start, now),
            Err(error) => warn!(%error, "the kernel does not say what went by"),
        }
        while let Ok(question) = self.requests.try_recv() {
            let snapshot = ShimSnapshot {
                uptime: self.clock.now().since(Instant::ZERO),
                counts: *self.shim.counts(),
                daemon_counts: self.counts,
                unseen: self.unseen,
                memory: self.shim.memory(),
                flows: self.shim.flows().collect(),
            };
            // Who asked may have gone.
            let _ = question.try_send(snapshot);
        }
    }

    /// Logs which flows lost or found their path.
    fn log_state_changes(&mut self) {
        let Counts { outages, survived, .. } = *self.shim.counts();
        if self.logged_outages == (outages, survived) {
            return;
        }
        self.logged_outages = (outages, survived);
        let states = self.shim.flows().map(|flow| (flow.key, flow.state)).collect();
        let before = std::mem::replace(&mut self.logged_states, states);
        for flow in self.shim.flows() {
            let place = before.binary_search_by_key(&flow.key, |(key, _)| *key);
            let was = place.map_or("open", |place| before[place].1);
            let ends = format_flow(flow.key);
            let (stored_bytes, state) = (flow.stored_bytes, flow.state);
            match (was, state) {
                ("open", "open") => {}
                (_, "open") => {
                    let resumed = flow.time_to_resume.map(Duration::as_secs_f64);
                    info!(flow = %ends, survived = flow.survived, resumed_s = resumed, "resumed");
                }
                ("open", _) => info!(flow = %ends, stored_bytes, "no path"),
                _ => debug!(flow = %ends, stored_bytes, state, "still no path"),
            }
        }
    }

    /// Waits for packets, timers, news, questions or the end.
    fn wait(&self, more: bool, stop: BorrowedFd<'_>) -> io::Result<WakeReasons> {
        let (asked, judge) = (self.status_handle.wake.as_fd(), self.routes.results_fd());
        let fds = [self.queue.as_fd(), self.routes.as_fd(), asked, stop, judge];
        let mut watched = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let wanted =
            [self.shim.next_timeout(), self.carrier_acks.next_timeout(), self.routes.next_timeout()];
        let next = wanted.into_iter().flatten().fold(self.dead_man_switch.due(), Instant::min);
        let timeout = if more { Duration::ZERO } else { self.clock.until(next) };
        match ppoll(&mut watched, Some(to_timespec(timeout)), None) {
            Err(Errno::EINTR) => return Ok(WakeReasons::default()),
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        let [_, news, asked, stop, _] = watched.map(|fd| fd.any().unwrap_or(true));
        Ok(WakeReasons { route_event: news, status_request: asked, stop })
    }
}

fn to_timespec(span: Duration) -> TimeSpec {
    TimeSpec::from_duration(std::time::Duration::from_nanos(span.as_nanos()))
}

/// What of a packet may be changed; zeros behind a shorter one.
fn headers(packet: &[u8]) -> [u8; MAX_HEADERS_LEN] {
    let mut headers = [0; MAX_HEADERS_LEN];
    headers.iter_mut().zip(packet).for_each(|(to, from)| *to = *from);
    headers
}

/// Both ends of a flow, for logs.
fn format_flow(FlowKey { source, destination }: FlowKey) -> String {
    format!("{}:{} {}:{}", source.address, source.port, destination.address, destination.port)
}

/// What there is besides packets and timers.
#[derive(Clone, Copy, Debug, Default)]
struct WakeReasons {
    route_event: bool,
    status_request: bool,
    stop: bool,
}
