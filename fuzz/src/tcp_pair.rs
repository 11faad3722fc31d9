//! Two connections under arbitrary conditions: lost, duplicated and forged segments; reads and writes; acts
//! of an aid; passing time. The data delivered is the data written, in order.

use driftway_base::{
    Act, Assign, Duration, Ecn, Endpoint, HeldTimers, Instant, Ipv4Addr, ProbeSize, ProbeSpacing,
    Release, Retransmit, Seq, SeqRange,
};
use driftway_tcp::{Config, Connection, ControlKind, RecoveryKind, recovery_control_pairs};
use driftway_wire::{Payload, SackBlocks, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use crate::Bytes;

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let (recovery, growth) = recovery_control_pairs()
        .nth(usize::from(bytes.u8()) % recovery_control_pairs().count())
        .unwrap_or((RecoveryKind::Reno, ControlKind::Reno));
    let flags = bytes.u8();
    let more = bytes.u8();
    let config = Config {
        recovery,
        growth,
        sack: flags & 1 != 0,
        timestamps: flags & 2 != 0,
        window_scale: flags & 4 != 0,
        ecn: flags & 8 != 0,
        nagle: flags & 16 != 0,
        prr: more & 1 != 0,
        dsack: more & 2 != 0,
        eifel: more & 4 != 0,
        f_rto: more & 8 != 0,
        lcd: more & 16 != 0,
        receive_buffer: 1 + u32::from(bytes.u16()) * if flags & 32 != 0 { 64 } else { 1 },
        mss: bytes.u16().max(48),
        ..Config::default()
    };
    let ends = [Endpoint::new(address(1), 1), Endpoint::new(address(2), 2)];
    let mut now = Instant::ZERO;
    let iss = Seq(bytes.u32());
    let mut pair = [
        Connection::connect(&config, ends[0], ends[1], iss, 0, now),
        Connection::listen(&config, ends[1], Seq(bytes.u32()), 1),
    ];
    let mut read = [0_u64; 2];
    let mut made_up = false;
    let mut wire: Vec<(usize, TcpSegment, Ecn)> = Vec::new();
    while !bytes.is_empty() {
        let who = usize::from(bytes.u8() & 1);
        let end = &mut pair[who];
        match bytes.u8() % 12 {
            0 => {
                end.write(u64::from(bytes.u16()));
            }
            1 => end.close(),
            2 | 3 => {
                for _ in 0..64 {
                    let Some(sent) = end.poll_transmit(now) else { break };
                    wire.push((1 - who, sent.segment, sent.ecn));
                }
            }
            4..=6 if !wire.is_empty() => {
                let choice = usize::from(bytes.u8()) % wire.len();
                let (to, segment, ecn) = wire[choice];
                if bytes.u8() % 4 != 0 {
                    wire.remove(choice);
                }
                pair[to].on_segment(now, address(2 - to as u8), &segment, ecn);
            }
            7 => {
                now += Duration::from_millis(u64::from(bytes.u16()));
                for end in &mut pair {
                    end.on_timeout(now);
                    assert!(end.next_timeout().is_none_or(|at| at > now), "an expired timer");
                }
            }
            8 if bytes.u8() % 4 == 0 => {
                let quoted = bytes.u8() & 1 != 0;
                let una = end.view().snd_una.value().filter(|_| quoted);
                end.on_unreachable(now, bytes.u8() & 1 != 0, una);
            }
            8 => {
                let act = act(&mut bytes, end);
                end.act(now, &act);
            }
            9 => {
                // After a forged segment only the absence of panics is checked.
                made_up = true;
                let segment = segment(&mut bytes, end);
                end.on_segment(now, address(2 - who as u8), &segment, Ecn::from_bits(bytes.u8()));
            }
            _ => {
                while let Some(part) = end.read(1 + u32::from(bytes.u16())) {
                    if !made_up {
                        assert_eq!(part.stream, 1 - who as u32);
                        assert_eq!(part.offset, read[who], "out of order");
                    }
                    read[who] += u64::from(part.len);
                }
            }
        }
        wire.truncate(256);
        let view = pair[who].view();
        let numbers = (view.snd_una.value(), view.snd_nxt.value(), view.snd_max.value());
        if let (Some(una), Some(nxt), Some(max)) = numbers {
            assert!(una.at_or_before(nxt) && nxt.at_or_before(max), "{una:?} {nxt:?} {max:?}");
        }
        while pair[who].poll_event().is_some() {}
    }
}

fn act(bytes: &mut Bytes, end: &Connection) -> Act {
    let una = end.view().snd_una.value().unwrap_or_default();
    match bytes.u8() % 8 {
        0 | 1 => Act::Hold {
            probe: (bytes.u8() & 1 != 0).then_some(ProbeSpacing {
                first: Duration::from_millis(1 + u64::from(bytes.u16())),
                max: Duration::from_secs(60),
                size: if bytes.u8() & 1 != 0 { ProbeSize::Segment } else { ProbeSize::Byte },
            }),
            rewind_snd_nxt: bytes.u8() & 1 != 0,
            timers: match bytes.u8() % 3 {
                0 => HeldTimers::Stop,
                1 => HeldTimers::Freeze,
                _ => HeldTimers::KeepRetransmission,
            },
            cwnd: Assign::Value(bytes.u32()),
            release: if bytes.u8() & 1 != 0 { Release::AnyAck } else { Release::Resume },
        },
        2 => Act::Resume {
            cwnd: Assign::Value(bytes.u32()),
            ssthresh: Assign::Initial,
            rto: Assign::Keep,
        },
        3 => Act::Resend {
            range: SeqRange::new(una, una + bytes.u32()),
            ahead_of_queue: bytes.u8() & 1 != 0,
        },
        4 => Act::Undo,
        5 => Act::ReduceCwnd,
        6 => Act::SetTimeoutResponse {
            keep_rto: bytes.u8() & 1 != 0,
            retransmit: match bytes.u8() % 4 {
                0 => Retransmit::LossRecovery,
                1 => Retransmit::Oldest,
                2 => Retransmit::Newest,
                _ => Retransmit::Nothing,
            },
            cwnd: Assign::Keep,
            ssthresh: Assign::Value(bytes.u32()),
        },
        _ => Act::LimitCwnd { cwnd: (bytes.u8() & 1 != 0).then(|| bytes.u32()) },
    }
}

/// A segment with numbers near those that the connection expects, or arbitrary ones.
fn segment(bytes: &mut Bytes, end: &Connection) -> TcpSegment {
    let view = end.view();
    let near = |known: driftway_base::Known<Seq>, bytes: &mut Bytes| {
        let base = known.value().unwrap_or_default();
        if bytes.u8() & 1 != 0 { base + u32::from(bytes.u8()) - 128 } else { Seq(bytes.u32()) }
    };
    let mut sack = SackBlocks::EMPTY;
    for _ in 0..bytes.u8() % 5 {
        let start = near(view.snd_una, bytes);
        sack.push(SeqRange::new(start, start + u32::from(bytes.u16())));
    }
    TcpSegment {
        source_port: end.remote().port,
        destination_port: end.local().port,
        seq: near(view.rcv_nxt, bytes),
        ack: near(view.snd_una, bytes),
        flags: TcpFlags(bytes.u8()),
        window: bytes.u16(),
        urgent: 0,
        options: TcpOptions {
            mss: (bytes.u8() & 1 != 0).then(|| bytes.u16()),
            window_scale: (bytes.u8() & 1 != 0).then(|| bytes.u8()),
            sack_permitted: bytes.u8() & 1 != 0,
            timestamps: (bytes.u8() & 1 != 0)
                .then(|| Timestamps { value: bytes.u32(), echo: bytes.u32() }),
            sack,
        },
        payload: Payload::new(9, 0, u32::from(bytes.u16())),
    }
}
