//! The shim daemon below this host's own TCP.
//!
//! The kernel intercepts the host's TCP packets, and received ICMP errors, directly below TCP:
//! outgoing ones before connection tracking, device routing and segmentation, incoming ones after
//! the firewall. Their verdicts come from an [`NfQueue`](nfqueue::NfQueue). The rules are in an
//! nf_tables table owned by this process: however it ends, the kernel removes the table, and until
//! then accepts packets that nobody handles. No route, rule, address, device or setting is changed,
//! so that there is nothing to restore.

mod alive;
mod carriers;
mod inject;
mod links;
mod message;
mod owner;
mod parked;
mod privilege;
mod queue;
mod rules;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use driftway_base::{Duration, FlowKey, Instant, Signal, SignalKind};
use driftway_shim::{Config, Counts, Fate, FlowStatus, Shim, To};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use tracing::{debug, info, warn};

pub use owner::owner;
pub use privilege::{OwnUser, come_first, keep_nothing, keep_what_is_needed, lacks};
pub use unseen::Unseen;

use crate::RealClock;
use alive::Alive;
use carriers::{Carriers, Exit, flow_of};
use inject::Injector;
use links::{Links, Way};
use parked::Parked;
use queue::{HOOK_LOCAL_OUT, HOOK_POST_ROUTING, Queue, Waiting};
use rules::Rules;
use unseen::Pieces;

/// Maximum number of packets between two flushes of verdicts.
const BATCH: usize = 64;
/// Maximum time for which a status request waits for an answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
/// Maximum length of IP and TCP headers (bytes): only these are ever edited.
const HEADERS: usize = 120;

/// Time for which an orderly shutdown waits for withheld packets to leave.
const LETTING_GO: Duration = Duration::from_millis(100);

/// Settings of the daemon.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Interfaces whose connections it carries; empty: all but the loopback interface.
    pub interfaces: Vec<String>,
    /// Configuration of the shim.
    pub shim: Config,
}

/// The shim below the TCP of a network namespace, from [`start`](ShimDaemon::start) until it is
/// dropped.
pub struct Field {
    // Drop order: the queue must outlive the rules, or the packets in it are dropped.
    rules: Rules,
    queue: Queue,
    injector: Injector,
    carriers: Carriers,
    /// Flows with a segment that found no carrier acknowledgment, and whether one had been
    /// assigned; their routes are to be reviewed.
    uncarried: BTreeMap<FlowKey, bool>,
    parked: Parked,
    links: Links,
    alive: Alive,
    /// Called at each renewal of the dead-man switch.
    heartbeat: Box<dyn FnMut() + Send>,
    shim: Shim,
    clock: RealClock,
    account: Account,
    /// Fragment counters at the start.
    pieces: Pieces,
    unseen: Unseen,
    /// Numbers of outages begun and survived at the last log message.
    told: (u64, u64),
    states: Vec<(FlowKey, &'static str)>,
    questions: Receiver<SyncSender<Snapshot>>,
    asker: Asker,
    made: Vec<u8>,
}

/// Counters of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets sent by the local TCP.
    pub outgoing: u64,
    /// Packets received.
    pub incoming: u64,
    /// Packets forwarded with edits.
    pub changed: u64,
    /// Segments of the shim sent into the network, each in place of an acknowledgment of the local
    /// TCP.
    pub sent: u64,
    /// Segments injected into the local TCP. Most of them solicit an acknowledgment that carries
    /// another one.
    pub made_up: u64,
    /// Segments of the shim that the kernel rejected, or for which there was no room.
    pub refused: u64,
    /// Segments of the shim and of the local TCP that did not leave when they were due, because
    /// this host had no usable route.
    pub unsent: u64,
    /// Changes of links, addresses or routes.
    pub news: u64,
}

impl Account {
    /// Each counter with its name, in declaration order.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { outgoing, incoming, changed, sent, made_up, refused, unsent, news } = *self;
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

/// Status of the daemon.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Time since the start.
    pub lasted: Duration,
    /// Counters of the shim.
    pub counts: Counts,
    /// Counters of the daemon.
    pub account: Account,
    /// Counters of packets that the kernel does not intercept.
    pub unseen: Unseen,
    /// Bytes of stored packets, and bytes reserved for them in all.
    pub memory: (usize, usize),
    /// The tracked flows, in the order of their keys.
    pub flows: Vec<FlowStatus>,
}

/// A handle for status requests to a running [`ShimDaemon`] from other threads.
#[derive(Clone, Debug)]
pub struct Asker {
    questions: Sender<SyncSender<Snapshot>>,
    wake: Arc<EventFd>,
}

impl Asker {
    /// The present status; `None` if the daemon has ended, or does not answer within a second.
    pub fn ask(&self) -> Option<Snapshot> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.questions.send(answer).ok()?;
        self.wake.write(1).ok()?;
        answered.recv_timeout(PATIENCE).ok()
    }
}

impl Field {
    /// Starts intercepting packets in the calling thread's namespace; they wait until
    /// [`run`](Self::run). If that does not begin within a second, packets pass until it does.
    ///
    /// # Errors
    /// `AddrInUse`: another shim runs in this namespace. Otherwise any error of the kernel; see
    /// [`missing_capability`] for the requirements.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        Self::start_with(&settings.interfaces, Shim::new(settings.shim))
    }

    /// Starts with a given shim, for example with another aid.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(interfaces: &[String], shim: Shim) -> io::Result<Self> {
        let queue = Queue::open()?;
        let injector = Injector::open()?;
        let links = Links::watch()?;
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let (asks, questions) = mpsc::channel();
        let mut alive = Alive::open()?;
        let rules = Rules::install(interfaces)?;
        let clock = RealClock::start();
        alive.renew(clock.now())?;
        Ok(Self {
            rules,
            queue,
            injector,
            carriers: Carriers::default(),
            uncarried: BTreeMap::new(),
            parked: Parked::default(),
            links,
            alive,
            heartbeat: Box::new(|| {}),
            shim,
            clock,
            account: Account::default(),
            pieces: Pieces::count()?,
            unseen: Unseen::default(),
            told: (0, 0),
            states: Vec::new(),
            questions,
            asker: Asker { questions: asks, wake: Arc::new(wake) },
            made: Vec::new(),
        })
    }

    /// Removes tables left by a killed daemon, which exist only after a fault of the kernel;
    /// returns whether there were any.
    ///
    /// # Errors
    /// `AddrInUse`: a daemon is running. Otherwise any error of the kernel.
    pub fn undo() -> io::Result<bool> {
        let found = Rules::remove_leftover()?;
        // It can be opened, so that nobody owns it.
        Queue::open().map(drop)?;
        Ok(found)
    }

    /// Sets a function that is called four times a second while the daemon works. It must not
    /// block.
    pub fn on_heartbeat(&mut self, heartbeat: impl FnMut() + Send + 'static) {
        self.heartbeat = Box::new(heartbeat);
    }

    /// A handle for status requests from other threads.
    pub fn asker(&self) -> Asker {
        self.asker.clone()
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
            if self.alive.renew(self.clock.now())? {
                (self.heartbeat)();
            }
            let woken = self.wait(more, stop)?;
            if woken.stop {
                break;
            }
            more = self.take_in()?;
            self.shim.on_timeout(self.clock.now());
            self.send_own()?;
            if woken.news && self.links.has_news()? {
                self.account.news += 1;
            }
            self.review_links()?;
            // A packet in the queue may be a carrier acknowledgment.
            if !more {
                self.expire_carriers();
            }
            if woken.asked {
                self.answer();
            }
            self.tell();
        }
        self.let_go()?;
        info!(packets = self.shim.counts().shown, "stopped");
        Ok(())
    }

    /// Shuts down: withheld segments leave while carrier acknowledgments are still intercepted;
    /// then interception ends, and the queued packets are processed.
    fn let_go(&mut self) -> io::Result<()> {
        self.shim.let_go(self.clock.now());
        self.send_own()?;
        let end = self.clock.now() + LETTING_GO;
        while !self.carriers.is_empty() && self.clock.now() < end {
            self.wait_for_packets(Duration::from_millis(1))?;
            while self.take_in()? && self.clock.now() < end {}
        }
        // A concurrent change of nf_tables delays this.
        (self.heartbeat)();
        self.rules.clear()?;
        (self.heartbeat)();
        while self.take_in()? {}
        self.shim.let_go(self.clock.now());
        self.send_own()
    }

    fn wait_for_packets(&self, most: Duration) -> io::Result<()> {
        let mut watched = [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut watched, Some(span(most)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Processes a batch of packets; returns whether there may be more.
    fn take_in(&mut self) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(waiting) = self.queue.receive()? else {
                self.queue.flush()?;
                return Ok(false);
            };
            match waiting.hook {
                HOOK_POST_ROUTING => self.on_exit(waiting),
                HOOK_LOCAL_OUT => self.on_outgoing(waiting),
                _ => self.on_incoming(waiting),
            }?;
            self.send_own()?;
        }
        self.queue.flush()?;
        Ok(true)
    }

    fn on_outgoing(&mut self, waiting: Waiting) -> io::Result<()> {
        self.account.outgoing += 1;
        let packet = self.queue.bytes(waiting);
        let said = |flow| self.shim.last_said(flow);
        if let Some(tag) = self.carriers.at_origin(packet, waiting.priority, said) {
            self.queue.pass_with_priority(waiting, tag);
            return Ok(());
        }
        let headers = headers(packet);
        let dead =
            self.links.know_dead() && flow_of(packet).is_some_and(|flow| self.links.is_dead(flow));
        let fate = self.shim.on_outgoing(self.clock.now(), packet);
        if let (true, Fate::Pass, Some(flow)) = (dead, fate, flow_of(packet)) {
            self.account.unsent += 1;
            self.parked.keep(flow, packet);
            self.queue.drop(waiting);
        } else {
            self.decide(waiting, fate, headers)?;
        }
        Ok(())
    }

    fn on_incoming(&mut self, waiting: Waiting) -> io::Result<()> {
        self.account.incoming += 1;
        let packet = self.queue.bytes(waiting);
        let headers = headers(packet);
        let fate = self.shim.on_incoming(self.clock.now(), packet);
        self.decide(waiting, fate, headers)
    }

    /// Applies the shim's disposition to a packet whose headers were `before`.
    fn decide(&mut self, waiting: Waiting, fate: Fate, before: [u8; HEADERS]) -> io::Result<()> {
        match fate {
            Fate::Pass if headers(self.queue.bytes(waiting)) != before => {
                self.account.changed += 1;
                self.queue.pass_changed(waiting)?;
            }
            Fate::Pass | Fate::Untouched(_) => self.queue.pass(waiting),
            Fate::Stored | Fate::Swallowed(_) => self.queue.drop(waiting),
        }
        Ok(())
    }

    /// Processes a carrier acknowledgment at the postrouting hook.
    fn on_exit(&mut self, waiting: Waiting) -> io::Result<()> {
        match self.carriers.at_exit(self.queue.bytes(waiting), waiting.priority) {
            Exit::As(bytes, priority, flow) => {
                self.account.sent += 1;
                self.shim.on_carried(flow);
                self.queue.pass_as(waiting, &bytes, priority)?;
            }
            Exit::Empty(priority) => self.queue.pass_with_priority(waiting, priority),
            Exit::Seen(flow, leaves) => {
                self.links.on_seen(flow, waiting.leaves_by);
                match leaves {
                    Some(priority) => self.queue.pass_with_priority(waiting, priority),
                    None => self.queue.drop(waiting),
                }
            }
            Exit::Unknown => self.queue.pass(waiting),
        }
        Ok(())
    }

    /// Sends the shim's packets, as far as there is room in the queue for carrier acknowledgments.
    fn send_own(&mut self) -> io::Result<()> {
        let mut made = std::mem::take(&mut self.made);
        while !self.carriers.is_full()
            && let Some(to) = self.shim.poll(self.clock.now(), &mut made)
        {
            // Packets intercepted before are released before.
            self.queue.flush()?;
            match to {
                To::Local => self.inject(&made),
                To::Network => match flow_of(&made) {
                    Some(flow) if self.links.is_dead(flow) => self.account.unsent += 1,
                    Some(flow) => {
                        self.parked.on_sent(flow, &made);
                        self.solicit(flow, Some(&made));
                    }
                    None => {}
                },
            }
        }
        self.made = made;
        Ok(())
    }

    /// Injects a segment into the local TCP.
    fn inject(&mut self, packet: &[u8]) {
        self.account.made_up += 1;
        if let Err(error) = self.injector.send(packet) {
            // It counts as lost in the network.
            self.account.refused += 1;
            if self.account.refused.is_power_of_two() {
                warn!(%error, refused = self.account.refused, "an injected packet was rejected");
            }
        }
    }

    /// Makes the local TCP send an acknowledgment to carry `packet`, or, without one, to observe
    /// its route.
    fn solicit(&mut self, flow: FlowKey, packet: Option<&[u8]>) {
        let (now, mut solicitation) = (self.clock.now(), Vec::new());
        if !self.shim.solicit(now, flow, &mut solicitation) {
            return;
        }
        if self.carriers.load(now, flow, packet) {
            self.inject(&solicitation);
        } else {
            self.account.refused += 1;
        }
    }

    /// Reviews the routes of flows whose segments found no carrier acknowledgment, which is
    /// impossible without a route, and of flows with parked packets.
    fn expire_carriers(&mut self) {
        let now = self.clock.now();
        if self.carriers.next_timeout().is_some_and(|at| at <= now) {
            let expired = self.carriers.expire(now);
            self.uncarried
                .extend(expired.into_iter().filter(|(flow, _)| !self.links.is_dead(*flow)));
        }
        let flows: BTreeSet<FlowKey> =
            self.uncarried.keys().chain(self.parked.fresh()).copied().collect();
        if !flows.is_empty() {
            let flows = Vec::from_iter(flows);
            self.review(&flows, false);
        }
    }

    /// Starts a route review of these flows, or of all flows.
    fn review(&mut self, flows: &[FlowKey], all: bool) {
        if self.links.look_at(self.clock.now(), flows, all) {
            for flow in flows {
                self.solicit(*flow, None);
            }
        }
    }

    /// Starts due route reviews, and processes results.
    fn review_links(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if self.links.wants_review(now) {
            let flows: Vec<FlowKey> = self.shim.flows().map(|flow| flow.key).collect();
            self.review(&flows, true);
        }
        self.links.conclude(now);
        for (flow, way, changed) in self.links.found()? {
            // Later answers are not needed.
            self.carriers.forget_questions(flow);
            let taken = self.uncarried.remove(&flow);
            if let (Way::Unknown, Some(taken)) = (way, taken) {
                debug!(flow = %ends(flow), taken, "no carrier");
                self.shim.on_not_carried(flow, taken);
            }
            if changed {
                self.on_way(flow, way != Way::Dead);
            }
            self.parked.on_look(flow);
        }
        self.send_own()?;
        for (flow, packet) in self.parked.take(|flow| self.links.is_dead(flow)) {
            self.solicit(flow, Some(&packet));
        }
        Ok(())
    }

    /// Signals to the shim that a flow's route has failed, or is usable again.
    fn on_way(&mut self, flow: FlowKey, is_there: bool) {
        info!(flow = %ends(flow), is_there, "this host's route");
        let kind = if is_there { SignalKind::RouteRestored } else { SignalKind::RouteFailed };
        let mut signal = Signal::of(kind);
        signal.about.flow = Some(flow);
        signal.about.destination = Some(flow.destination.address);
        self.shim.on_signal(self.clock.now(), &signal);
    }

    /// Answers status requests.
    fn answer(&mut self) {
        // EWOULDBLOCK: nothing was written.
        let _ = self.asker.wake.read();
        match self.rules.counts().and_then(|counts| Ok((counts, Pieces::count()?))) {
            Ok((counts, now)) => self.unseen = Unseen::of(&counts, self.pieces, now),
            Err(error) => warn!(%error, "counters of other packets are not available"),
        }
        while let Ok(question) = self.questions.try_recv() {
            let snapshot = Snapshot {
                lasted: self.clock.now().since(Instant::ZERO),
                counts: *self.shim.counts(),
                account: self.account,
                unseen: self.unseen,
                memory: self.shim.memory(),
                flows: self.shim.flows().collect(),
            };
            // The requester may have gone.
            let _ = question.try_send(snapshot);
        }
    }

    /// Logs changes of flows' states.
    fn tell(&mut self) {
        let Counts { outages, survived, .. } = *self.shim.counts();
        if self.told == (outages, survived) {
            return;
        }
        self.told = (outages, survived);
        let states = self.shim.flows().map(|flow| (flow.key, flow.state)).collect();
        let before = std::mem::replace(&mut self.states, states);
        for flow in self.shim.flows() {
            let place = before.binary_search_by_key(&flow.key, |(key, _)| *key);
            let was = place.map_or("open", |place| before[place].1);
            let ends = ends(flow.key);
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

    /// Waits for packets, timers, route events, status requests or the end.
    fn wait(&self, more: bool, stop: BorrowedFd<'_>) -> io::Result<Woken> {
        let (asked, judge) = (self.asker.wake.as_fd(), self.links.judge());
        let fds = [self.queue.as_fd(), self.links.as_fd(), asked, stop, judge];
        let mut watched = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let wanted =
            [self.shim.next_timeout(), self.carriers.next_timeout(), self.links.next_timeout()];
        let next = wanted.into_iter().flatten().fold(self.alive.due(), Instant::min);
        let timeout = if more { Duration::ZERO } else { self.clock.until(next) };
        match ppoll(&mut watched, Some(span(timeout)), None) {
            Err(Errno::EINTR) => return Ok(Woken::default()),
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        let [_, news, asked, stop, _] = watched.map(|fd| fd.any().unwrap_or(true));
        Ok(Woken { news, asked, stop })
    }
}

fn span(span: Duration) -> TimeSpec {
    TimeSpec::from_duration(std::time::Duration::from_nanos(span.as_nanos()))
}

/// The headers of a packet, zero-padded.
fn headers(packet: &[u8]) -> [u8; HEADERS] {
    let mut headers = [0; HEADERS];
    headers.iter_mut().zip(packet).for_each(|(to, from)| *to = *from);
    headers
}

/// Both endpoints of a flow, for logs.
fn ends(FlowKey { source, destination }: FlowKey) -> String {
    format!("{}:{} {}:{}", source.address, source.port, destination.address, destination.port)
}

/// Reasons for a wake-up besides packets and timers.
#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    news: bool,
    asked: bool,
    stop: bool,
}
