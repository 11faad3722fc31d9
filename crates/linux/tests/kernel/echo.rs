//! Packets to and from the kernel over TUN: encoded ones are accepted, received ones decode.

use driftway_base::{Duration, Ecn, Instant, Ipv4Addr, Probability, Seq};
use driftway_linux::{ImpairedTun, Impairment, Namespace, RealClock, Tun};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, IpOptions, Packet, Payload, TcpFlags, TcpOptions, TcpSegment,
    Timestamps, UdpDatagram, UnreachableCode,
};

tests![
    the_kernel_answers_an_echo,
    the_kernel_reports_a_closed_port,
    corrupt_packets_are_rejected_at_both_ends,
    the_device_delays_and_loses_packets,
];

pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub const US: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const CLOSED_PORT: u16 = 9;

/// A device into `namespace`, where the kernel has the address [`KERNEL`].
pub fn cable(namespace: &Namespace, seed: u64, to: Impairment, from: Impairment) -> ImpairedTun {
    let tun = namespace.run(|| Tun::open(KERNEL, 24, 1500)).unwrap().unwrap();
    ImpairedTun::new(tun, RealClock::start(), seed, to, from)
}

fn packet(body: Body) -> Packet {
    let ip = IpHeader {
        source: US,
        destination: KERNEL,
        ecn: Ecn::NotEct,
        dscp: 0,
        ttl: 64,
        identification: 1,
        dont_fragment: true,
        options: IpOptions::EMPTY,
    };
    Packet { ip, body }
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    let len = packet.encode(&mut bytes, |_, bytes| bytes.fill(0x5a)).unwrap();
    assert_eq!(len, bytes.len());
    bytes
}

fn echo(sequence: u16, len: u32) -> Packet {
    let payload = Payload::new(0, 0, len);
    packet(Body::Icmp(IcmpMessage::Echo { reply: false, identifier: 7, sequence, payload }))
}

/// All packets that the kernel sends within `span`.
fn listen(cable: &mut ImpairedTun, span: Duration) -> Vec<(Packet, Vec<u8>)> {
    let (end, mut bytes, mut got) = (cable.now() + span, Vec::new(), Vec::new());
    while cable.now() < end {
        while cable.receive(&mut bytes).unwrap() {
            let decoded = Packet::decode(&bytes).expect("packets of the kernel decode");
            got.push((decoded.packet, decoded.payload.to_vec()));
        }
        cable.wait(end).unwrap();
    }
    got
}

/// The first packet that the kernel sends.
fn answer(cable: &mut ImpairedTun) -> (Packet, Vec<u8>) {
    let (end, mut bytes) = (cable.now() + Duration::from_secs(5), Vec::new());
    while !cable.receive(&mut bytes).unwrap() {
        assert!(cable.now() < end, "the kernel does not answer");
        cable.wait(end).unwrap();
    }
    let decoded = Packet::decode(&bytes).expect("packets of the kernel decode");
    (decoded.packet, decoded.payload.to_vec())
}

fn the_kernel_answers_an_echo() {
    let namespace = Namespace::new().unwrap();
    let mut cable = cable(&namespace, 1, Impairment::default(), Impairment::default());
    for len in [0, 1, 56, 1472] {
        cable.send(&encode(&echo(len as u16, len))).unwrap();
        let (reply, payload) = answer(&mut cable);
        assert_eq!((reply.ip.source, reply.ip.destination), (KERNEL, US));
        let Body::Icmp(IcmpMessage::Echo { reply: true, identifier: 7, sequence, .. }) = reply.body
        else {
            panic!("{reply:?}")
        };
        assert_eq!((u32::from(sequence), &payload), (len, &vec![0x5a; len as usize]));
    }
}

fn the_kernel_reports_a_closed_port() {
    let namespace = Namespace::new().unwrap();
    let mut cable = cable(&namespace, 1, Impairment::default(), Impairment::default());

    let payload = Payload::new(0, 0, 100);
    let sent = packet(Body::Udp(UdpDatagram {
        source_port: 4000,
        destination_port: CLOSED_PORT,
        payload,
    }));
    cable.send(&encode(&sent)).unwrap();
    let (got, _) = answer(&mut cable);
    let Body::Icmp(IcmpMessage::Unreachable { code: UnreachableCode::Port, quoted }) = got.body
    else {
        panic!("{got:?}")
    };
    assert_eq!((quoted.source, quoted.destination), (US, KERNEL));
    assert_eq!(quoted.ports(), (4000, CLOSED_PORT));
    assert_eq!(u32::from(quoted.total_len), sent.len());

    let segment = TcpSegment {
        source_port: 4000,
        destination_port: CLOSED_PORT,
        seq: Seq(u32::MAX),
        flags: TcpFlags::SYN,
        window: 1000,
        options: TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..TcpOptions::default()
        },
        ..TcpSegment::default()
    };
    cable.send(&encode(&packet(Body::Tcp(segment)))).unwrap();
    let (got, _) = answer(&mut cable);
    let Body::Tcp(reset) = got.body else { panic!("{got:?}") };
    assert_eq!(reset.flags, TcpFlags::RST.with(TcpFlags::ACK));
    // RFC 9293 §3.10.7.1: it acknowledges the SYN, across the wrap.
    assert_eq!((reset.seq, reset.ack), (Seq(0), Seq(0)));
}

fn corrupt_packets_are_rejected_at_both_ends() {
    let namespace = Namespace::new().unwrap();
    let good = Impairment::default();
    let bad = Impairment { corrupt: Probability::ALWAYS, ..good };
    let mut cable = cable(&namespace, 1, bad, good);
    for sequence in 0..200 {
        cable.send(&encode(&echo(sequence, 8))).unwrap();
    }
    // With a flipped bit in the version, the addresses or elsewhere, the kernel drops the packet,
    // and must not answer the echo.
    let answers = listen(&mut cable, Duration::from_millis(100));
    assert_eq!(answers, []);
    let refused = cable.rejected();
    assert!((1..20).contains(&refused), "{refused}: a few hits in the version field");

    cable.set_impairments(good, bad);
    for sequence in 0..200 {
        cable.send(&encode(&echo(sequence, 8))).unwrap();
        let mut bytes = Vec::new();
        while !cable.receive(&mut bytes).unwrap() {
            let soon = cable.now() + Duration::from_secs(5);
            cable.wait(soon).unwrap();
        }
        assert!(Packet::decode(&bytes).is_err(), "{bytes:02x?}");
    }
    assert_eq!(cable.rejected(), refused);
}

fn the_device_delays_and_loses_packets() {
    let namespace = Namespace::new().unwrap();
    let slow = |ms| Impairment { delay: Duration::from_millis(ms), ..Impairment::default() };
    let mut cable = cable(&namespace, 1, slow(30), slow(20));
    let before = cable.now();
    cable.send(&encode(&echo(1, 8))).unwrap();
    answer(&mut cable);
    let passed = cable.now().since(before);
    assert!(passed >= Duration::from_millis(50), "{passed:?}");
    assert!(passed < Duration::from_secs(2), "{passed:?}");

    let lossy = Impairment { drop: Probability::from_f64(0.5), ..Impairment::default() };
    cable.set_impairments(lossy, lossy);
    for sequence in 0..400 {
        cable.send(&encode(&echo(sequence, 8))).unwrap();
    }
    let answers = listen(&mut cable, Duration::from_millis(200)).len() as u64;
    let (to, from) = cable.counts();
    assert_eq!(to.offered, 401);
    assert_eq!(from.offered, to.delivered);
    assert_eq!(answers, from.delivered - 1);
    assert!((60..140).contains(&answers), "{answers} of 400");
    let none = cable.now();
    cable.wait(none).unwrap();
    assert!(none < Instant::FAR_FUTURE);
}
