//! A shim with any aid under arbitrary packets in both directions, signals and times. It does not edit
//! packets that it does not track, respects its memory limit, advances its timers, sends decodable packets,
//! and never acknowledges more than the peer did. After any input, once the path works and both endpoints
//! behave correctly, all data is delivered soon and no flow is held.

use std::collections::BTreeMap;

use driftway_base::{
    Duration, Ecn, Instant, Ipv4Addr, Seq, SeqRange, Signal, SignalKind, UnreachableScope,
};
use driftway_shim::{
    Config, CwndAfterOutage, FlowState, FlowStatus, PacketAction, PacketDestination, Shim,
    UntouchedReason,
};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps,
    UnreachableCode,
};

use crate::Bytes;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn there(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 1, host)
}

/// Aids other than the shim's default.
const OTHERS: [&str; 3] = ["atcp", "tcp-f", "cwnd-limit"];

struct Driver {
    shim: Shim,
    holds_back: bool,
    now: Instant,
    /// The last packets of the local TCP, to be quoted and repeated.
    repeats: Vec<Vec<u8>>,
    /// Sequence numbers by local port and remote host.
    flows: BTreeMap<(u16, u8), SequenceNumbers>,
}

#[derive(Default)]
struct SequenceNumbers {
    ours: Seq,
    theirs: Seq,
    /// One past the highest sequence number sent by the local TCP, for the connection that began with the
    /// last SYN; the highest number it has acknowledged; and the highest acknowledgment it has received.
    high: Seq,
    has: Seq,
    knows: Seq,
    /// One past the highest sequence number that was transmitted.
    left: Option<Seq>,
    /// The input has given the peer sequence numbers of another connection.
    strange: bool,
    /// All acknowledgment numbers of the peer; successive connections have their own sequence numbers.
    acknowledged: Vec<Seq>,
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let flags = bytes.u8();
    let config = Config {
        flows: 3,
        store_per_flow: 1 << 13,
        store: 1 << 14,
        undo_losses: flags & 1 == 0,
        undo_ack: flags & 2 == 0,
        hold_back: flags & 32 != 0,
        cwnd: if flags & 4 == 0 { CwndAfterOutage::Keep } else { CwndAfterOutage::Reset },
        suspect_after: (flags & 8 != 0).then_some(u32::from(flags >> 6)),
        ..Config::default()
    };
    // With carry the upper bits set `suspect_after`.
    let aid = if flags & 8 == 0 { usize::from(flags >> 6) } else { 0 };
    let shim =
        match OTHERS.get(aid.wrapping_sub(1)).and_then(|name| driftway_aid::registry::find(name)) {
            None => Shim::new(config),
            Some(listed) => Shim::with_aid(config, || match listed.build(&[]) {
                Ok(aid) => aid,
                Err(error) => panic!("{}: {error:?}", listed.name),
            }),
        };
    let mut driver = Driver {
        shim,
        holds_back: config.hold_back,
        now: Instant::ZERO,
        repeats: Vec::new(),
        flows: BTreeMap::new(),
    };
    while !bytes.is_empty() {
        step(&mut driver, &mut bytes);
        driver.drain();
        let (used, held) = driver.shim.memory();
        assert!(used <= held && held <= config.store);
        assert!(driver.shim.flows().count() <= config.flows);
        let stored: usize = driver.shim.flows().map(|flow| flow.stored_bytes).sum();
        assert_eq!(stored, used, "memory of no flow");
    }
    driver.cooperate();
    if flags & 16 != 0 {
        driver.shim.shut_down(driver.now);
        driver.drain();
        assert!(driver.shim.flows().all(|flow| flow.waiting == 0 && flow.state == FlowState::Open));
    }
    // No state is kept forever.
    let end = driver.now + config.forget_after.times(4);
    let mut wakes = 0;
    while let Some(at) = driver.shim.next_timeout().filter(|at| *at <= end) {
        driver.wake(at);
        wakes += 1;
        assert!(wakes < 100_000, "too many timeouts");
    }
    assert_eq!(driver.shim.memory().0, 0);
}

fn step(driver: &mut Driver, bytes: &mut Bytes) {
    match bytes.u8() % 16 {
        0 => driver.raw(bytes),
        1..=5 => driver.local(bytes),
        6..=10 => driver.peer(bytes),
        11 => driver.icmp(bytes),
        12 => {
            let kinds = [
                SignalKind::Unreachable(UnreachableScope::Net),
                SignalKind::RouteFailed,
                SignalKind::RouteRestored,
                SignalKind::EcnEcho,
            ];
            let mut signal = Signal::new(kinds[usize::from(bytes.u8()) % kinds.len()]);
            signal.details.destination = (bytes.u8() & 1 != 0).then(|| there(bytes.u8() % 3));
            driver.shim.on_signal(driver.now, &signal);
        }
        13 => {
            if let Some(at) = driver.shim.next_timeout() {
                driver.wake(at);
            }
        }
        _ => {
            let end = driver.now + Duration::from_millis(u64::from(bytes.u16()) >> 4);
            let mut wakes = 0;
            while let Some(at) = driver.shim.next_timeout().filter(|at| *at <= end) {
                driver.wake(at);
                wakes += 1;
                assert!(wakes < 50_000, "too many timeouts");
            }
            driver.now = end;
        }
    }
}

impl Driver {
    fn drain(&mut self) {
        let mut packet = Vec::new();
        let mut sent = 0;
        while let Some(to) = self.shim.poll(self.now, &mut packet) {
            sent += 1;
            assert!(sent < 1000, "too many packets");
            let decoded = match Packet::decode(&packet) {
                Ok(decoded) => decoded.packet,
                Err(error) => panic!("a packet of the shim is not decoded: {error}"),
            };
            match (to, decoded.body) {
                (PacketDestination::Network, Body::Tcp(_)) => {
                    assert_eq!(decoded.ip.source, HERE);
                    self.leaves(&packet);
                }
                (PacketDestination::LocalTcp, Body::Tcp(segment)) => {
                    assert_eq!(decoded.ip.destination, HERE);
                    self.check_ack(&decoded, &segment);
                    self.on_delivered(&packet);
                }
                (
                    PacketDestination::LocalTcp,
                    Body::Icmp(IcmpMessage::Unreachable { quoted, .. }),
                ) => {
                    assert_eq!((decoded.ip.destination, quoted.source), (HERE, HERE));
                }
                (_, other) => panic!("{other:?}"),
            }
        }
        let next = self.shim.next_timeout();
        assert!(next.is_none_or(|at| at > self.now), "an expired timer");
    }

    /// No data is acknowledged that the peer has not acknowledged.
    fn check_ack(&self, packet: &Packet, segment: &TcpSegment) {
        let host = packet.ip.source.octets()[3];
        let numbers = &self.flows[&(segment.destination_port, host)];
        let covers = |sent: &Seq| (0..1 << 20).contains(&sent.distance(segment.ack));
        assert!(numbers.acknowledged.iter().any(covers), "ACK ahead of the peer: {segment:?}");
    }

    /// The local TCP has sent a segment.
    fn sent(&mut self, packet: &[u8]) {
        let Some((key, segment)) = tcp(packet, true) else { return };
        let numbers = self.flows.entry(key).or_default();
        if segment.flags.contains(TcpFlags::SYN) {
            (numbers.high, numbers.knows) = (segment.end(), segment.end());
            (numbers.has, numbers.left, numbers.strange) = (segment.ack, None, false);
        }
        // SequenceNumbers further away do not belong to this connection (RFC 7323 §2.3).
        if (1..=1 << 30).contains(&segment.end().distance(numbers.high)) {
            numbers.high = segment.end();
        }
        if segment.flags.contains(TcpFlags::ACK) {
            numbers.has = numbers.has.max(segment.ack);
        }
    }

    /// A segment of the local TCP is transmitted.
    fn leaves(&mut self, packet: &[u8]) {
        let Some((key, segment)) = tcp(packet, true) else { return };
        let Some(numbers) = self.flows.get_mut(&key) else { return };
        if segment.sequence_len() > 0 && segment.end().at_or_before(numbers.high) {
            let end = segment.end();
            numbers.left = Some(numbers.left.map_or(end, |left| left.max(end)));
        }
    }

    /// The local TCP receives a segment.
    fn on_delivered(&mut self, packet: &[u8]) {
        let Some((key, segment)) = tcp(packet, false) else { return };
        let Some(numbers) = self.flows.get_mut(&key) else { return };
        if segment.flags.contains(TcpFlags::ACK) && segment.ack.at_or_before(numbers.high) {
            numbers.knows = numbers.knows.max(segment.ack);
        }
    }

    /// Lets the path work from now on: the peer acknowledges all data, and the local TCP sends new data twice,
    /// and retransmits every second what is unacknowledged. Each time all data must be delivered soon, or a
    /// flow that is still disconnected must have no data left to probe with. The input determines the
    /// round-trip time. The bound is the shim's two seconds, two RTOs of the local TCP for data that only it
    /// can retransmit, and the repair timeout where twenty round trips are longer than that.
    fn cooperate(&mut self) {
        let followed =
            |flow: &FlowStatus| (flow.key.source.port, flow.key.destination.address.octets()[3]);
        let flows: Vec<_> = self.shim.flows().map(|flow| followed(&flow)).collect();
        let round_trips = self.shim.flows().filter_map(|flow| flow.srtt);
        let longest = round_trips.max().unwrap_or(Duration::ZERO);
        for _ in 0..2 {
            self.cooperate_for(Duration::from_secs(4) + longest.times(20), &flows);
            for flow in self.shim.flows().filter(|flow| !self.flows[&followed(flow)].strange) {
                assert_eq!((flow.outstanding, flow.waiting), (0, 0), "{flow:?}");
                assert!(
                    matches!(flow.state, FlowState::Open | FlowState::Disconnected),
                    "{flow:?}"
                );
            }
        }
    }

    fn cooperate_for(&mut self, span: Duration, flows: &[(u16, u8)]) {
        let end = self.now + span;
        for key in flows {
            let high = self.flows[key].high;
            self.sends(*key, high, 100);
        }
        let mut step = 0;
        while self.now < end {
            step += 1;
            let until = self.now + Duration::from_millis(50);
            while let Some(at) = self.shim.next_timeout().filter(|at| *at <= until) {
                self.wake(at);
            }
            self.now = until;
            for key in flows {
                if step % 20 == 0 {
                    let SequenceNumbers { knows, high, .. } = self.flows[key];
                    self.sends(*key, knows, high.since(knows).min(1400));
                }
                self.acknowledges(*key);
            }
        }
    }

    /// The local TCP of a flow sends `len` bytes from `seq` on.
    fn sends(&mut self, (port, host): (u16, u8), seq: Seq, len: u32) {
        let millis = self.now.as_millis() as u32;
        let Some(numbers) = self.flows.get(&(port, host)).filter(|_| len > 0) else { return };
        let segment = TcpSegment {
            source_port: port,
            destination_port: 80,
            seq,
            ack: numbers.has,
            flags: TcpFlags::ACK,
            window: 60_000,
            options: stamped(millis),
            payload: Payload::new(1, 0, len),
            ..TcpSegment::default()
        };
        let ip = IpHeader::new(HERE, there(host));
        self.outgoing(encode(Packet { ip, body: Body::Tcp(segment) }));
        self.drain();
    }

    /// The peer acknowledges all transmitted data.
    fn acknowledges(&mut self, (port, host): (u16, u8)) {
        let millis = self.now.as_millis() as u32;
        let Some(numbers) = self.flows.get_mut(&(port, host)) else { return };
        let Some(ack) = numbers.left.take() else { return };
        numbers.acknowledged.push(ack);
        let segment = TcpSegment {
            source_port: 80,
            destination_port: port,
            seq: numbers.has,
            ack,
            flags: TcpFlags::ACK,
            window: 60_000,
            options: stamped(millis),
            ..TcpSegment::default()
        };
        let ip = IpHeader::new(there(host), HERE);
        let action = self.incoming(encode(Packet { ip, body: Body::Tcp(segment) }));
        if action == PacketAction::Untouched(UntouchedReason::Implausible)
            && let Some(numbers) = self.flows.get_mut(&(port, host))
        {
            numbers.strange = true;
        }
        self.drain();
    }

    fn wake(&mut self, at: Instant) {
        assert!(at >= self.now, "a timer in the past");
        self.now = at;
        self.shim.on_timeout(at);
        self.drain();
    }

    fn outgoing(&mut self, mut packet: Vec<u8>) {
        let before = packet.clone();
        let action = self.shim.on_outgoing(self.now, &mut packet);
        if !matches!(action, PacketAction::Untouched(_)) {
            self.sent(&packet);
        }
        assert_eq!(action == PacketAction::Edited, packet != before);
        if matches!(action, PacketAction::Pass | PacketAction::Edited) {
            self.leaves(&packet);
        }
        if self.holds_back {
            assert_eq!(Packet::decode(&packet).is_ok(), Packet::decode(&before).is_ok());
        } else {
            assert_eq!(packet, before, "an outgoing packet was edited");
        }
        if self.repeats.len() == 16 {
            self.repeats.remove(0);
        }
        self.repeats.push(packet);
    }

    fn incoming(&mut self, mut packet: Vec<u8>) -> PacketAction {
        let before = packet.clone();
        let action = self.shim.on_incoming(self.now, &mut packet);
        match action {
            PacketAction::Pass | PacketAction::Edited => {
                assert_eq!(action == PacketAction::Edited, packet != before);
                if let Ok(decoded) = Packet::decode(&before) {
                    assert!(Packet::decode(&packet).is_ok(), "no longer decodable: {decoded:?}");
                }
                self.on_delivered(&packet);
            }
            PacketAction::Untouched(_) | PacketAction::Stored | PacketAction::Discarded(_) => {
                assert_eq!(packet, before, "an untracked packet was edited");
            }
        }
        action
    }

    /// Arbitrary bytes, or an earlier packet with a few bytes changed.
    fn raw(&mut self, bytes: &mut Bytes) {
        let out = bytes.u8() & 1 != 0;
        let mut packet: Vec<u8> = match self.repeats.get(usize::from(bytes.u8()) % 24) {
            Some(sent) => sent.clone(),
            None => (0..bytes.u8()).map(|_| bytes.u8()).collect(),
        };
        for _ in 0..bytes.u8() % 4 {
            let (at, value) = (usize::from(bytes.u8()), bytes.u8());
            if let Some(byte) = packet.get_mut(at) {
                *byte ^= value;
            }
        }
        if out {
            self.outgoing(packet);
        } else {
            self.incoming(packet);
        }
    }

    fn stamps(&self, bytes: &mut Bytes, syn: bool) -> Option<Timestamps> {
        let millis = (self.now.as_nanos() / 1_000_000) as u32;
        let value = millis.wrapping_sub(u32::from(bytes.u8()));
        let echo = millis.wrapping_sub(u32::from(bytes.u16()) >> 4);
        (!syn || !bytes.u8().is_multiple_of(8)).then_some(Timestamps { value, echo })
    }

    fn flags(bytes: &mut Bytes) -> TcpFlags {
        let flags = bytes.u8();
        match flags {
            0..160 => TcpFlags::ACK,
            160..176 => TcpFlags::ACK.with(TcpFlags::FIN),
            176..200 => TcpFlags::SYN,
            200..224 => TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE),
            224..236 => TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR),
            236..244 => TcpFlags::ACK.with(TcpFlags::ECE),
            _ => TcpFlags(bytes.u8()),
        }
    }

    fn local(&mut self, bytes: &mut Bytes) {
        let (port, host) = (u16::from(bytes.u8() % 3), bytes.u8() % 3);
        if bytes.u8().is_multiple_of(8)
            && let Some(again) = self.repeats.get(usize::from(bytes.u8()) % 16).cloned()
        {
            return self.outgoing(again);
        }
        let flags = Self::flags(bytes);
        let syn = flags.contains(TcpFlags::SYN);
        let options = TcpOptions {
            timestamps: self.stamps(bytes, syn),
            sack_permitted: syn,
            ..TcpOptions::default()
        };
        let numbers = self.flows.entry((port, host)).or_default();
        let back = u32::from(bytes.u8().is_multiple_of(4)) * u32::from(bytes.u16());
        let len = if syn { 0 } else { u32::from(bytes.u16() % 1400) };
        let segment = TcpSegment {
            source_port: port,
            destination_port: 80,
            seq: if syn { Seq(bytes.u32()) } else { numbers.ours - back },
            ack: numbers.theirs,
            flags,
            window: bytes.u16(),
            options,
            payload: Payload::new(1, 0, len),
            ..TcpSegment::default()
        };
        let taken = len + u32::from(syn) + u32::from(flags.contains(TcpFlags::FIN));
        numbers.ours = segment.seq + taken;
        let mut ip = IpHeader::new(HERE, there(host));
        ip.ecn = Ecn::from_bits(bytes.u8());
        self.outgoing(encode(Packet { ip, body: Body::Tcp(segment) }));
    }

    fn peer(&mut self, bytes: &mut Bytes) {
        let (port, host) = (u16::from(bytes.u8() % 3), bytes.u8() % 3);
        let flags = Self::flags(bytes);
        let syn = flags.contains(TcpFlags::SYN);
        let mut options = TcpOptions {
            timestamps: self.stamps(bytes, syn),
            sack_permitted: syn,
            ..TcpOptions::default()
        };
        let numbers = self.flows.entry((port, host)).or_default();
        let ack = numbers.ours - (u32::from(bytes.u8().is_multiple_of(4)) * u32::from(bytes.u16()));
        if !syn {
            for _ in 0..bytes.u8() % 4 {
                let start = ack + u32::from(bytes.u16() >> 2);
                options.sack.push(SeqRange::new(start, start + u32::from(bytes.u16() >> 3)));
            }
        }
        let len = if syn { 0 } else { u32::from(bytes.u8() % 100) };
        let segment = TcpSegment {
            source_port: 80,
            destination_port: port,
            seq: if syn { Seq(bytes.u32()) } else { numbers.theirs },
            ack,
            flags,
            window: bytes.u16(),
            options,
            payload: Payload::new(2, 0, len),
            ..TcpSegment::default()
        };
        let taken = len + u32::from(syn) + u32::from(flags.contains(TcpFlags::FIN));
        numbers.theirs = segment.seq + taken;
        if flags.contains(TcpFlags::ACK) {
            numbers.acknowledged.push(ack);
        }
        let ip = IpHeader::new(there(host), HERE);
        self.incoming(encode(Packet { ip, body: Body::Tcp(segment) }));
    }

    /// A router sends an ICMP error about an earlier packet.
    fn icmp(&mut self, bytes: &mut Bytes) {
        let code = match bytes.u8() % 4 {
            0 => UnreachableCode::Net,
            1 | 2 => UnreachableCode::Host,
            _ => UnreachableCode::FragmentationNeeded { mtu: bytes.u16() },
        };
        let choice = usize::from(bytes.u8()) % 16;
        let Some(quoted) = self.repeats.get(choice).and_then(|sent| Packet::decode(sent).ok())
        else {
            return;
        };
        let message = |quoted| IcmpMessage::Unreachable { code, quoted };
        if let Some(error) = Packet::icmp_error(there(9), &quoted.packet, message) {
            self.incoming(encode(error));
        }
    }
}

/// The segment of a packet and its flow.
fn tcp(packet: &[u8], out: bool) -> Option<((u16, u8), TcpSegment)> {
    let decoded = Packet::decode(packet).ok()?.packet;
    let Body::Tcp(segment) = decoded.body else { return None };
    let key = match out {
        true => (segment.source_port, decoded.ip.destination.octets()[3]),
        false => (segment.destination_port, decoded.ip.source.octets()[3]),
    };
    Some((key, segment))
}

fn stamped(millis: u32) -> TcpOptions {
    let timestamps = Some(Timestamps { value: millis, echo: millis });
    TcpOptions { timestamps, ..TcpOptions::default() }
}

fn encode(packet: Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    match packet.encode(&mut bytes, Payload::fill_pattern) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}
