//! Two of driftway's own TCPs, each with or without a shim below, and a network that loses,
//! reorders, duplicates, marks, queues and fails, with real bytes in virtual time.

use std::collections::BTreeMap;

use driftway_base::SignalKind;
use driftway_base::{
    Duration, Ecn, Endpoint, Instant, Ipv4Addr, Probability, RandomStream, Seq, Signal,
};
use driftway_shim::{PacketAction, PacketDestination, Shim};
use driftway_tcp::{Clock, Config, Connection, ControlKind, DelayedAck, RecoveryKind};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpSegment, UnreachableCode,
};

pub const MS: fn(u64) -> Duration = Duration::from_millis;

/// driftway's TCP configured as close to Linux as possible.
pub fn like_linux(growth: ControlKind) -> Config {
    Config {
        recovery: RecoveryKind::RackTlp,
        growth,
        mss: 1460,
        receive_buffer: 1 << 20,
        clock: Clock::uniform(MS(1), Duration::ZERO),
        delayed_ack: Some(DelayedAck { timeout: MS(40), on_tick: false }),
        sack: true,
        timestamps: true,
        window_scale: true,
        ecn: true,
        dsack: true,
        eifel: true,
        prr: true,
        min_rto: MS(200),
        max_rto: Duration::from_secs(120),
        ..Config::default()
    }
}

/// The path in either direction.
#[derive(Clone, Debug)]
pub struct Path {
    pub bits_per_second: u64,
    pub delay: Duration,
    /// Loss probability of packets with data, and of others.
    pub loss: [f64; 2],
    /// Probability and length of an extra delay.
    pub late: (f64, Duration),
    pub doubled: f64,
    /// Queue limit, and marking threshold (bytes).
    pub queue: u64,
    pub mark: u64,
    /// Intervals in which nothing passes, and packets in flight are lost.
    pub cuts: Vec<(Instant, Instant)>,
    /// The cut is at the first host's own link: packets that it has already sent arrive.
    pub edge: bool,
    /// Probability that a router reports an undeliverable packet.
    pub icmp: f64,
    /// Both hosts signal their link's failures and recoveries.
    pub link_signals: bool,
}

impl Path {
    /// 10 Mbit/s, RTT 40 ms, no impairment.
    pub fn clean() -> Self {
        Self {
            bits_per_second: 10_000_000,
            delay: MS(20),
            loss: [0.0; 2],
            late: (0.0, Duration::ZERO),
            doubled: 0.0,
            queue: 120_000,
            mark: 60_000,
            cuts: Vec::new(),
            edge: false,
            icmp: 1.0,
            link_signals: false,
        }
    }
    fn is_cut(&self, from: Instant, to: Instant) -> bool {
        self.cuts.iter().any(|(start, end)| *start <= to && from < *end)
    }
}

/// The packets that a host lets pass by the shim: a connection's first bytes, for a time, as the kernel's rules
/// do.
#[derive(Clone, Copy, Debug)]
pub struct YoungRule {
    pub bytes: u32,
    pub time: Duration,
    /// Time of the host's own SYN or SYN-ACK.
    since: Option<Instant>,
}

impl YoungRule {
    pub fn new(bytes: u32, time: Duration) -> Self {
        Self { bytes, time, since: None }
    }

    /// Returns whether this packet passes, and whether the shim gets a copy.
    fn on_packet(&mut self, now: Instant, bytes: &[u8], is_outgoing: bool) -> (bool, bool) {
        let flags = TcpFlags(bytes[33]);
        let syn = flags.contains(TcpFlags::SYN);
        if bytes[9] != 6 {
            return (false, false);
        }
        if syn && is_outgoing {
            self.since = Some(now);
        } else if syn && !flags.contains(TcpFlags::ACK) {
            return (true, false);
        }
        let is_young = self.since.is_some_and(|since| now.since(since) < self.time);
        let Some(left) = self.bytes.checked_sub(bytes.len() as u32).filter(|_| is_young) else {
            // The quota stays exceeded.
            self.bytes = if is_young { 0 } else { self.bytes };
            return (false, false);
        };
        self.bytes = left;
        let ends = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
        (true, flags.intersects(ends))
    }
}

pub struct TestHost {
    pub tcp: Connection,
    pub shim: Option<Shim>,
    pub young: Option<YoungRule>,
    /// Its packets pass, and the shim gets copies.
    pub is_watched: bool,
    iss: Seq,
    /// Bytes still to be written once the connection is open.
    pub writes: u64,
    /// Bytes read, each compared.
    pub read: u64,
    /// The application reads.
    pub is_reading: bool,
    /// The highest acknowledgment number that its TCP has sent.
    acknowledged: Option<Seq>,
    /// The highest acknowledgment number that it has put into the network.
    shown: Option<Seq>,
    /// Number of wake-ups of the shim, and of the packets it has sent by itself.
    pub wakes: u64,
    pub acks_sent: u64,
    /// Times at which bytes were read, to measure the time to resume.
    pub progress: Vec<(Instant, u64)>,
}

enum Event {
    Arrives { to: usize, bytes: Vec<u8> },
    Link { up: bool },
    Lie(ForgedSignal),
}

/// A false signal, by an attacker who knows the connection, or by mistake.
#[derive(Clone, Copy, Debug)]
pub enum ForgedSignal {
    /// A router reports the client's data in flight as undeliverable.
    Icmp,
    /// Both hosts' links fail, or recover.
    Link { up: bool },
}

pub struct TestNetwork {
    pub now: Instant,
    pub ends: [TestHost; 2],
    pub path: Path,
    /// Limits on the shims' memory.
    pub bounds: driftway_shim::Config,
    busy: [Instant; 2],
    events: BTreeMap<(Instant, u64), Event>,
    number: u64,
    random: RandomStream,
    /// Packets to the second host, and drops by the queues.
    pub offered: u64,
    pub drops: u64,
    pub marks: u64,
    pub steps: u64,
    has_jumped: bool,
}

fn address(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + end as u8)
}

/// The ICMP error of a router for `packet`.
fn unreachable(packet: &Packet) -> Option<Vec<u8>> {
    let message = |quoted| IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted };
    let error = Packet::icmp_error(Ipv4Addr::new(10, 9, 9, 9), packet, message)?;
    let mut bytes = vec![0; error.len() as usize];
    error.encode(&mut bytes, Payload::fill_pattern).expect("it fits");
    Some(bytes)
}

impl TestNetwork {
    pub fn new(config: &Config, shims: [Option<Shim>; 2], path: Path, seed: u64) -> Self {
        let (a, b) = (Endpoint::new(address(0), 4000), Endpoint::new(address(1), 80));
        let mut random = RandomStream::new(seed, "numbers", 0);
        // Often near the wrap.
        let mut iss = || Seq((random.uniform_below(2_000_000) as u32).wrapping_sub(1_000_000));
        let numbers = [iss(), iss()];
        let client = Connection::connect(config, a, b, numbers[0], 1, Instant::ZERO);
        let server = Connection::listen(config, b, numbers[1], 2);
        let mut sides = [client, server].into_iter().zip(shims).zip(numbers);
        let mut end = || {
            let ((tcp, shim), iss) = sides.next().expect("two");
            TestHost {
                tcp,
                shim,
                young: None,
                is_watched: false,
                iss,
                writes: 0,
                read: 0,
                is_reading: true,
                acknowledged: None,
                shown: None,
                wakes: 0,
                acks_sent: 0,
                progress: Vec::new(),
            }
        };
        let mut world = Self {
            now: Instant::ZERO,
            ends: [end(), end()],
            busy: [Instant::ZERO; 2],
            events: BTreeMap::new(),
            number: 0,
            random: RandomStream::new(seed, "path", 0),
            offered: 0,
            drops: 0,
            marks: 0,
            steps: 0,
            has_jumped: false,
            path,
            bounds: driftway_shim::Config::default(),
        };
        if world.path.link_signals {
            for (start, end) in world.path.cuts.clone() {
                world.schedule(start, Event::Link { up: false });
                world.schedule(end, Event::Link { up: true });
            }
        }
        world
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }
    /// Schedules a forged signal.
    pub fn schedule_forged(&mut self, at: Instant, lie: ForgedSignal) {
        self.schedule(at, Event::Lie(lie));
    }
    fn hits(&mut self, probability: f64) -> bool {
        self.random.bernoulli(Probability::from_f64(probability))
    }

    /// Sends a packet from the host `from`.
    fn transmit(&mut self, from: usize, mut bytes: Vec<u8>) {
        let packet = Packet::decode(&bytes).expect("sent packets are valid").packet;
        let has_data = packet.payload().len > 0;
        self.check_shown(from, &packet);
        if self.path.is_cut(self.now, self.now) {
            if self.hits(self.path.icmp)
                && let Some(bytes) = unreachable(&packet)
            {
                self.schedule(self.now + MS(2), Event::Arrives { to: from, bytes });
            }
            return;
        }
        self.offered += u64::from(from == 0);
        let waiting = self.busy[from].since(self.now).as_nanos() as u128;
        let backlog = (waiting * u128::from(self.path.bits_per_second) / 8_000_000_000) as u64;
        if backlog + bytes.len() as u64 > self.path.queue {
            self.drops += 1;
            return;
        }
        if backlog >= self.path.mark && packet.ip.ecn.is_capable() {
            self.marks += 1;
            let payload = Packet::decode(&bytes).expect("as before").payload.to_vec();
            let Packet { ip, body } = packet;
            let marked = Packet { ip: IpHeader { ecn: Ecn::Ce, ..ip }, body };
            marked.encode(&mut bytes, |_, to| to.copy_from_slice(&payload)).expect("it fits");
        }
        let nanos = bytes.len() as u64 * 8_000_000_000 / self.path.bits_per_second;
        let gone = self.busy[from].max(self.now) + Duration::from_nanos(nanos);
        self.busy[from] = gone;
        if self.hits(self.path.loss[usize::from(!has_data)]) {
            return;
        }
        let (late, span) = self.path.late;
        let copies = if self.hits(self.path.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let extra = if self.hits(late) { span } else { Duration::ZERO };
            let at = gone + self.path.delay + extra;
            let from_when = match (self.path.edge, from) {
                (false, _) => Some(self.now),
                (true, 0) => None,
                (true, _) => Some(at),
            };
            if !from_when.is_some_and(|when| self.path.is_cut(when, at)) {
                self.schedule(at, Event::Arrives { to: 1 - from, bytes: bytes.clone() });
            }
        }
    }

    /// Checks that the acknowledgment number is at most that of the host's own TCP, and not lower
    /// than an earlier one.
    fn check_shown(&mut self, from: usize, packet: &Packet) {
        let Body::Tcp(segment) = packet.body else { return };
        let flags = segment.flags;
        if !flags.contains(TcpFlags::ACK) || flags.contains(TcpFlags::RST) {
            return;
        }
        let (host, ack) = (&mut self.ends[from], segment.ack);
        let own = host.acknowledged;
        assert!(own.is_some_and(|own| ack.at_or_before(own)), "{ack:?} is beyond {own:?}");
        let before = host.shown.replace(ack);
        assert!(before.is_none_or(|before| ack.at_or_after(before)), "{ack:?} after {before:?}");
    }

    /// Delivers a packet to the TCP of `to`.
    fn deliver(&mut self, to: usize, bytes: &[u8]) {
        let decoded = Packet::decode(bytes).expect("delivered packets are valid");
        let ip = decoded.packet.ip;
        let mut segment = match decoded.packet.body {
            Body::Tcp(segment) => segment,
            Body::Icmp(IcmpMessage::Unreachable { quoted, .. }) => {
                let tcp = &mut self.ends[to].tcp;
                if tcp.may_have_sent(quoted.seq()) {
                    tcp.on_unreachable(self.now, false, Some(quoted.seq()));
                }
                return;
            }
            other => panic!("{other:?}"),
        };
        let (peer_iss, acknowledged) = (self.ends[1 - to].iss, self.ends[1 - to].acknowledged);
        if segment.flags.contains(TcpFlags::ACK) {
            assert!(
                acknowledged.is_some_and(|sent| segment.ack.at_or_before(sent)),
                "acknowledged ahead of the peer: {:?} and {acknowledged:?}",
                segment.ack
            );
        }
        let end = &mut self.ends[to];
        if segment.payload.len > 0 {
            // Located in the stream by sequence number, and compared with the expected bytes.
            let next = end.read + u64::from(end.tcp.readable_bytes());
            let ahead = segment.seq.distance(peer_iss + 1 + next as u32);
            let offset = next.wrapping_add_signed(i64::from(ahead));
            segment.payload = Payload::new(2 - to as u32, offset, segment.payload.len);
            let mut expected = vec![0; decoded.payload.len()];
            segment.payload.fill_pattern(&mut expected);
            assert!(decoded.payload == expected, "other bytes at {offset}");
        }
        end.tcp.on_segment(self.now, ip.source, &segment, ip.ecn);
    }

    fn arrives(&mut self, to: usize, mut bytes: Vec<u8>) {
        let passes_by = self.passes_by(to, &bytes, false);
        let is_watched = self.ends[to].is_watched && is_tcp(&bytes);
        let pass = match &mut self.ends[to].shim {
            None => true,
            Some(_) if passes_by => true,
            Some(shim) if is_watched => {
                shim.on_watched(self.now, &mut bytes.clone(), false);
                true
            }
            Some(shim) => {
                let before = bytes.clone();
                let action = shim.on_incoming(self.now, &mut bytes);
                let passes = passes(action);
                assert!(!passes || (action == PacketAction::Edited) == (bytes != before));
                passes
            }
        };
        if pass {
            self.deliver(to, &bytes);
        }
        self.poll_shim(to);
    }

    /// Returns whether a packet passes by the shim, which gets a copy of what it has to know.
    fn passes_by(&mut self, at: usize, bytes: &[u8], is_outgoing: bool) -> bool {
        let end = &mut self.ends[at];
        let (Some(rule), Some(shim)) = (&mut end.young, &mut end.shim) else { return false };
        let (passes, is_copied) = rule.on_packet(self.now, bytes, is_outgoing);
        if is_copied {
            shim.on_passed_by(self.now, &bytes[..bytes.len().min(120)], is_outgoing);
        }
        passes
    }

    fn poll_shim(&mut self, at: usize) {
        let mut packet = Vec::new();
        let end = &mut self.ends[at];
        if let Some(shim) = &mut end.shim {
            end.is_watched &= shim.poll_flow_to_intercept().is_none();
            end.is_watched |= shim.poll_flow_to_watch(self.now).is_some();
        }
        let sent_before = self.ends[at].acks_sent;
        while let Some(shim) = &mut self.ends[at].shim
            && let Some(to) = shim.poll(self.now, &mut packet)
        {
            self.ends[at].acks_sent += 1;
            assert!(self.ends[at].acks_sent - sent_before < 10_000, "packets without end");
            match to {
                PacketDestination::Network => self.transmit(at, packet.clone()),
                PacketDestination::LocalTcp => self.deliver(at, &packet),
            }
        }
    }

    /// Does everything that is due at one end at this instant.
    fn drain(&mut self, at: usize) {
        loop {
            let end = &mut self.ends[at];
            end.writes -= end.tcp.write(end.writes);
            while end.is_reading
                && let Some(part) = end.tcp.read(u32::MAX)
            {
                assert_eq!((part.stream, part.offset), (2 - at as u32, end.read), "out of order");
                end.read += u64::from(part.len);
                end.progress.push((self.now, end.read));
            }
            while end.tcp.poll_event().is_some() {}
            let Some(sent) = end.tcp.poll_transmit(self.now) else { break };
            if sent.segment.flags.contains(TcpFlags::ACK) {
                let ack = sent.segment.ack;
                end.acknowledged = Some(end.acknowledged.map_or(ack, |old| old.max(ack)));
            }
            let mut ip = IpHeader::new(address(at), address(1 - at));
            ip.ecn = sent.ecn;
            let packet = Packet { ip, body: Body::Tcp(sent.segment) };
            let mut bytes = vec![0; packet.len() as usize];
            packet.encode(&mut bytes, Payload::fill_pattern).expect("it fits");
            let passes_by = self.passes_by(at, &bytes, true);
            let is_watched = self.ends[at].is_watched;
            let disposition = match &mut self.ends[at].shim {
                None => PacketAction::Pass,
                Some(_) if passes_by => PacketAction::Pass,
                Some(shim) if is_watched => {
                    shim.on_watched(self.now, &mut bytes.clone(), true);
                    PacketAction::Pass
                }
                Some(shim) => shim.on_outgoing(self.now, &mut bytes),
            };
            if passes(disposition) {
                self.transmit(at, bytes);
            }
            self.poll_shim(at);
        }
    }

    fn check(&self) {
        for end in &self.ends {
            let Some(shim) = &end.shim else { continue };
            let (used, held) = shim.memory();
            assert!(used <= held && held <= self.bounds.store, "{used} of {held}");
            let flows = || shim.flows().map(|flow| flow.stored_bytes);
            assert!(flows().all(|stored| stored <= self.bounds.store_per_flow));
            assert_eq!(flows().sum::<usize>(), used);
            assert!(
                shim.next_timeout().is_none_or(|at| at > self.now),
                "next_timeout does not advance"
            );
        }
    }

    fn next(&self) -> Option<Instant> {
        let event = self.events.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().flat_map(|end| {
            [end.tcp.next_timeout(), end.shim.as_ref().and_then(Shim::next_timeout)]
        });
        timers.chain([event]).flatten().min()
    }

    /// Advances to the next event; `false` if there is none.
    pub fn step(&mut self) -> bool {
        for at in 0..2 {
            self.drain(at);
        }
        let Some(next) = self.next() else { return false };
        assert!(next >= self.now || self.has_jumped, "time goes back");
        let next = next.max(self.now);
        (self.now, self.has_jumped) = (next, false);
        self.steps += 1;
        while let Some(entry) = self.events.first_entry().filter(|e| e.key().0 <= next) {
            match entry.remove() {
                Event::Arrives { to, bytes } => {
                    self.arrives(to, bytes);
                    self.drain(to);
                }
                Event::Link { up } | Event::Lie(ForgedSignal::Link { up }) => self.link(up),
                Event::Lie(ForgedSignal::Icmp) => self.forge(),
            }
        }
        for at in 0..2 {
            if let Some(shim) = &mut self.ends[at].shim
                && shim.next_timeout().is_some_and(|due| due <= next)
            {
                shim.on_timeout(next);
                self.ends[at].wakes += 1;
                self.poll_shim(at);
            }
            if self.ends[at].tcp.next_timeout().is_some_and(|due| due <= next) {
                self.ends[at].tcp.on_timeout(next);
            }
            self.drain(at);
        }
        self.check();
        true
    }

    fn link(&mut self, up: bool) {
        let kind = if up { SignalKind::RouteRestored } else { SignalKind::RouteFailed };
        for at in 0..2 {
            if let Some(shim) = &mut self.ends[at].shim {
                shim.on_signal(self.now, &Signal::new(kind));
                self.poll_shim(at);
            }
        }
    }

    /// Forges a message that quotes the client's data in flight, if there are any.
    fn forge(&mut self) {
        let view = self.ends[0].tcp.view();
        let Some(outstanding) = view.outstanding() else { return };
        let seq =
            outstanding.start + self.random.uniform_below(u64::from(outstanding.len())) as u32;
        let segment =
            TcpSegment { source_port: 4000, destination_port: 80, seq, ..TcpSegment::default() };
        let ip = IpHeader::new(address(0), address(1));
        let packet = Packet { ip, body: Body::Tcp(segment) };
        let bytes = unreachable(&packet).expect("an error is due");
        self.arrives(0, bytes);
        self.drain(0);
    }

    pub fn run_until(&mut self, end: Instant) {
        for at in 0..2 {
            self.drain(at);
        }
        while self.next().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }
    /// Jumps to a later instant. What was due until then is late.
    pub fn jump_to(&mut self, at: Instant) {
        (self.now, self.has_jumped) = (self.now.max(at), true);
    }
    /// Runs until there are no more events.
    pub fn run(&mut self) {
        while self.step() {
            assert!(self.steps < 5_000_000, "no end at {:?}", self.now);
        }
    }
    /// Ends the shims, by SIGKILL or, `gently`, SIGTERM.
    pub fn kill(&mut self, gently: bool) {
        for at in 0..2 {
            if let Some(shim) = self.ends[at].shim.as_mut().filter(|_| gently) {
                shim.shut_down(self.now);
                self.poll_shim(at);
            }
            self.ends[at].shim = None;
        }
    }
}

/// Pairs of hosts whose packets share the queues.
pub struct SharedNetworks {
    pub worlds: Vec<TestNetwork>,
    busy: [Instant; 2],
}

impl SharedNetworks {
    pub fn new(worlds: Vec<TestNetwork>) -> Self {
        Self { worlds, busy: [Instant::ZERO; 2] }
    }

    pub fn run_until(&mut self, end: Instant) {
        self.worlds.iter_mut().for_each(|world| (0..2).for_each(|at| world.drain(at)));
        loop {
            let next = |world: &&mut TestNetwork| world.next().unwrap_or(Instant::FAR_FUTURE);
            let Some(first) = self.worlds.iter_mut().min_by_key(next) else { return };
            if first.next().is_none_or(|next| next > end) {
                return;
            }
            first.busy = self.busy;
            first.step();
            self.busy = first.busy;
        }
    }
}

/// Returns whether it is a packet with TCP.
fn is_tcp(bytes: &[u8]) -> bool {
    bytes[9] == 6
}

/// Returns true if the packet is forwarded.
fn passes(action: PacketAction) -> bool {
    matches!(action, PacketAction::Pass | PacketAction::Edited | PacketAction::Untouched(_))
}
