//! Properties of ATCP for arbitrary events.

use driftway_base::{Known, SignalDetails};
use proptest::prelude::*;

use super::*;
use crate::liveness::{self, random_duration, random_flag};

#[derive(Clone, Debug)]
enum Input {
    Up(TcpSegment),
    Down(TcpSegment),
    Signal(Signal),
    Timeout,
}

fn known<T: Clone + core::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Known<T>> {
    (0..8_u8, value).prop_map(|(how, value)| match how {
        0 => Known::Unknown,
        1 => Known::Estimated(value),
        _ => Known::Exact(value),
    })
}

/// Close together and near the wrap, so that all relations between numbers occur.
fn seq() -> impl Strategy<Value = Seq> {
    prop_oneof![9 => (0..6_u32).prop_map(|n| nth(18) + 100 * n), 1 => any::<u32>().prop_map(Seq)]
}

fn instant() -> impl Strategy<Value = Instant> {
    prop_oneof![
        9 => (0..20_000_u64).prop_map(Instant::from_millis),
        1 => any::<u64>().prop_map(Instant::from_nanos),
    ]
}

fn segment() -> impl Strategy<Value = TcpSegment> {
    let flags = prop_oneof![
        6 => Just(TcpFlags::ACK),
        1 => Just(TcpFlags::ACK.with(TcpFlags::ECE)),
        1 => any::<u8>().prop_map(TcpFlags),
    ];
    let len = prop_oneof![4 => Just(0), 2 => 0..3_u32, 2 => Just(100), 1 => any::<u32>()];
    (seq(), seq(), flags, len, 0..2_u16).prop_map(|(seq, ack, flags, len, window)| TcpSegment {
        seq,
        ack,
        flags,
        window,
        payload: Payload::new(0, 0, len),
        ..TcpSegment::default()
    })
}

fn view() -> impl Strategy<Value = TcpView> {
    let numbers = (known(seq()), known(seq()), known(seq()));
    let windows = (known(any::<u32>()), known(any::<u32>()));
    let times = (
        known(proptest::option::of(instant())),
        known(any::<u64>().prop_map(Duration::from_nanos)),
    );
    let flags = (0..20_u8, known(any::<bool>()));
    (numbers, windows, times, flags).prop_map(|(numbers, windows, times, flags)| TcpView {
        is_synchronized: flags.0 > 0,
        mss: windows.0,
        snd_una: numbers.0,
        snd_nxt: numbers.1,
        snd_max: numbers.2,
        cwnd: windows.1,
        retransmission_deadline: times.0,
        rto: times.1,
        is_persisting: flags.1,
        rcv_nxt: numbers.0,
        ..TcpView::default()
    })
}

fn input() -> impl Strategy<Value = Input> {
    let kind = prop_oneof![
        Just(SignalKind::Unreachable(UnreachableScope::Host)),
        Just(SignalKind::SourceQuench),
        Just(SignalKind::EcnEcho),
    ];
    let signal = (kind, proptest::option::of(seq())).prop_map(|(kind, seq)| Signal {
        kind,
        details: SignalDetails { seq, ..SignalDetails::default() },
    });
    prop_oneof![
        5 => segment().prop_map(Input::Up),
        3 => segment().prop_map(Input::Down),
        1 => signal.prop_map(Input::Signal),
        3 => Just(Input::Timeout),
    ]
}

fn any_options() -> impl Strategy<Value = AtcpOptions> {
    let span = || any::<u64>().prop_map(Duration::from_nanos);
    let spans = (prop_oneof![Just(ms(500)), span()], span(), span(), span());
    let choices = any::<[bool; 9]>();
    (spans, choices).prop_map(|((tick, tick_phase, persist_min, persist_max), choices)| {
        let [a, b, c, backoff, d, echo, restore, duplicates, pull_back] = choices;
        AtcpOptions {
            tick,
            tick_phase,
            persist_min,
            persist_max,
            resend: if a { LossRetransmission::All } else { LossRetransmission::First },
            retransmission: if b { QueuePosition::Behind } else { QueuePosition::Ahead },
            leave_loss: if c { LossExit::AckOrData } else { LossExit::Ack },
            backoff,
            congested_until: if d { CongestedExit::NewData } else { CongestedExit::Segment },
            echo: if echo { EchoOrder::AfterAck } else { EchoOrder::First },
            restore: if restore { CwndRestoreTime::After } else { CwndRestoreTime::Before },
            duplicates: if duplicates {
                WithheldDuplicates::Third
            } else {
                WithheldDuplicates::All
            },
            pull_back,
        }
    })
}

/// Condition that releases TCP, if it is held.
type Holder = Option<Release>;

/// Applies the acts as a driver does, and checks that each is valid in its state.
fn apply_acts(
    atcp: &mut Machine<Atcp>,
    now: Instant,
    view: &TcpView,
    held: &mut Holder,
    refuse: &mut impl FnMut() -> bool,
) {
    while let Some(act) = atcp.poll_act() {
        if !matches!(act, Act::Resume { .. }) && refuse() {
            atcp.on_done(now, &act, ActResult::Unsupported, view);
            continue;
        }
        match act {
            Act::Hold { release, probe, .. } => {
                let again = (*held, release) == (Some(Release::Resume), Release::Resume);
                assert!(!again, "held twice");
                assert_eq!(release == Release::AnyAck, probe.is_some());
                *held = Some(release);
            }
            Act::Resume { .. } => {
                assert_eq!(*held, Some(Release::Resume), "only a hold of ATCP is resumed");
                *held = None;
            }
            Act::Resend { range, .. } => {
                assert!(!range.is_empty());
                assert_eq!(*held, Some(Release::Resume), "TCP is not held");
            }
            other => panic!("unexpected act {other:?}"),
        }
        atcp.on_done(now, &act, ActResult::Done, view);
    }
}

fn run(
    options: AtcpOptions,
    inputs: Vec<(Input, TcpView, Duration)>,
    mut refuse: impl FnMut() -> bool,
) {
    let mut atcp = Atcp::new(options);
    let (mut now, mut held) = (Instant::ZERO, None);
    for (input, view, later) in inputs {
        now += later;
        let verdict = match input {
            Input::Up(segment) => atcp.on_up(now, &segment, &view),
            Input::Down(segment) => atcp.on_down(now, &segment, &view),
            Input::Signal(signal) => {
                atcp.on_signal(now, &signal, &view);
                SegmentVerdict::Pass
            }
            Input::Timeout => {
                let Some(next) = atcp.next_timeout() else { continue };
                now = next.max(now);
                atcp.on_timeout(now, &view);
                assert!(atcp.next_timeout().is_none_or(|next| next > now));
                SegmentVerdict::Pass
            }
        };
        // liu-singh-2001 §III-B: never creates a segment.
        assert!(matches!(verdict, SegmentVerdict::Pass | SegmentVerdict::Drop));
        if !view.is_synchronized {
            held = None;
        }
        apply_acts(&mut atcp, now, &view, &mut held, &mut refuse);
        match atcp.state {
            State::Loss => assert_eq!(held, Some(Release::Resume)),
            State::Disconnected => assert_eq!(held, Some(Release::AnyAck)),
            State::Normal | State::Congested => assert_ne!(held, Some(Release::Resume)),
        }
    }
}

fn inputs() -> impl Strategy<Value = Vec<(Input, TcpView, Duration)>> {
    let later = prop_oneof![
        20 => (0..700_u64).prop_map(Duration::from_millis),
        1 => any::<u64>().prop_map(Duration::from_nanos),
    ];
    proptest::collection::vec((input(), view(), later), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_events_in_any_order(options in any_options(), inputs in inputs()) {
        run(options, inputs, || false);
    }

    #[test]
    fn any_events_with_unsupported_acts(
        options in any_options(), inputs in inputs(), seed in any::<u64>(),
    ) {
        let mut draws = driftway_base::RandomStream::new(seed, "refuse", 0);
        run(options, inputs, || draws.uniform_below(4) == 0);
    }

    /// TCP receives only segments that arrived, unchanged; the network receives only TCP's segments.
    #[test]
    fn no_segment_is_created(
        options in any_options(),
        script in proptest::collection::vec((0..8_u8, 0..12_u32, 0..900_u64), 0..80),
    ) {
        let mut line = ScriptedDriver::new(Atcp::new(options));
        let mut arrived = Vec::new();
        for (what, n, later) in script {
            match what {
                0 => line.write(100 * n),
                1 => line.unreachable(),
                2 => line.signal(Signal::new(SignalKind::SourceQuench)),
                3 => line.advance(ms(later)),
                _ => {
                    let mut segment = line.peer_ack(line.tcp.una() + 50 * (n / 4));
                    if n == 0 {
                        segment = marked(segment);
                    }
                    if what == 4 {
                        segment.payload = Payload::new(1, 0, n);
                    }
                    arrived.push(segment);
                    line.receive(segment);
                }
            }
        }
        let up: Vec<_> = line.record.iter().filter_map(|(_, event)| match event {
            Event::Delivered(segment) | Event::Dropped(segment) => Some(*segment),
            _ => None,
        }).collect();
        prop_assert_eq!(up, arrived);
        for (_, event) in &line.record {
            if let Event::Dropped(segment) = event {
                prop_assert!(segment.sequence_len() == 0, "only pure duplicates are dropped");
            }
            if let Event::Sent(segment) | Event::Resent { segment, .. } = event {
                prop_assert!(segment.ack.at_or_before(line.tcp.rcv_nxt()));
            }
        }
    }
}

#[test]
fn a_tick_of_zero_is_one_millisecond() {
    let mut line = ten_sent(AtcpOptions { tick: Duration::ZERO, ..options() });
    assert_eq!(line.aid.next_timeout(), Some(at_ms(101)));
    line.advance(ms(35));
    assert_eq!(line.aid.next_timeout(), Some(at_ms(136)));
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = AtcpOptions {
            tick: random_duration(random, 1, 1_000),
            persist_min: random_duration(random, 1, 5_000),
            persist_max: random_duration(random, 5_000, 60_000),
            resend: if random_flag(random) {
                LossRetransmission::First
            } else {
                LossRetransmission::All
            },
            leave_loss: if random_flag(random) { LossExit::Ack } else { LossExit::AckOrData },
            backoff: random_flag(random),
            congested_until: match random_flag(random) {
                true => CongestedExit::Segment,
                false => CongestedExit::NewData,
            },
            echo: if random_flag(random) { EchoOrder::First } else { EchoOrder::AfterAck },
            restore: if random_flag(random) {
                CwndRestoreTime::Before
            } else {
                CwndRestoreTime::After
            },
            duplicates: match random_flag(random) {
                true => WithheldDuplicates::All,
                false => WithheldDuplicates::Third,
            },
            pull_back: random_flag(random),
            ..AtcpOptions::default()
        };
        // Its retransmission timer is checked once per tick.
        let longest = options.persist_max.max(MAX_TIMEOUT) + options.tick;
        (Atcp::new(options), longest)
    });
}
