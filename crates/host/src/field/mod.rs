//! The shim at work below this host's own TCP.
//!
//! The kernel stops the host's TCP packets, and the ICMP errors that it gets, right below TCP: what
//! leaves before connection tracking, routing of the device and segmentation are over, what arrives
//! when the firewall has let it in. It asks a [`Queue`](queue::Queue) what is to become of each. What
//! asks is a table of nf_tables that belongs to this process: however it ends, the kernel removes the
//! table, and until it has done so lets pass what nobody takes. No route, rule, address, device or
//! setting is changed, so there is nothing to be put back.

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

/// Packets that are worked off before their verdicts go to the kernel.
const BATCH: usize = 64;
/// Whoever asks waits no longer than this for somebody who works.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
/// The longest IP and TCP headers (bytes): nothing behind them is ever changed.
const HEADERS: usize = 120;

/// How long an orderly end waits for what the shim keeps to leave.
const LETTING_GO: Duration = Duration::from_millis(100);

/// What it is to do.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The interfaces whose connections it carries; none named: all but the loopback one.
    pub interfaces: Vec<String>,
    /// How.
    pub shim: Config,
}

/// The shim below the TCP of a network namespace, from [`start`](Field::start) until it is dropped.
pub struct Field {
    // In this order: while the rules are there, the queue has to be, or what is in it is dropped.
    rules: Rules,
    queue: Queue,
    injector: Injector,
    carriers: Carriers,
    /// Flows of which something found no carrier, and whether one had taken it; to be looked at.
    uncarried: BTreeMap<FlowKey, bool>,
    parked: Parked,
    links: Links,
    alive: Alive,
    /// Is called each time that the rules are told that we work.
    heartbeat: Box<dyn FnMut() + Send>,
    shim: Shim,
    clock: RealClock,
    account: Account,
    /// Before it began.
    pieces: Pieces,
    unseen: Unseen,
    /// Outages that had begun and were survived when that was last told.
    told: (u64, u64),
    states: Vec<(FlowKey, &'static str)>,
    questions: Receiver<SyncSender<Snapshot>>,
    asker: Asker,
    made: Vec<u8>,
}

/// What the driver itself did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that the local TCP sent.
    pub outgoing: u64,
    /// Packets that arrived.
    pub incoming: u64,
    /// Packets that went on with other bytes than they came with.
    pub changed: u64,
    /// Packets of the shim's own, into the network, each in the place of one of the local TCP's.
    pub sent: u64,
    /// Packets of the shim's own, to the local TCP. Most have it send what carries another.
    pub made_up: u64,
    /// Packets of the shim's own that the kernel did not take, or for which there was no room.
    pub refused: u64,
    /// Packets, the shim's own and the local TCP's, that did not leave when they were due, because this
    /// host's own link was down.
    pub unsent: u64,
    /// Times that a link or route came or went.
    pub news: u64,
}

impl Account {
    /// Each count with its name, in the order of the fields.
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

/// How everything stands.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// How long it has been at work.
    pub lasted: Duration,
    /// What the shim counts.
    pub counts: Counts,
    /// What the driver counts.
    pub account: Account,
    /// What the kernel counts and shows to nobody.
    pub unseen: Unseen,
    /// Bytes of stored packets, and bytes held for them in all.
    pub memory: (usize, usize),
    /// The flows that are followed, in the order of their keys.
    pub flows: Vec<FlowStatus>,
}

/// Asks a [`Field`] at work, from another thread.
#[derive(Clone, Debug)]
pub struct Asker {
    questions: Sender<SyncSender<Snapshot>>,
    wake: Arc<EventFd>,
}

impl Asker {
    /// How everything stands; `None` if it works no more, or does not answer within a second.
    pub fn ask(&self) -> Option<Snapshot> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.questions.send(answer).ok()?;
        self.wake.write(1).ok()?;
        answered.recv_timeout(PATIENCE).ok()
    }
}

impl Field {
    /// Begins to stop packets in the calling thread's namespace; they wait until [`run`](Self::run).
    /// If that has not begun within a second, packets pass until it has.
    ///
    /// # Errors
    /// `AddrInUse`: another one is at work in this namespace. Otherwise any error of the kernel; see
    /// [`lacks`] for what it takes.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        Self::start_with(&settings.interfaces, Shim::new(settings.shim))
    }

    /// The same with a shim that has been made, with another aid, say.
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

    /// Removes what one has left that was killed. There is nothing, unless the kernel is at fault;
    /// says whether there was.
    ///
    /// # Errors
    /// `AddrInUse`: one is at work. Otherwise any error of the kernel.
    pub fn undo() -> io::Result<bool> {
        let found = Rules::remove_leftover()?;
        // It can be had, so nobody has it.
        Queue::open().map(drop)?;
        Ok(found)
    }

    /// Has `heartbeat` called four times a second, as long as this one works. It must not block.
    pub fn on_heartbeat(&mut self, heartbeat: impl FnMut() + Send + 'static) {
        self.heartbeat = Box::new(heartbeat);
    }

    /// One that other threads may ask with.
    pub fn asker(&self) -> Asker {
        self.asker.clone()
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
            // What waits in the queue may be a carrier.
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

    /// Lets everything go: what the shim keeps leaves while carriers are still stopped, then nothing is
    /// stopped any more, and what had been before is worked off.
    fn let_go(&mut self) -> io::Result<()> {
        self.shim.let_go(self.clock.now());
        self.send_own()?;
        let end = self.clock.now() + LETTING_GO;
        while !self.carriers.is_empty() && self.clock.now() < end {
            self.wait_for_packets(Duration::from_millis(1))?;
            while self.take_in()? && self.clock.now() < end {}
        }
        // Whoever changes nf_tables just now is waited for.
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

    /// Works off packets; are there more?
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

    /// Does with a packet, whose headers were these, what the shim wants.
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

    /// A carrier is about to leave.
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

    /// Sends what the shim has to send, as far as there is room for it on its way to carriers.
    fn send_own(&mut self) -> io::Result<()> {
        let mut made = std::mem::take(&mut self.made);
        while !self.carriers.is_full()
            && let Some(to) = self.shim.poll(self.clock.now(), &mut made)
        {
            // What was shown before goes before.
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

    /// A packet of the shim's arrives for the local TCP.
    fn inject(&mut self, packet: &[u8]) {
        self.account.made_up += 1;
        if let Err(error) = self.injector.send(packet) {
            // As if the network had lost it, which the shim is made for.
            self.account.refused += 1;
            if self.account.refused.is_power_of_two() {
                warn!(%error, refused = self.account.refused, "a packet was not taken");
            }
        }
    }

    /// Has the local TCP send a carrier for this packet, or, without one, to see how it leaves.
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

    /// Whatever had no carrier makes it look at its flow: where this host has no way at all, there can't
    /// be one. So does what the local TCP sends without one.
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

    /// Looks where the packets of these flows, or of all that there are, leave now.
    fn review(&mut self, flows: &[FlowKey], all: bool) {
        if self.links.look_at(self.clock.now(), flows, all) {
            for flow in flows {
                self.solicit(*flow, None);
            }
        }
    }

    /// A link, an address or a route has come or gone, or is to be looked at again.
    fn review_links(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if self.links.wants_review(now) {
            let flows: Vec<FlowKey> = self.shim.flows().map(|flow| flow.key).collect();
            self.review(&flows, true);
        }
        self.links.conclude(now);
        for (flow, way, changed) in self.links.found()? {
            // Whoever has not answered by now need not.
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

    /// This host knows that a flow has lost its way, or may have one again.
    fn on_way(&mut self, flow: FlowKey, is_there: bool) {
        info!(flow = %ends(flow), is_there, "this host's way");
        let kind = if is_there { SignalKind::RouteRestored } else { SignalKind::RouteFailed };
        let mut signal = Signal::of(kind);
        signal.about.flow = Some(flow);
        signal.about.destination = Some(flow.destination.address);
        self.shim.on_signal(self.clock.now(), &signal);
    }

    /// Answers whoever asks.
    fn answer(&mut self) {
        // Nothing was written if it says that it would wait.
        let _ = self.asker.wake.read();
        match self.rules.counts().and_then(|counts| Ok((counts, Pieces::count()?))) {
            Ok((counts, now)) => self.unseen = Unseen::of(&counts, self.pieces, now),
            Err(error) => warn!(%error, "the kernel does not say what went by"),
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
            // Who asked may have gone.
            let _ = question.try_send(snapshot);
        }
    }

    /// Logs which flows lost or found their path.
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

    /// Waits for packets, timers, news, questions or the end.
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

/// What of a packet may be changed; zeros behind a shorter one.
fn headers(packet: &[u8]) -> [u8; HEADERS] {
    let mut headers = [0; HEADERS];
    headers.iter_mut().zip(packet).for_each(|(to, from)| *to = *from);
    headers
}

/// Both ends of a flow, for logs.
fn ends(FlowKey { source, destination }: FlowKey) -> String {
    format!("{}:{} {}:{}", source.address, source.port, destination.address, destination.port)
}

/// What there is besides packets and timers.
#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    news: bool,
    asked: bool,
    stop: bool,
}
