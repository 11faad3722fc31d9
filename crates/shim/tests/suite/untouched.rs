//! Untouched packets: not a bit is changed, and each is counted by reason.

use crate::common::timeline::{
    HERE, THERE, TestSegment, Timeline, ack, data, encode, nth_segment, syn, syn_ack,
};
use driftway_base::{Ecn, Instant};
use driftway_shim::{Config, Counts, FlowState, PacketAction, Shim, UntouchedReason};
use driftway_wire::{
    Body, IpHeader, Packet, Payload, TcpFlags, TcpSegment, Timestamps, UdpDatagram,
};

/// Passed in both directions, the packet is untouched for `reason`.
fn untouched(shim: &mut Shim, bytes: &[u8], reason: UntouchedReason) {
    for out in [true, false] {
        let mut shown = bytes.to_vec();
        let disposition = match out {
            true => shim.on_outgoing(Instant::ZERO, &mut shown),
            false => shim.on_incoming(Instant::ZERO, &mut shown),
        };
        assert_eq!(disposition, PacketAction::Untouched(reason));
        assert_eq!(shown, bytes);
    }
}

fn segment(says: TestSegment) -> Vec<u8> {
    says.options(|o| o.timestamps = Some(Timestamps { value: 0, echo: 0 })).bytes(Instant::ZERO)
}

#[test]
fn each_kind_is_counted() {
    let mut shim = Shim::new(Config::default());
    let whole = segment(nth_segment(0));

    let mut ipv6 = vec![0x60; 60];
    ipv6[6] = 6;
    untouched(&mut shim, &ipv6, UntouchedReason::NotIpv4);
    // The first fragment, and one from the middle.
    for place in [0x20, 0x01] {
        let mut piece = whole.clone();
        piece[6] = place;
        untouched(&mut shim, &piece, UntouchedReason::Fragment);
    }
    let payload = Payload::new(1, 0, 10);
    let udp = Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload });
    let ip = IpHeader::new(HERE.address, THERE.address);
    untouched(&mut shim, &encode(&Packet { ip, body: udp }), UntouchedReason::OtherProtocol);
    untouched(&mut shim, &whole[..whole.len() - 1], UntouchedReason::Malformed);
    untouched(&mut shim, &[], UntouchedReason::Malformed);
    let mut option = whole.clone();
    // The option's length is less than its own two bytes.
    option[43] = 1;
    untouched(&mut shim, &option, UntouchedReason::Malformed);
    let mut corrupt = whole.clone();
    *corrupt.last_mut().unwrap() ^= 1;
    untouched(&mut shim, &corrupt, UntouchedReason::Corrupt);
    untouched(&mut shim, &whole, UntouchedReason::Preexisting);

    let expected = Counts {
        intercepted: 18,
        not_ipv4: 2,
        fragments: 4,
        other_protocol: 2,
        malformed: 6,
        corrupt: 2,
        preexisting: 2,
        ..Counts::default()
    };
    assert_eq!(*shim.counts(), expected);
}

/// Opens a connection with these segments, and passes the next one.
fn handshake(line: &mut Timeline, mut syn: Vec<u8>, mut answer: Vec<u8>) -> [PacketAction; 3] {
    let dispositions = [line.outgoing(&mut syn), line.incoming(&mut answer)];
    let mut data = segment(nth_segment(0));
    let third = line.outgoing(&mut data);
    [dispositions[0], dispositions[1], third]
}

/// Appends `option` to the header of a segment without payload.
fn with_option(bytes: Vec<u8>, option: [u8; 4]) -> Vec<u8> {
    let mut bytes = bytes;
    bytes.extend(option);
    let total = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[32] += 0x10;
    for (from, at) in [(0, 10), (20, 36)] {
        bytes[at..at + 2].fill(0);
        let part = if from == 0 { &bytes[..20] } else { &bytes[20..] };
        let pseudo =
            if from == 0 { 0 } else { 6 + part.len() as u32 + checksum_words(&bytes[12..20]) };
        let mut sum = checksum_words(part) + pseudo;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    bytes
}

fn checksum_words(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum()
}

#[test]
fn unknown_options() {
    let older = PacketAction::Untouched(UntouchedReason::Preexisting);
    let unknown = PacketAction::Untouched(UntouchedReason::UnknownOption);
    let [ask, answer] = [syn(), syn_ack()].map(|says| says.bytes(Instant::ZERO));
    for option in [[34, 2, 1, 1], [30, 4, 0, 0], [253, 4, 1, 2]] {
        let mut line = Timeline::new(Config::default());
        let dispositions = handshake(&mut line, with_option(ask.clone(), option), answer.clone());
        assert_eq!(dispositions, [unknown, older, older]);
        let dispositions = handshake(&mut line, ask.clone(), with_option(answer.clone(), option));
        assert_eq!(dispositions, [PacketAction::Pass, unknown, older]);
        assert_eq!((line.counts().unknown_option, line.counts().flows), (2, 0));
    }
    // The end of the option list is known.
    let mut line = Timeline::new(Config::default());
    let dispositions = handshake(&mut line, with_option(ask, [1, 1, 1, 0]), answer);
    assert_eq!(dispositions, [PacketAction::Pass; 3]);
    assert_eq!(line.shim.flows().count(), 1);
}

#[test]
fn connections_without_timestamps() {
    let older = PacketAction::Untouched(UntouchedReason::Preexisting);
    let none = PacketAction::Untouched(UntouchedReason::NoTimestamps);
    for (ask, answer) in
        [(syn().without_timestamps(), syn_ack()), (syn(), syn_ack().without_timestamps())]
    {
        let mut line = Timeline::new(Config::default());
        let [ask, answer] = [ask, answer].map(|says| says.bytes(Instant::ZERO));
        assert_eq!(handshake(&mut line, ask, answer), [PacketAction::Pass, none, older]);
        assert_eq!((line.counts().no_timestamps, line.shim.flows().count()), (1, 0));
    }
}

#[test]
fn simultaneous_open() {
    let mut line = Timeline::new(Config::default());
    line.passes(syn());
    let crossing = syn_ack().flags(TcpFlags::SYN);
    assert_eq!(line.peer(crossing).0, PacketAction::Untouched(UntouchedReason::SimultaneousOpen));
    assert_eq!(line.shim.flows().count(), 0);
}

/// A passive open.
#[test]
fn a_passive_open_is_tracked() {
    let mut line = Timeline::new(Config::default());
    let ask = syn_ack().flags(TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR));
    line.peer_passes(ask);
    let answer = syn().flags(TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE)).acking(1);
    line.passes(answer);
    line.at(100);
    line.peer_passes(ack(1, 0).carrying(1, 300));
    let status = line.status();
    assert_eq!((status.state, status.ecn, status.timestamps), (FlowState::Open, true, true));
    assert_eq!(status.srtt.map(|rtt| rtt.as_millis()), Some(100));
}

/// RFC 5961 §5: an off-path attacker changes nothing.
#[test]
fn numbers_outside_the_windows() {
    let implausible = PacketAction::Untouched(UntouchedReason::Implausible);
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    for says in [
        ack(2002, 200),
        ack(1, 200).carrying(200_000, 10),
        ack(2001, 200).seq(0x8000_0000),
        ack(0xb000_0000, 200),
    ] {
        assert_eq!(line.peer(says).0, implausible);
    }
    assert_eq!((line.status().outstanding, line.counts().implausible), (2000, 4));
    // A segment of the local TCP outside of all windows ends the tracking.
    let lost = line.local(data(0x5000_0000, 10));
    assert_eq!(lost, PacketAction::Untouched(UntouchedReason::Preexisting));
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
}

fn opening(port: u16) -> Vec<u8> {
    let mut bytes = syn().bytes(Instant::ZERO);
    let Body::Tcp(segment) = Packet::decode(&bytes).unwrap().packet.body else { panic!() };
    let segment = TcpSegment { source_port: port, ..segment };
    let ip = IpHeader { ecn: Ecn::NotEct, ..IpHeader::new(HERE.address, THERE.address) };
    bytes = encode(&Packet { ip, body: Body::Tcp(segment) });
    bytes
}

#[test]
fn a_full_table_accepts_none_until_an_entry_is_evictable() {
    let mut shim = Shim::new(Config { flows: 2, ..Config::default() });
    let mut open = |at: u64, port| shim.on_outgoing(Instant::from_millis(at), &mut opening(port));
    assert_eq!(open(0, 1), PacketAction::Pass);
    assert_eq!(open(10, 2), PacketAction::Pass);
    assert_eq!(open(20, 3), PacketAction::Untouched(UntouchedReason::NoRoom));
    // Nobody has answered for three seconds.
    assert_eq!(open(3005, 3), PacketAction::Pass);
    assert_eq!(open(3006, 4), PacketAction::Untouched(UntouchedReason::NoRoom));
    assert_eq!(open(3006, 2), PacketAction::Pass);
    assert_eq!(shim.counts().table_full, 2);
}

/// A thousand connections to one host without a path: one probes at the full rate, and all others
/// together at the same rate; when the path is back, all probe at once, and once.
#[test]
fn many_flows_probe_one_host_in_turns() {
    const FLOWS: std::ops::Range<u16> = 1000..2000;
    let mut shim = Shim::new(Config::default());
    let mut packet = Vec::new();
    let stamps = |at: u64| Some(Timestamps { value: at as u32, echo: 0 });
    for port in FLOWS {
        shim.on_outgoing(Instant::ZERO, &mut opening(port));
        let mut answer = syn_ack().segment;
        (answer.destination_port, answer.options.timestamps) = (port, stamps(0));
        let ip = IpHeader::new(THERE.address, HERE.address);
        let mut bytes = encode(&Packet { ip, body: Body::Tcp(answer) });
        assert_eq!(shim.on_incoming(Instant::from_millis(100), &mut bytes), PacketAction::Pass);
        // The first of them has no original to probe with.
        if port == FLOWS.start {
            continue;
        }
        let mut first = nth_segment(0).segment;
        (first.source_port, first.options.timestamps) = (port, stamps(100));
        let ip = IpHeader::new(HERE.address, THERE.address);
        let mut bytes = encode(&Packet { ip, body: Body::Tcp(first) });
        assert_eq!(shim.on_outgoing(Instant::from_millis(100), &mut bytes), PacketAction::Pass);
    }
    let gone = driftway_base::Signal::new(driftway_base::SignalKind::RouteFailed);
    let mut now = Instant::from_millis(150);
    shim.on_signal(now, &gone);
    let mut run = |shim: &mut Shim, now: &mut Instant, until: u64| {
        let (mut sent, mut wakes) = (Vec::new(), 0);
        loop {
            while shim.poll(*now, &mut packet).is_some() {
                sent.push(u16::from_be_bytes([packet[20], packet[21]]));
            }
            let until = Instant::from_millis(until);
            let Some(next) = shim.next_timeout().filter(|next| *next <= until) else { break };
            *now = next;
            shim.on_timeout(next);
            wakes += 1;
        }
        *now = Instant::from_millis(until);
        (sent, wakes)
    };
    // One RTT after the cut each probes once.
    let (sent, wakes) = run(&mut shim, &mut now, 260);
    assert_eq!((sent.len(), wakes), (FLOWS.len() - 1, 1));
    // Then ten probes a second by the first, and as many by all others in turns.
    let (sent, wakes) = run(&mut shim, &mut now, 100_000);
    assert_eq!((sent.len(), wakes), (2 * 997, 997), "two per wake-up");
    // One is answered.
    let mut answer = ack(1001, 0).segment;
    (answer.destination_port, answer.options.timestamps) = (1007, stamps(100));
    let ip = IpHeader::new(THERE.address, HERE.address);
    let mut bytes = encode(&Packet { ip, body: Body::Tcp(answer) });
    shim.on_incoming(now, &mut bytes);
    let (mut sent, _) = run(&mut shim, &mut now, 100_150);
    sent.retain(|port| *port != 80);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), FLOWS.len() - 2, "all probe, except those with a probe in flight");
}
