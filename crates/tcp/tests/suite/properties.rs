//! Properties of a connection for any configuration, wire, application, aid and segment.

use crate::common::test_connection::{OURS, THEIRS, TestConnection, ack, plain, syn_ack};
use crate::common::{MS, Pair, WireAction, address};
use driftway_base::{
    Act, Assign, Duration, Ecn, Endpoint, HeldTimers, Instant, ProbeSize, ProbeSpacing,
    RandomStream, Release, Retransmit, Seq, SeqRange,
};
use driftway_tcp::{
    Clock, Config, Connection, DelayedAck, Event, HystartKind, State, recovery_control_pairs,
};
use driftway_wire::{Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps};
use proptest::prelude::*;

fn configs() -> impl Strategy<Value = Config> {
    let clock = prop_oneof![
        Just(Clock::default()),
        Just(Clock::uniform(MS(1), Duration::ZERO)),
        (0_u64..500).prop_map(|phase| Clock::uniform(MS(500), MS(phase))),
        Just(Clock { rtt_tick: MS(100), ..Clock::default() }),
    ];
    let delayed = prop_oneof![
        Just(None),
        any::<bool>().prop_map(|on_tick| Some(DelayedAck { timeout: MS(200), on_tick })),
    ];
    let switches = proptest::array::uniform12(any::<bool>());
    (
        0..recovery_control_pairs().count(),
        clock,
        delayed,
        switches,
        48_u16..1500,
        1_u32..100_000,
        1_u32..12,
    )
        .prop_map(
            |(pair, clock, delayed_ack, switches, mss, receive_buffer, initial_window)| {
                let [sack, timestamps, window_scale, ecn, nagle, limited_transmit, more @ ..] =
                    switches;
                let [prr, dsack, eifel, f_rto, lcd, window_validation] = more;
                let (recovery, growth) =
                    recovery_control_pairs().nth(pair).expect("an index below the count");
                // Derived from the segment size, so that the recorded regression cases stay valid.
                let by = |bit: u16| mss >> bit & 1 == 1;
                Config {
                    recovery,
                    growth,
                    mss,
                    receive_buffer,
                    clock,
                    delayed_ack,
                    sack,
                    timestamps,
                    window_scale,
                    ecn,
                    nagle,
                    limited_transmit,
                    window_validation,
                    prr,
                    dsack,
                    eifel,
                    f_rto,
                    lcd,
                    slow_start_by_bytes: by(0),
                    ssthresh_from_cwnd: by(1),
                    recovery_keeps_ssthresh: by(2),
                    linux_rto: by(3),
                    rearm_with_head: by(4),
                    f_rto_again: by(5),
                    disordered_acks: by(6),
                    rfc_793_rto: by(7),
                    recover_guard: !by(8),
                    ece_slow_start: by(9),
                    linux_growth: by(10),
                    linux_persist: by(6),
                    quick_acks: by(7),
                    pacing: by(8),
                    hystart: [HystartKind::None, HystartKind::Linux, HystartKind::Rfc9406]
                        [usize::from(mss % 3)],
                    initial_window,
                    // With enough retries, a transfer over a lossy wire always completes.
                    max_retries: 60,
                    max_syn_retries: 60,
                    max_rto: Duration::from_secs(4),
                    persist_max: Duration::from_secs(4),
                    ..Config::default()
                }
            },
        )
}

/// A wire that drops, duplicates, marks and reorders.
fn bad_wire(pair: &mut Pair, seed: u64, loss: u64) {
    let mut random = RandomStream::new(seed, "wire", 0);
    pair.policy = Box::new(move |_, _, _| {
        let delay = MS(20 + random.uniform_below(30));
        match random.uniform_below(100) {
            n if n < loss => WireAction::Drop,
            n if n < loss + 4 => {
                WireAction::Duplicate(delay, delay + MS(random.uniform_below(300)))
            }
            n if n < loss + 10 => WireAction::Deliver(delay + MS(random.uniform_below(200))),
            n if n < loss + 14 => WireAction::DeliverMarked(delay),
            _ => WireAction::Deliver(delay),
        }
    });
}

/// Writes, reads and closes at random; both ends close finally.
struct Application {
    random: RandomStream,
    to_write: [u64; 2],
    written: [u64; 2],
    closed: [bool; 2],
}

impl Application {
    fn new(seed: u64, to_write: [u64; 2]) -> Self {
        let random = RandomStream::new(seed, "application", 0);
        Self { random, to_write, written: [0; 2], closed: [false; 2] }
    }

    fn step(&mut self, pair: &mut Pair, at_once: bool) {
        for (n, end) in pair.ends.iter_mut().enumerate() {
            if self.to_write[n] > 0 && (at_once || self.random.uniform_below(4) == 0) {
                let bytes = self.random.uniform_below(self.to_write[n].min(20_000)) + 1;
                let taken = end.tcp.write(bytes);
                self.to_write[n] -= taken;
                self.written[n] += taken;
            }
            if self.to_write[n] == 0
                && !self.closed[n]
                && !matches!(end.tcp.state(), State::Listen | State::SynSent)
                && (at_once || self.random.uniform_below(8) == 0)
            {
                end.tcp.close();
                self.closed[n] = true;
            }
            if at_once || self.random.uniform_below(3) == 0 {
                let most = if at_once { u32::MAX } else { self.random.uniform_below(3000) as u32 };
                while let Some(part) = end.tcp.read(most) {
                    assert_eq!(part.offset, end.read, "bytes out of order");
                    end.read += u64::from(part.len);
                    if !at_once {
                        break;
                    }
                }
            }
        }
        pair.drain();
    }
}

/// Runs to the end; `each` is called before every step.
fn run(pair: &mut Pair, app: &mut Application, mut each: impl FnMut(&mut Pair, u64)) {
    for end in &mut pair.ends {
        end.reads = false;
    }
    for step in 0..2_000_000 {
        each(pair, step);
        app.step(pair, false);
        if !pair.step() {
            app.step(pair, true);
            if !pair.step() && app.closed == [true; 2] && step > 500 {
                return;
            }
        }
    }
    panic!("does not terminate, at {:?}", pair.now);
}

/// Checks that both streams are complete and both ends closed. An end held for longer than its
/// peer's TIME-WAIT, whose last acknowledgments were lost, may learn of the close only by a reset.
fn check_streams_complete(pair: &Pair, app: &Application, held: bool) -> Result<(), TestCaseError> {
    let last = [0, 1].map(|n: usize| pair.ends[n].events.last().copied());
    for n in 0..2 {
        prop_assert_eq!(pair.ends[n].tcp.state(), State::Closed);
        prop_assert_eq!(pair.ends[1 - n].read, app.written[n]);
        let too_late = held && (last[n], last[1 - n]) == (Some(Event::Reset), Some(Event::Closed));
        prop_assert!(last[n] == Some(Event::Closed) || too_late, "{:?}", pair.ends[n].events);
    }
    Ok(())
}

/// Checks that no advertised right edge moves left (RFC 9293 §3.8.6) by more than the rounding of a
/// scaled window (RFC 7323 §2.4).
fn check_right_edges(pair: &Pair) -> Result<(), TestCaseError> {
    for end in &pair.ends {
        let shift = if end.tcp.negotiated().window_scale {
            end.tcp.config().receive_window_shift()
        } else {
            0
        };
        let mut edge: Option<Seq> = None;
        for (at, sent) in &end.sent {
            let flags = sent.segment.flags;
            if flags.intersects(TcpFlags::SYN.with(TcpFlags::RST)) {
                continue;
            }
            let new = sent.segment.ack + (u32::from(sent.segment.window) << shift);
            let slack = (1 << shift) - 1;
            prop_assert!(edge.is_none_or(|old| (new + slack).at_or_after(old)), "at {at:?}");
            edge = Some(edge.map_or(new, |old| old.max(new)));
        }
    }
    Ok(())
}

fn random_act(random: &mut RandomStream, tcp: &Connection) -> Act {
    let view = tcp.view();
    let [una, max, rcv_nxt] =
        [view.snd_una, view.snd_max, view.rcv_nxt].map(|s| s.value().unwrap());
    let setting = |random: &mut RandomStream| match random.uniform_below(3) {
        0 => Assign::Keep,
        1 => Assign::Initial,
        _ => Assign::Value(random.uniform_below(50_000) as u32),
    };
    match random.uniform_below(9) {
        0 | 1 => Act::Hold {
            probe: (random.uniform_below(2) == 0).then(|| ProbeSpacing {
                first: MS(random.uniform_below(3000)),
                max: MS(random.uniform_below(5000)),
                size: if random.uniform_below(2) == 0 {
                    ProbeSize::Byte
                } else {
                    ProbeSize::Segment
                },
            }),
            rewind_snd_nxt: random.uniform_below(2) == 0,
            timers: [HeldTimers::Stop, HeldTimers::Freeze, HeldTimers::KeepRetransmission]
                [random.uniform_below(3) as usize],
            cwnd: setting(random),
            release: if random.uniform_below(2) == 0 { Release::AnyAck } else { Release::Resume },
        },
        2 => Act::Resume {
            cwnd: setting(random),
            ssthresh: setting(random),
            rto: Assign::Value(MS(random.uniform_below(5000))),
        },
        3 => {
            let start = una + random.uniform_below(5000) as u32;
            let range = SeqRange::new(start, start + random.uniform_below(5000) as u32);
            Act::Resend { range, ahead_of_queue: max.after(una) }
        }
        4 => Act::Undo,
        5 => Act::ReduceCwnd,
        6 => Act::SetTimeoutResponse {
            keep_rto: random.uniform_below(2) == 0,
            retransmit: [
                Retransmit::LossRecovery,
                Retransmit::Oldest,
                Retransmit::Newest,
                Retransmit::Nothing,
            ][random.uniform_below(4) as usize],
            cwnd: setting(random),
            ssthresh: setting(random),
        },
        7 => Act::LimitCwnd {
            cwnd: (random.uniform_below(2) == 0).then(|| random.uniform_below(20_000) as u32),
        },
        _ => Act::SendAcks {
            ack: rcv_nxt - random.uniform_below(2000) as u32,
            window: random.uniform_below(3) as u32 * 30_000,
            copies: random.uniform_below(4) as u8,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn streams_arrive_complete(
        (client, server) in (configs(), configs()),
        (seed, loss) in (any::<u64>(), 0_u64..20),
        bytes in [0_u64..60_000, 0_u64..60_000],
    ) {
        let mut pair = Pair::new(&client, &server);
        bad_wire(&mut pair, seed, loss);
        let mut app = Application::new(seed, bytes);
        run(&mut pair, &mut app, |_, _| {});
        check_streams_complete(&pair, &app, false)?;
        check_right_edges(&pair)?;
    }

    #[test]
    fn a_dead_wire_ends_in_a_timeout_or_a_close(
        (client, server) in (configs(), configs()),
        (seed, alive) in (any::<u64>(), 0_u64..200),
        bytes in [0_u64..60_000, 0_u64..60_000],
    ) {
        let few = |config: Config| Config { max_retries: 3, max_syn_retries: 2,
            keep_alive: Some(Duration::from_secs(5)), ..config };
        let mut pair = Pair::new(&few(client), &few(server));
        let mut count = 0;
        pair.policy = Box::new(move |_, _, _| {
            count += 1;
            if count > alive { WireAction::Drop } else { WireAction::Deliver(MS(20)) }
        });
        let mut app = Application::new(seed, bytes);
        for end in &mut pair.ends {
            end.reads = false;
        }
        for _ in 0..100_000 {
            app.step(&mut pair, false);
            if !pair.step() {
                break;
            }
        }
        for end in &pair.ends {
            let over = matches!(end.tcp.state(), State::Closed | State::Listen);
            prop_assert!(over, "{:?} {:?}", end.tcp.state(), end.tcp.next_timeout());
            let ended = matches!(end.events.last(), None | Some(Event::Closed | Event::TimedOut));
            prop_assert!(ended, "{:?}", end.events);
        }
    }

    #[test]
    fn random_acts_never_lose_the_connection(
        (client, server) in (configs(), configs()),
        (seed, loss) in (any::<u64>(), 0_u64..10),
        bytes in [1_u64..60_000, 0_u64..60_000],
    ) {
        let mut pair = Pair::new(&client, &server);
        bad_wire(&mut pair, seed, loss);
        let mut app = Application::new(seed, bytes);
        let mut random = RandomStream::new(seed, "acts", 0);
        let mut held = [true; 2];
        run(&mut pair, &mut app, |pair, step| {
            for (n, end) in pair.ends.iter_mut().enumerate() {
                if step < 500 && random.uniform_below(6) == 0 {
                    let act = random_act(&mut random, &end.tcp);
                    end.tcp.act(pair.now, &act);
                    if random.uniform_below(3) == 0 {
                        let first = end.tcp.view().snd_una.value();
                        end.tcp.on_unreachable(pair.now, false, first);
                    }
                } else if step >= 500 && held[n] {
                    let resume = Act::Resume {
                        cwnd: Assign::Keep,
                        ssthresh: Assign::Keep,
                        rto: Assign::Keep,
                    };
                    end.tcp.act(pair.now, &resume);
                    held[n] = false;
                }
            }
            pair.drain();
        });
        check_streams_complete(&pair, &app, true)?;
    }
}

/// A connection in each state, with data in flight where possible.
fn in_state(n: usize, config: &Config) -> TestConnection {
    let fin = || ack(1).fin();
    let mut conn = match n {
        0 => TestConnection::listening(config),
        1 => TestConnection::syn_sent(config),
        2 => TestConnection::syn_received(&Config { ecn: false, ..*config }),
        _ => TestConnection::established_by(config, syn_ack()),
    };
    if n > 3 {
        conn.does(|tcp, _| tcp.write(20_000));
        conn.sends_some();
    }
    let closes = |conn: &mut TestConnection| {
        conn.does(|tcp, _| tcp.close());
        conn.sends_some();
    };
    let receives = |conn: &mut TestConnection, peer| {
        conn.receives(peer);
        conn.sends_some();
    };
    match n {
        5 => receives(&mut conn, fin()),
        6 => closes(&mut conn),
        7 => {
            receives(&mut conn, fin());
            closes(&mut conn);
        }
        8 => {
            closes(&mut conn);
            receives(&mut conn, fin());
        }
        9 => conn.does(|tcp, _| tcp.abort()),
        _ => {}
    }
    conn.sends_some();
    conn
}

fn offset_near_window() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => -3_i32..3,
        3 => -3000_i32..30_000,
        1 => any::<i32>(),
        1 => Just(60_000_i32),
        1 => Just(65_536_i32),
    ]
    .prop_map(|n| n as u32)
}

fn segments() -> impl Strategy<Value = TcpSegment> {
    let options = (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        offset_near_window(),
        offset_near_window(),
    );
    let flags = prop_oneof![Just(0x10), Just(0x11), Just(0x12), Just(0x02), any::<u8>()];
    let lens = prop_oneof![Just(0_u32), Just(1), 0_u32..3000, Just(65_535)];
    (
        offset_near_window(),
        offset_near_window(),
        flags,
        any::<u16>(),
        lens,
        options,
        proptest::collection::vec((offset_near_window(), offset_near_window()), 0..4),
    )
        .prop_map(|(seq, ack, flags, window, len, options, blocks)| {
            let (mss, window_scale, sack_permitted, value, echo) = options;
            let mut segment = TcpSegment {
                source_port: 80,
                destination_port: 4000,
                seq: THEIRS + seq,
                ack: OURS + ack,
                flags: TcpFlags(flags),
                window,
                payload: Payload::new(9, u64::from(seq), len),
                options: TcpOptions { mss, window_scale, sack_permitted, ..TcpOptions::default() },
                ..TcpSegment::default()
            };
            if sack_permitted {
                let (value, echo) = (5000_u32.wrapping_add(value), echo);
                segment.options.timestamps = Some(Timestamps { value, echo });
            }
            for (start, end) in blocks {
                segment.options.sack.push(SeqRange::new(OURS + start, OURS + end));
            }
            segment
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn no_segment_violates_the_invariants(
        (n, config) in (0_usize..10, configs()),
        arrivals in proptest::collection::vec((segments(), 0_u64..3000, any::<u8>()), 1..25),
    ) {
        let mut conn = in_state(n, &config);
        for (segment, wait, ecn) in arrivals {
            let now = conn.now + MS(wait);
            while let Some(at) = conn.tcp.next_timeout().filter(|at| *at <= now) {
                conn.now = at;
                conn.does(|tcp, now| tcp.on_timeout(now));
                prop_assert!(conn.tcp.next_timeout().is_none_or(|next| next > at));
                conn.sends_some();
            }
            conn.now = now;
            let taken = conn.does(|tcp, now| {
                tcp.on_segment(now, address(2), &segment, Ecn::from_bits(ecn)).accepted
            });
            prop_assert!(taken.len <= segment.payload.len);
            conn.sends_some();
            let view = conn.tcp.view();
            prop_assert!(view.cwnd.value().unwrap() > 0);
            prop_assert!(view.ssthresh.value().unwrap() > 0);
            prop_assert!(conn.tcp.acknowledged_bytes() <= 20_000);
        }
    }
}

#[test]
fn timers_at_the_end_of_time_do_not_loop() {
    let (a, b) = (Endpoint::new(address(1), 1), Endpoint::new(address(2), 2));
    let zero = Config {
        initial_rto: Duration::ZERO,
        min_rto: Duration::ZERO,
        persist_min: Duration::ZERO,
        persist_max: Duration::ZERO,
        keep_alive: Some(Duration::ZERO),
        clock: Clock::default(),
        ..plain()
    };
    for start in [Instant::ZERO, Instant::FAR_FUTURE] {
        let mut tcp = Connection::connect(&zero, a, b, Seq(0), 1, start);
        let mut count = 0;
        while tcp.state() != State::Closed && count < 1000 {
            while tcp.poll_transmit(start).is_some() {}
            let now = tcp.next_timeout().expect("a running timer").max(start);
            tcp.on_timeout(now);
            count += 1;
        }
        assert_eq!(tcp.state(), State::Closed, "{start:?}");
    }
}
