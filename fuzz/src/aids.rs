//! Aids under arbitrary segments, signals, views and times: they pass or drop segments and never create any.

use driftway_aid::SegmentVerdict;
use driftway_base::{
    ActResult, Duration, Instant, Known, PacketDisposition, RecoveryState, Seq, SeqRange,
    SeqRanges, Signal, SignalKind, TcpView, UnreachableScope,
};
use driftway_wire::{Payload, TcpFlags, TcpSegment};

use crate::Bytes;

/// Signals that ATCP handles.
const ICMP: &[SignalKind] = &[
    SignalKind::Unreachable(UnreachableScope::Net),
    SignalKind::Unreachable(UnreachableScope::Host),
    SignalKind::SourceQuench,
    SignalKind::EcnEcho,
];

/// Signals that TCP-F handles, and one that it ignores.
const ROUTES: &[SignalKind] = &[
    SignalKind::RouteFailed,
    SignalKind::RouteRestored,
    SignalKind::Unreachable(UnreachableScope::Host),
];

/// Signals that carry handles, and one that it ignores.
const PATHS: &[SignalKind] = &[
    SignalKind::RouteFailed,
    SignalKind::RouteRestored,
    SignalKind::Unreachable(UnreachableScope::Net),
    SignalKind::EcnEcho,
];

pub fn atcp(input: &[u8]) {
    play("atcp", ICMP, passes_or_drops, input);
}

pub fn atcp_partial(input: &[u8]) {
    play("atcp-partial", ICMP, |verdict, _| verdict == SegmentVerdict::Pass, input);
}

pub fn tcp_f(input: &[u8]) {
    play("tcp-f", ROUTES, |verdict, _| verdict == SegmentVerdict::Pass, input);
}

/// Signals that ELFN and EPLN handle, and one that they ignore; loss notifications are generated separately.
const NOTICES: &[SignalKind] = &[
    SignalKind::RouteDiscovery,
    SignalKind::RouteFailed,
    SignalKind::Unreachable(UnreachableScope::Host),
    SignalKind::EcnEcho,
];

pub fn elfn(input: &[u8]) {
    play("elfn", NOTICES, |verdict, _| verdict == SegmentVerdict::Pass, input);
}

pub fn epln(input: &[u8]) {
    play("epln", NOTICES, |verdict, _| verdict == SegmentVerdict::Pass, input);
}

/// A loss notification for packets at and around `start`, lost or salvaged.
fn notice(start: Seq, bytes: &mut Bytes) -> Signal {
    let mut ranges = SeqRanges::default();
    for _ in 0..=bytes.u8() % 9 {
        let start = start + u32::from(bytes.u8());
        ranges.push(SeqRange::new(start, start + u32::from(bytes.u8() % 4)));
    }
    let disposition =
        if bytes.u8() & 1 != 0 { PacketDisposition::Lost } else { PacketDisposition::Salvaged };
    Signal::new(SignalKind::PacketLost { ranges, disposition })
}

pub fn carry(input: &[u8]) {
    play("carry", PATHS, |verdict, _| verdict == SegmentVerdict::Pass, input);
}

/// The aid may reduce a window.
pub fn cwnd_limit(input: &[u8]) {
    let allowed = |verdict, segment: &TcpSegment| match verdict {
        SegmentVerdict::Replace(TcpSegment { window, .. }) => {
            window < segment.window
                && verdict == SegmentVerdict::Replace(TcpSegment { window, ..*segment })
        }
        other => other == SegmentVerdict::Pass,
    };
    play("cwnd-limit", ICMP, allowed, input);
}

fn play(
    name: &str,
    signals: &[SignalKind],
    allowed: fn(SegmentVerdict, &TcpSegment) -> bool,
    input: &[u8],
) {
    let mut bytes = Bytes(input);
    let Some(Ok(mut aid)) = driftway_aid::registry::find(name).map(|listed| listed.build(&[]))
    else {
        panic!("{name} is registered and needs no options");
    };
    let mut now = Instant::ZERO;
    while !bytes.is_empty() {
        let view = view(&mut bytes, now);
        let segment = segment(&mut bytes);
        match bytes.u8() % 5 {
            0 => assert!(allowed(aid.on_down(now, &segment, &view), &segment)),
            1 => assert!(allowed(aid.on_up(now, &segment, &view), &segment)),
            2 if bytes.u8() & 1 != 0 => {
                let una = view.snd_una.value().unwrap_or(Seq(0));
                aid.on_signal(now, &notice(una, &mut bytes), &view);
            }
            2 => {
                let kind = signals[usize::from(bytes.u8()) % signals.len()];
                let mut signal = Signal::new(kind);
                signal.details.seq = (bytes.u8() & 1 != 0).then(|| Seq(bytes.u32()));
                aid.on_signal(now, &signal, &view);
            }
            _ => {
                now += Duration::from_millis(u64::from(bytes.u16()));
                if aid.next_timeout().is_some_and(|at| at <= now) {
                    aid.on_timeout(now, &view);
                    assert!(aid.next_timeout().is_none_or(|at| at > now), "an expired timer");
                }
            }
        }
        let done = if bytes.u8() % 8 == 0 { ActResult::Unsupported } else { ActResult::Done };
        let mut acts = 0;
        while let Some(act) = aid.poll_act() {
            aid.on_done(now, &act, done, &view);
            acts += 1;
            assert!(acts < 512, "too many acts");
        }
    }
}

fn passes_or_drops(verdict: SegmentVerdict, _: &TcpSegment) -> bool {
    matches!(verdict, SegmentVerdict::Pass | SegmentVerdict::Drop)
}

fn view(bytes: &mut Bytes, now: Instant) -> TcpView {
    let una = Seq(bytes.u32());
    let known = |value: u32, bytes: &mut Bytes| match bytes.u8() % 4 {
        0 => Known::Unknown,
        1 => Known::Estimated(value),
        _ => Known::Exact(value),
    };
    let span = u32::from(bytes.u16());
    let deadline = now + Duration::from_millis(u64::from(bytes.u16()));
    TcpView {
        is_synchronized: bytes.u8() != 0,
        mss: known(1 + u32::from(bytes.u8()), bytes),
        snd_una: Known::Exact(una),
        snd_nxt: Known::Exact(una + span / 2),
        snd_max: Known::Exact(una + span),
        cwnd: {
            let cwnd = bytes.u32();
            known(cwnd, bytes)
        },
        ssthresh: Known::Unknown,
        peer_window: {
            let window = bytes.u32();
            known(window, bytes)
        },
        retransmission_deadline: Known::Exact((bytes.u8() & 1 != 0).then_some(deadline)),
        rto: Known::Exact(Duration::from_millis(u64::from(bytes.u16()))),
        srtt: match bytes.u8() {
            0 => Known::Unknown,
            millis => Known::Exact(Some(Duration::from_millis(u64::from(millis)))),
        },
        recovery: Known::Exact(RecoveryState::Open),
        is_persisting: Known::Exact(bytes.u8() & 1 != 0),
        is_ecn_negotiated: Known::Exact(bytes.u8() & 1 == 0),
        rcv_nxt: Known::Exact(Seq(bytes.u32())),
        advertised_window: Known::Unknown,
        next_hop_power: Known::Unknown,
    }
}

fn segment(bytes: &mut Bytes) -> TcpSegment {
    TcpSegment {
        seq: Seq(bytes.u32()),
        ack: Seq(bytes.u32()),
        flags: TcpFlags(bytes.u8()),
        window: bytes.u16(),
        payload: Payload::new(0, 0, u32::from(bytes.u8())),
        ..TcpSegment::default()
    }
}
