//! The shim daemon below this host's own TCP.
//!
//! The kernel intercepts the host's TCP packets, and received ICMP errors, directly below TCP:
//! outgoing ones before connection tracking, device routing and segmentation, incoming ones after
//! the firewall. Their verdicts come from an [`NfQueue`](nfqueue::NfQueue). While nothing is wrong
//! with a flow, its packets pass, and the shim gets copies by an [`NfLog`](nflog::NfLog). The rules are in an
//! nf_tables table owned by this process: however it ends, the kernel removes the table, and until
//! then accepts packets that nobody handles. No route, rule, address, device or setting is changed,
//! so that there is nothing to restore.

mod carrier_acks;
mod counters;
mod dead_man_switch;
mod inject;
mod link_reviews;
mod marker;
pub(crate) mod nf_tables;
mod nflog;
pub(crate) mod nfnetlink;
mod nfqueue;
mod owning_process;
mod parked;
mod path_log;
mod privileges;
mod route_changes;
mod route_checker;
mod route_monitor;
mod rules;
mod unseen;
mod watched_flows;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use driftway_base::{Duration, FlowKey, Instant, Signal, SignalKind};
use driftway_shim::{
    Config, Counts, FlowStatus, PacketAction, PacketDestination, Shim, complete_checksums,
    parse_headers,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use tracing::{debug, info, warn};

pub use owning_process::owning_process;
pub use privileges::{
    DedicatedUser, drop_all_privileges, drop_privileges, missing_capability, raise_priority,
};
pub use unseen::UnseenCounts;

use crate::RealClock;
use carrier_acks::{CARRIER_ID, CarrierAcks, ExitAction, set_identification};
use counters::counters;
use dead_man_switch::DeadManSwitch;
use inject::Injector;
use nflog::NfLog;
use nfqueue::{HOOK_LOCAL_OUT, HOOK_POST_ROUTING, NfQueue, QueuedPacket};
use parked::ParkedPackets;
use path_log::{PathLog, format_flow};
use route_checker::RouteStatus;
use route_monitor::RouteMonitor;
use rules::Rules;
use unseen::FragmentCounts;
use watched_flows::WatchedFlows;

/// Maximum number of packets between two flushes of verdicts.
const BATCH: usize = 64;
/// Maximum number of packets that the shim sends before others have their turn: each causes up to
/// three more in the queue, for which all others wait.
const SENT_PER_TURN: usize = 32;
/// Maximum number of packets in the queue that are processed before copies are read again.
const QUEUED_MAX: usize = 4096;
/// Maximum number of copies that are read before packets: some milliseconds.
const COPIES_MAX: usize = 4096;
/// Interval at which copies of handshakes are read where there are no packets. It bounds how many
/// there are when a packet waits behind them.
const COPIES_INTERVAL: Duration = Duration::from_millis(10);
/// Interval at which copies of watched packets are read. If each copy woke the shim, it would take
/// a processor just when the packet goes on. A retransmission is seen early enough, since its
/// acknowledgment takes a round trip.
const WATCH_INTERVAL: Duration = Duration::from_millis(1);
/// Time without copies after which the next one wakes the shim.
const WATCH_IDLE: Duration = Duration::from_millis(100);
/// Maximum time for which a status request waits for an answer.
const ANSWER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// Time for which an orderly shutdown waits for withheld packets to leave.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// Settings of the daemon.
#[derive(Clone, Debug, Default)]
pub struct ShimSettings {
    /// Interfaces whose connections it carries; empty: all but the loopback interface.
    pub interfaces: Vec<String>,
    /// Configuration of the shim.
    pub config: Config,
}

/// The shim below the TCP of a network namespace, from [`start`](ShimDaemon::start) until it is
/// dropped.
pub struct ShimDaemon {
    // Drop order: the queue must outlive the rules, or the packets in it are dropped.
    rules: Rules,
    queue: NfQueue,
    /// Copies of what passes by; `None`: the kernel has no such log.
    logs: Option<Logs>,
    /// Time at which copies of handshakes are read, if there were some at the last one.
    copies_due: Option<Instant>,
    /// Time at which copies of watched packets are read; `None`: as soon as there are some.
    watched_due: Option<Instant>,
    /// Time at which there were some.
    watched_at: Instant,
    injector: Injector,
    carrier_acks: CarrierAcks,
    /// Flows with a segment that found no carrier acknowledgment, and whether one had been
    /// assigned; their routes are to be reviewed.
    missing_carriers: BTreeMap<FlowKey, bool>,
    parked: ParkedPackets,
    routes: RouteMonitor,
    dead_man_switch: DeadManSwitch,
    /// Called at each renewal of the dead-man switch.
    heartbeat: Box<dyn FnMut() + Send>,
    shim: Shim,
    clock: RealClock,
    counts: DaemonCounts,
    /// Fragment counters at the start.
    fragments_at_start: FragmentCounts,
    unseen: UnseenCounts,
    log: PathLog,
    requests: Receiver<SyncSender<ShimSnapshot>>,
    status_handle: StatusHandle,
    poll_buffer: Vec<u8>,
    /// Number of packets that the shim may still send in this turn.
    turn_left: usize,
}

/// Packets that pass by.
struct Logs {
    /// SYNs, FINs and RSTs of connections of which nothing else is seen.
    handshakes: NfLog,
    /// The packets of watched flows.
    watched: NfLog,
    watched_flows: WatchedFlows,
}

impl Logs {
    fn open() -> io::Result<Self> {
        Ok(Self {
            handshakes: NfLog::open(nflog::HANDSHAKES)?,
            watched: NfLog::open(nflog::WATCHED)?,
            watched_flows: WatchedFlows::open()?,
        })
    }
}

counters! {
    /// Counters of the daemon.
    DaemonCounts {
        /// Packets sent by the local TCP.
        outgoing = "outgoing",
        /// Packets received.
        incoming = "incoming",
        /// Packets forwarded with edits.
        modified = "modified",
        /// Segments of the shim sent into the network, each in place of an acknowledgment of the local
        /// TCP.
        sent = "sent",
        /// Segments injected into the local TCP. Most of them cause an acknowledgment, in whose place
        /// a stored segment is sent.
        injected = "injected",
        /// Segments of the shim that the kernel rejected, or for which there was no room.
        refused = "refused",
        /// Segments of the shim and of the local TCP that did not leave when they were due, because
        /// this host had no usable route.
        unsent = "unsent",
        /// Changes of links, addresses or routes.
        route_events = "route_events",
        /// Times at which the kernel had no room for copies of packets that have passed.
        copies_lost = "copies_lost",
    }
}

/// Status of the daemon.
#[derive(Clone, Debug)]
pub struct ShimSnapshot {
    /// Time since the start.
    pub uptime: Duration,
    /// Counters of the shim.
    pub counts: Counts,
    /// Counters of the daemon.
    pub daemon_counts: DaemonCounts,
    /// Counters of packets that the kernel does not intercept.
    pub unseen: UnseenCounts,
    /// Bytes of stored packets, and bytes reserved for them in all.
    pub memory: (usize, usize),
    /// The tracked flows, in the order of their keys.
    pub flows: Vec<FlowStatus>,
}

/// A handle for status requests to a running [`ShimDaemon`] from other threads.
#[derive(Clone, Debug)]
pub struct StatusHandle {
    requests: Sender<SyncSender<ShimSnapshot>>,
    wake: Arc<EventFd>,
}

impl StatusHandle {
    /// The present status; `None` if the daemon has ended, or does not answer within a second.
    pub fn snapshot(&self) -> Option<ShimSnapshot> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.requests.send(answer).ok()?;
        self.wake.write(1).ok()?;
        answered.recv_timeout(ANSWER_TIMEOUT).ok()
    }
}

impl ShimDaemon {
    /// Starts intercepting packets in the calling thread's namespace; they wait until
    /// [`run`](Self::run). If that does not begin within a second, packets pass until it does.
    ///
    /// # Errors
    /// `AddrInUse`: another shim runs in this namespace. Otherwise any error of the kernel; see
    /// [`missing_capability`] for the requirements.
    pub fn start(settings: &ShimSettings) -> io::Result<Self> {
        Self::start_with_shim(&settings.interfaces, Shim::new(settings.config))
    }

    /// Starts with a given shim, for example with another aid.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_shim(interfaces: &[String], shim: Shim) -> io::Result<Self> {
        let queue = NfQueue::open()?;
        let injector = Injector::open()?;
        let routes = RouteMonitor::watch()?;
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let (status_requests, requests) = mpsc::channel();
        let mut dead_man_switch = DeadManSwitch::open()?;
        let logs = Logs::open()
            .inspect_err(|error| warn!(%error, "all packets of all connections are intercepted"))
            .ok();
        let rules = Rules::install(interfaces, logs.is_some())?;
        let clock = RealClock::start();
        dead_man_switch.renew(clock.now())?;
        Ok(Self {
            rules,
            queue,
            logs,
            copies_due: None,
            watched_due: None,
            watched_at: Instant::ZERO,
            injector,
            carrier_acks: CarrierAcks::default(),
            missing_carriers: BTreeMap::new(),
            parked: ParkedPackets::default(),
            routes,
            dead_man_switch,
            heartbeat: Box::new(|| {}),
            shim,
            clock,
            counts: DaemonCounts::default(),
            fragments_at_start: FragmentCounts::read()?,
            unseen: UnseenCounts::default(),
            log: PathLog::default(),
            requests,
            status_handle: StatusHandle { requests: status_requests, wake: Arc::new(wake) },
            poll_buffer: Vec::new(),
            turn_left: SENT_PER_TURN,
        })
    }

    /// Removes tables left by a killed daemon, which exist only after a fault of the kernel;
    /// returns whether there were any.
    ///
    /// # Errors
    /// `AddrInUse`: a daemon is running. Otherwise any error of the kernel.
    pub fn remove_leftovers() -> io::Result<bool> {
        let found = Rules::remove_orphaned()?;
        // It can be opened, so that nobody owns it.
        NfQueue::open().map(drop)?;
        Ok(found)
    }

    /// Sets a function that is called four times a second while the daemon works. It must not
    /// block.
    pub fn on_heartbeat(&mut self, heartbeat: impl FnMut() + Send + 'static) {
        self.heartbeat = Box::new(heartbeat);
    }

    /// A handle for status requests from other threads.
    pub fn status_handle(&self) -> StatusHandle {
        self.status_handle.clone()
    }

    /// Runs in the calling thread, which has to be in the namespace, until `stop` is readable. Then
    /// interception ends, and all intercepted and withheld packets are released.
    ///
    /// # Errors
    /// Any error of the kernel; the rules are removed with this value.
    pub fn run(&mut self, stop: BorrowedFd<'_>) -> io::Result<()> {
        // By default timers of the kernel have a slack of 50 µs.
        prctl::set_timerslack(1)?;
        let mut more = true;
        loop {
            if self.dead_man_switch.renew(self.clock.now())? {
                (self.heartbeat)();
            }
            let woken = self.wait(more || self.turn_left == 0, stop)?;
            if woken.stop {
                break;
            }
            self.turn_left = SENT_PER_TURN;
            more = self.process_packets()?;
            self.shim.on_timeout(self.clock.now());
            self.send_pending()?;
            if woken.route_event {
                self.counts.route_events += self.routes.drain_events()?;
            }
            self.process_route_results()?;
            // A packet in the queue may be a carrier acknowledgment.
            if !more {
                self.expire_carrier_acks();
                self.ask_for_routes()?;
            }
            if woken.status_request {
                self.answer_requests();
            }
            self.log.update(self.clock.now(), &self.shim);
        }
        self.shut_down()?;
        self.log.flush(&self.shim);
        info!(packets = self.shim.counts().intercepted, "stopped");
        Ok(())
    }

    /// Shuts down: withheld segments leave while carrier acknowledgments are still intercepted;
    /// then interception ends, and the queued packets are processed.
    fn shut_down(&mut self) -> io::Result<()> {
        // Nothing else has to wait any more.
        self.turn_left = usize::MAX;
        self.shim.shut_down(self.clock.now());
        self.send_pending()?;
        let end = self.clock.now() + SHUTDOWN_TIMEOUT;
        while !self.carrier_acks.is_empty() && self.clock.now() < end {
            self.wait_for_packets(Duration::from_millis(1))?;
            while self.process_packets()? && self.clock.now() < end {}
        }
        // A concurrent change of nf_tables delays this.
        (self.heartbeat)();
        self.logs = None;
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

    /// Processes the copies of handshakes that have passed by.
    fn process_handshakes(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        self.copies_due = None;
        let Some(logs) = &mut self.logs else { return Ok(()) };
        for _ in 0..COPIES_MAX {
            match logs.handshakes.receive() {
                Ok(None) => return Ok(()),
                Ok(Some(copy)) => self.shim.on_passed_by(now, copy.bytes, copy.is_outgoing),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    self.counts.copies_lost += 1;
                    self.shim.on_copies_lost();
                }
                Err(error) => return Err(error),
            }
            self.copies_due = Some(now + COPIES_INTERVAL);
        }
        Ok(())
    }

    /// Processes the copies of watched flows' packets.
    fn process_watched(&mut self) -> io::Result<()> {
        for _ in 0..COPIES_MAX {
            let now = self.clock.now();
            let Some(logs) = &mut self.logs else { return Ok(()) };
            match logs.watched.receive() {
                Ok(None) => break,
                Ok(Some(copy)) => {
                    if copy.is_outgoing
                        && let Some(flow) = flow_of(copy.bytes)
                    {
                        self.routes.on_routed(flow, copy.out_interface);
                    }
                    self.shim.on_watched(now, copy.bytes, copy.is_outgoing);
                }
                // The shim has not stored what it has not seen.
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    self.counts.copies_lost += 1;
                }
                Err(error) => return Err(error),
            }
            self.watched_at = now;
            self.send_pending()?;
        }
        let now = self.clock.now();
        let is_busy = now < self.watched_at + WATCH_IDLE;
        self.watched_due = is_busy.then_some(now + WATCH_INTERVAL);
        Ok(())
    }

    /// Processes copies, and a batch of packets; returns whether there may be more.
    fn process_packets(&mut self) -> io::Result<bool> {
        // Copies of a watched flow are older than the next handshake with its addresses and ports,
        // and all copies older than queued packets.
        self.process_watched()?;
        self.process_handshakes()?;
        let more = self.process_queue()?;
        if !more && self.watch_quiet_flows()? {
            // What was queued before is older than copies.
            for _ in 0..QUEUED_MAX / BATCH {
                if !self.process_queue()? {
                    return Ok(false);
                }
            }
        }
        Ok(more)
    }

    /// Lets packets of quiet flows pass, none of which waits in the queue; returns whether there
    /// were any.
    fn watch_quiet_flows(&mut self) -> io::Result<bool> {
        let Some(logs) = &self.logs else { return Ok(false) };
        let mut any = false;
        while let Some(flow) = self.shim.poll_flow_to_watch(self.clock.now()) {
            logs.watched_flows.watch(flow)?;
            any = true;
        }
        Ok(any)
    }

    /// Intercepts the packets of flows that are quiet no more.
    fn intercept_flows(&mut self) -> io::Result<()> {
        while let Some(flow) = self.shim.poll_flow_to_intercept() {
            if let Some(logs) = &self.logs {
                logs.watched_flows.intercept(flow)?;
            }
        }
        Ok(())
    }

    /// Processes a batch of packets; returns whether there may be more.
    fn process_queue(&mut self) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(waiting) = self.queue.receive()? else {
                self.queue.flush()?;
                return Ok(false);
            };
            let is_large = waiting.is_large && waiting.hook == HOOK_LOCAL_OUT;
            if waiting.has_partial_checksum && !is_large {
                // In the copy. A packet that passes unchanged keeps its own.
                complete_checksums(self.queue.bytes(waiting));
            }
            match waiting.hook {
                HOOK_LOCAL_OUT if is_large => self.on_outgoing_large(waiting),
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
            if let Some(carrier) = parse_headers(packet) {
                self.shim.on_snd_nxt(self.clock.now(), carrier.flow, carrier.seq);
            }
            set_identification(packet, CARRIER_ID);
            return self.queue.accept_modified_with_priority(waiting, tag);
        }
        let dead = self.routes.has_unroutable()
            && flow_of(packet).is_some_and(|flow| self.routes.is_unroutable(flow));
        let disposition = self.shim.on_outgoing(self.clock.now(), packet);
        let passes = matches!(disposition, PacketAction::Pass | PacketAction::Edited);
        if let (true, true, Some(flow)) = (dead, passes, flow_of(packet)) {
            self.counts.unsent += 1;
            self.parked.park(flow, packet);
            self.routes.review(flow);
            self.queue.drop(waiting);
        } else {
            if !matches!(disposition, PacketAction::Untouched(_))
                && let Some(flow) = flow_of(packet)
            {
                self.routes.on_routed(flow, waiting.out_interface);
            }
            self.apply_disposition(waiting, disposition)?;
        }
        Ok(())
    }

    /// Processes a packet that is to be cut into segments.
    fn on_outgoing_large(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        self.counts.outgoing += 1;
        let packet = self.queue.bytes(waiting);
        let dead = self.routes.has_unroutable()
            && flow_of(packet).is_some_and(|flow| self.routes.is_unroutable(flow));
        let disposition = self.shim.on_outgoing_large(self.clock.now(), packet);
        match disposition {
            // Its segments are stored. It cannot be parked, because it is longer than the MTU.
            PacketAction::Pass | PacketAction::Edited if dead => {
                self.counts.unsent += 1;
                self.queue.drop(waiting);
            }
            PacketAction::Edited => {
                self.counts.modified += 1;
                complete_checksums(self.queue.bytes(waiting));
                self.queue.accept_modified(waiting)?;
            }
            PacketAction::Pass | PacketAction::Untouched(_) => self.queue.accept(waiting),
            PacketAction::Stored | PacketAction::Discarded(_) => self.queue.drop(waiting),
        }
        Ok(())
    }

    fn on_incoming(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        self.counts.incoming += 1;
        let packet = self.queue.bytes(waiting);
        let disposition = self.shim.on_incoming(self.clock.now(), packet);
        self.apply_disposition(waiting, disposition)
    }

    /// Applies the shim's disposition to a packet.
    fn apply_disposition(
        &mut self,
        waiting: QueuedPacket,
        disposition: PacketAction,
    ) -> io::Result<()> {
        match disposition {
            PacketAction::Edited => {
                self.counts.modified += 1;
                self.queue.accept_modified(waiting)?;
            }
            PacketAction::Pass | PacketAction::Untouched(_) => self.queue.accept(waiting),
            PacketAction::Stored | PacketAction::Discarded(_) => self.queue.drop(waiting),
        }
        Ok(())
    }

    /// Processes a carrier acknowledgment at the postrouting hook.
    fn on_postrouting(&mut self, waiting: QueuedPacket) -> io::Result<()> {
        let withholds = |flow| self.shim.withholds_acks(flow);
        let packet = self.queue.bytes(waiting);
        match self.carrier_acks.on_postrouting(packet, waiting.priority, withholds) {
            ExitAction::Substitute(bytes, priority, flow) => {
                self.counts.sent += 1;
                self.shim.on_carrier_sent(flow);
                self.queue.accept_replaced(waiting, &bytes, priority)?;
            }
            ExitAction::PassUnchanged(priority, id) => {
                set_identification(packet, id);
                self.queue.accept_modified_with_priority(waiting, priority)?;
            }
            ExitAction::RouteObserved(flow, leaves) => {
                self.routes.on_interface_observed(flow, waiting.out_interface);
                match leaves {
                    Some((priority, id)) => {
                        set_identification(self.queue.bytes(waiting), id);
                        self.queue.accept_modified_with_priority(waiting, priority)?;
                    }
                    None => self.queue.drop(waiting),
                }
            }
            ExitAction::NotACarrier => self.queue.accept(waiting),
        }
        Ok(())
    }

    /// Sends the shim's packets, as far as there is room in the queue for carrier acknowledgments,
    /// and no more than others can wait for.
    fn send_pending(&mut self) -> io::Result<()> {
        self.intercept_flows()?;
        let mut made = std::mem::take(&mut self.poll_buffer);
        while self.turn_left > 0
            && !self.carrier_acks.is_full()
            && let Some(to) = self.shim.poll(self.clock.now(), &mut made)
        {
            self.turn_left -= 1;
            // Packets intercepted before are released before.
            self.queue.flush()?;
            match to {
                PacketDestination::LocalTcp => self.inject(&made),
                PacketDestination::Network => match flow_of(&made) {
                    Some(flow) if self.routes.is_unroutable(flow) => self.counts.unsent += 1,
                    Some(flow) => {
                        self.parked.on_sent(flow, &made);
                        self.solicit(flow, Some(&made))?;
                    }
                    None => {}
                },
            }
        }
        self.poll_buffer = made;
        Ok(())
    }

    /// Injects a segment into the local TCP.
    fn inject(&mut self, packet: &[u8]) {
        self.counts.injected += 1;
        if let Err(error) = self.injector.send(packet) {
            // It counts as lost in the network.
            self.counts.refused += 1;
            if self.counts.refused.is_power_of_two() {
                warn!(%error, refused = self.counts.refused, "an injected packet was rejected");
            }
        }
    }

    /// Makes the local TCP send an acknowledgment to carry `packet`, or, without one, to observe
    /// its route. `false`: the flow is not tracked.
    fn solicit(&mut self, flow: FlowKey, packet: Option<&[u8]>) -> io::Result<bool> {
        let (now, mut solicitation) = (self.clock.now(), Vec::new());
        if !self.shim.solicit_ack(now, flow, &mut solicitation) {
            return Ok(false);
        }
        // The acknowledgment has to be intercepted.
        self.intercept_flows()?;
        if self.carrier_acks.enqueue(now, flow, packet) {
            self.inject(&solicitation);
        } else {
            self.counts.refused += 1;
        }
        Ok(true)
    }

    /// Has the routes of flows reviewed whose segments found no carrier acknowledgment, which is
    /// impossible without a route.
    fn expire_carrier_acks(&mut self) {
        for (flow, taken) in self.carrier_acks.expire(self.clock.now()) {
            if !self.routes.is_unroutable(flow) {
                self.missing_carriers.insert(flow, taken);
                self.routes.review(flow);
            }
        }
    }

    /// Finds the flows whose routes are to be reviewed, and asks a few of them.
    fn ask_for_routes(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if self.routes.is_review_due(now) {
            let tracked = self.shim.flow_keys();
            let count = tracked.len();
            self.routes.review_changes(now, tracked);
            if self.routes.known_flows() > 2 * count {
                let shim = &self.shim;
                self.routes.retain(|flow| shim.last_ack_and_window(flow).is_some());
            }
        }
        for flow in self.routes.expire_questions(now) {
            // Later answers are not needed.
            self.carrier_acks.cancel_route_queries(flow);
        }
        for flow in self.routes.start_asking(now) {
            if !self.solicit(flow, None)? {
                self.routes.forget(flow);
                self.missing_carriers.remove(&flow);
                self.parked.remove(flow);
            }
        }
        Ok(())
    }

    /// Processes some results of route reviews.
    fn process_route_results(&mut self) -> io::Result<()> {
        for (flow, way, changed) in self.routes.poll_results(self.clock.now())? {
            let taken = self.missing_carriers.remove(&flow);
            if let (RouteStatus::Unknown, Some(taken)) = (way, taken) {
                debug!(flow = %format_flow(flow), taken, "no carrier");
                let before = self.shim.counts().no_carrier;
                self.shim.on_carrier_missing(flow, taken);
                if (before, self.shim.counts().no_carrier) == (0, 1) {
                    warn!(flow = %format_flow(flow), "{}", why_no_carrier(taken));
                }
            }
            if changed {
                self.on_route_change(flow, way != RouteStatus::Unusable);
            }
            self.send_pending()?;
            if !self.routes.is_unroutable(flow)
                && let Some(packet) = self.parked.remove(flow)
            {
                self.solicit(flow, Some(&packet))?;
            }
        }
        Ok(())
    }

    /// Signals to the shim that a flow's route has failed, or is usable again.
    fn on_route_change(&mut self, flow: FlowKey, is_there: bool) {
        debug!(flow = %format_flow(flow), is_there, "this host's route");
        self.log.count_route_change(is_there);
        let kind = if is_there { SignalKind::RouteRestored } else { SignalKind::RouteFailed };
        let mut signal = Signal::new(kind);
        signal.details.flow = Some(flow);
        signal.details.destination = Some(flow.destination.address);
        self.shim.on_signal(self.clock.now(), &signal);
    }

    /// Answers status requests.
    fn answer_requests(&mut self) {
        // EWOULDBLOCK: nothing was written.
        let _ = self.status_handle.wake.read();
        match self.rules.counts().and_then(|counts| Ok((counts, FragmentCounts::read()?))) {
            Ok((counts, now)) => {
                self.unseen = UnseenCounts::since_start(&counts, self.fragments_at_start, now)
            }
            Err(error) => warn!(%error, "counters of other packets are not available"),
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
            // The requester may have gone.
            let _ = question.try_send(snapshot);
        }
    }

    /// Waits for packets, timers, route events, status requests or the end.
    fn wait(&self, more: bool, stop: BorrowedFd<'_>) -> io::Result<WakeReasons> {
        let (request, results) = (self.status_handle.wake.as_fd(), self.routes.results_fd());
        let copies = self.logs.as_ref().filter(|_| self.watched_due.is_none());
        let copies = copies.map_or(results, |logs| logs.watched.as_fd());
        let fds = [self.queue.as_fd(), self.routes.as_fd(), request, stop, results, copies];
        let mut watched = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let wanted = [
            self.shim.next_timeout(),
            self.carrier_acks.next_timeout(),
            self.routes.next_timeout(),
            self.copies_due,
            self.watched_due,
        ];
        let next = wanted.into_iter().flatten().fold(self.dead_man_switch.due(), Instant::min);
        let timeout = if more { Duration::ZERO } else { self.clock.until(next) };
        match ppoll(&mut watched, Some(to_timespec(timeout)), None) {
            Err(Errno::EINTR) => return Ok(WakeReasons::default()),
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        let [_, route_event, status_request, stop, ..] = watched.map(|fd| fd.any().unwrap_or(true));
        Ok(WakeReasons { route_event, status_request, stop })
    }
}

/// Likely cause of a missing carrier acknowledgment; `taken`: it has left the local TCP.
fn why_no_carrier(taken: bool) -> &'static str {
    if taken {
        "this flow gets no help: a packet of its TCP did not reach the last hook as it was; a rule of \
         the firewall may drop its acknowledgments, or renumber the connection"
    } else {
        "this flow gets no help: its TCP did not answer a segment from the loopback interface; the \
         firewall has to let the shim's packets pass there"
    }
}

fn to_timespec(span: Duration) -> TimeSpec {
    TimeSpec::from_duration(std::time::Duration::from_nanos(span.as_nanos()))
}

/// The flow of a packet with TCP.
fn flow_of(packet: &[u8]) -> Option<FlowKey> {
    parse_headers(packet).map(|segment| segment.flow)
}

/// Reasons for a wake-up besides packets and timers.
#[derive(Clone, Copy, Debug, Default)]
struct WakeReasons {
    route_event: bool,
    status_request: bool,
    stop: bool,
}
