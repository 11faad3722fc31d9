//! A mobile host and a fixed host: disconnections, warnings, closes and resets in any order and TCP state,
//! for every aid at the mobile host and every loss recovery at the fixed one.

use std::collections::BTreeMap;

use driftway_aid::options::OptionValue;
use driftway_aid::registry::{AIDS, find};
use driftway_base::{Duration, Ecn, Endpoint, Instant, Ipv4Addr, RandomStream, Signal, SignalKind};
use driftway_endpoint::Socket;
use driftway_tcp::{
    Config, Connection, DelayedAck, Event, State, recovery_control_pairs, reset_for,
};
use driftway_wire::TcpSegment;
use proptest::prelude::*;

const MOBILE: usize = 0;
const FIXED: usize = 1;
const LISTING: &[(&str, OptionValue)] =
    &[("resend", OptionValue::Choice("last-sent")), ("ssthresh", OptionValue::Choice("max"))];

fn end(n: usize) -> Endpoint {
    Endpoint::new(Ipv4Addr::new(10, 0, 0, 1 + n as u8), 1000 + n as u16)
}

/// Something that happens to the hosts or between them.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// Time passes (ms).
    Pass(u64),
    /// The mobile host is disconnected, and is notified so or not.
    Down { notified: bool },
    /// It is connected again, and is notified so or not.
    Up { notified: bool },
    /// It is warned, whether or not a disconnection follows (ms).
    Warn(u64),
    /// An application writes.
    Write(usize, u64),
    /// An application stops reading, or reads again.
    Reads(usize, bool),
    /// An application closes its direction.
    Close(usize),
    /// An application aborts the connection.
    Abort(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0_u64..3_000).prop_map(Happening::Pass),
        1 => (0_u64..100_000).prop_map(Happening::Pass),
        4 => prop::bool::weighted(0.9).prop_map(|notified| Happening::Down { notified }),
        4 => prop::bool::weighted(0.9).prop_map(|notified| Happening::Up { notified }),
        2 => (0_u64..2_000).prop_map(Happening::Warn),
        6 => (0_usize..2, 1_u64..60_000).prop_map(|(n, bytes)| Happening::Write(n, bytes)),
        2 => (0_usize..2, any::<bool>()).prop_map(|(n, on)| Happening::Reads(n, on)),
        1 => (0_usize..2).prop_map(Happening::Close),
        1 => prop::bool::weighted(0.2).prop_map(|fixed| Happening::Abort(usize::from(fixed))),
    ]
}

#[derive(Clone, Debug)]
struct Case {
    /// The aid at the mobile host, and the loss recovery and growth at each host.
    aid: usize,
    pairs: [usize; 2],
    opens: usize,
    sack: bool,
    delayed_ack: bool,
    one_way: u64,
    /// Segments on their way are lost when the mobile host is disconnected.
    cuts_link: bool,
    loss: u64,
    seed: u64,
    happenings: Vec<Happening>,
}

fn cases() -> impl Strategy<Value = Case> {
    let pairs = recovery_control_pairs().count();
    (
        (0..=AIDS.len(), [0..pairs, 0..pairs], 0_usize..2, any::<bool>(), any::<bool>()),
        (1_u64..400, any::<bool>(), prop_oneof![Just(0_u64), 0_u64..15], any::<u64>()),
        prop::collection::vec(happening(), 1..50),
    )
        .prop_map(|((aid, pairs, opens, sack, delayed_ack), path, happenings)| {
            let (one_way, cuts_link, loss, seed) = path;
            Case {
                aid,
                pairs,
                opens,
                sack,
                delayed_ack,
                one_way,
                cuts_link,
                loss,
                seed,
                happenings,
            }
        })
}

/// Both hosts, and the path between them.
struct Hosts {
    now: Instant,
    sockets: [Socket; 2],
    reads: [bool; 2],
    written: [u64; 2],
    read: [u64; 2],
    events: [Vec<Event>; 2],
    /// Receiver and segment of each arrival.
    on_the_way: BTreeMap<(Instant, u64), (usize, TcpSegment)>,
    sent: u64,
    up: bool,
    case: Case,
    random: RandomStream,
}

impl Hosts {
    fn new(case: &Case) -> Self {
        let config = |n: usize| {
            let (recovery, growth) = recovery_control_pairs().nth(case.pairs[n]).expect("a pair");
            Config {
                recovery,
                growth,
                sack: case.sack,
                timestamps: case.sack,
                delayed_ack: case
                    .delayed_ack
                    .then_some(DelayedAck { timeout: Duration::from_millis(200), on_tick: false }),
                receive_buffer: 20_000,
                mss: 500,
                // Nobody gives up: what must end, ends because there is a path.
                max_retries: 1_000,
                max_syn_retries: 1_000,
                ..Config::default()
            }
        };
        let tcp = |n: usize| {
            let (at, peer) = (end(n), end(1 - n));
            let iss = driftway_base::Seq(u32::MAX - 2_000 * n as u32);
            match n == case.opens {
                true => Connection::connect(&config(n), at, peer, iss, n as u32, Instant::ZERO),
                false => Connection::listen(&config(n), at, iss, n as u32),
            }
        };
        let aid = match AIDS.get(case.aid) {
            Some(listed) => listed.build(&[]),
            None => find("mobile-host").expect("it exists").build(LISTING),
        };
        Self {
            now: Instant::ZERO,
            sockets: [
                Socket::new(tcp(MOBILE), Some(aid.expect("valid options"))),
                Socket::new(tcp(FIXED), None),
            ],
            reads: [true; 2],
            written: [0; 2],
            read: [0; 2],
            events: [Vec::new(), Vec::new()],
            on_the_way: BTreeMap::new(),
            sent: 0,
            up: true,
            random: RandomStream::new(case.seed, "path", 0),
            case: case.clone(),
        }
    }

    /// Applications read, and hosts send what they may.
    fn settle(&mut self) {
        for n in [MOBILE, FIXED] {
            let socket = &mut self.sockets[n];
            while self.reads[n]
                && let Some(part) = socket.tcp_mut().read(u32::MAX)
            {
                assert_eq!((part.stream, part.offset), (1 - n as u32, self.read[n]), "in order");
                self.read[n] += u64::from(part.len);
                assert!(self.read[n] <= self.written[1 - n], "more than was written");
            }
            while let Some(event) = socket.tcp_mut().poll_event() {
                self.events[n].push(event);
            }
            while let Some(transmit) = self.sockets[n].poll_transmit(self.now) {
                self.transmit(n, transmit.segment);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.sockets.iter().flat_map(|s| [s.next_aid_timeout(), s.next_tcp_timeout()]);
        let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
        timers.chain([arrival]).flatten().min()
    }

    /// Runs until `end`, or until nothing can happen any more.
    fn run(&mut self, end: Instant) {
        self.settle();
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while let Some(first) = self.on_the_way.first_entry().filter(|e| e.key().0 <= self.now)
            {
                let (to, segment) = first.remove();
                if self.up || !(to == MOBILE || self.case.cuts_link) {
                    let from = self::end(1 - to).address;
                    self.receive(to, from, &segment);
                }
            }
            for socket in &mut self.sockets {
                if socket.next_aid_timeout().is_some_and(|at| at <= self.now) {
                    socket.on_aid_timeout(self.now);
                }
                if socket.next_tcp_timeout().is_some_and(|at| at <= self.now) {
                    socket.on_tcp_timeout(self.now);
                }
            }
            self.settle();
        }
        self.now = self.now.max(end);
    }

    /// A segment arrives at a host, which resets connections that it does not know.
    fn receive(&mut self, to: usize, from: Ipv4Addr, segment: &TcpSegment) {
        if self.sockets[to].tcp().state() != State::Closed {
            self.sockets[to].on_segment(self.now, from, segment, Ecn::NotEct);
        } else if let Some(reset) = reset_for(segment) {
            self.transmit(to, reset);
        }
        self.settle();
    }

    fn transmit(&mut self, from: usize, segment: TcpSegment) {
        self.sent += 1;
        assert!(self.sent < 200_000, "sends without end");
        if self.up && self.random.uniform_below(100) >= self.case.loss {
            let at = self.now + Duration::from_millis(self.case.one_way);
            self.on_the_way.insert((at, self.sent), (1 - from, segment));
        }
    }

    fn signal(&mut self, kind: SignalKind) {
        self.sockets[MOBILE].on_signal(self.now, &Signal::new(kind));
        self.settle();
    }

    fn set_up(&mut self, up: bool, notified: bool) {
        let changes = self.up != up;
        self.up = up;
        if !up && self.case.cuts_link {
            self.on_the_way.clear();
        }
        if notified && changes {
            self.signal(if up { SignalKind::LinkUp } else { SignalKind::LinkDown });
        }
    }

    fn apply(&mut self, happening: Happening) {
        match happening {
            Happening::Pass(ms) => self.run(self.now + Duration::from_millis(ms)),
            Happening::Down { notified } => self.set_up(false, notified),
            Happening::Up { notified } => self.set_up(true, notified),
            Happening::Warn(ms) => {
                let expected_lifetime = Duration::from_millis(ms);
                self.signal(SignalKind::LinkFading { expected_lifetime });
            }
            Happening::Write(n, bytes) => {
                self.written[n] += self.sockets[n].tcp_mut().write(bytes);
            }
            Happening::Reads(n, on) => self.reads[n] = on,
            // Before the connection exists, close deletes it (RFC 9293 §3.10.4).
            Happening::Close(n) => {
                let tcp = self.sockets[n].tcp_mut();
                if !matches!(tcp.state(), State::Listen | State::SynSent) {
                    tcp.close();
                }
            }
            Happening::Abort(n) => self.sockets[n].tcp_mut().abort(),
        }
        self.settle();
    }
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let mut hosts = Hosts::new(case);
    for happening in &case.happenings {
        hosts.apply(*happening);
    }
    let aborted = case.happenings.iter().any(|h| matches!(h, Happening::Abort(_)));
    // From now on there is a path, and the applications read.
    hosts.case.loss = 0;
    hosts.set_up(true, true);
    hosts.reads = [true; 2];
    hosts.run(hosts.now + Duration::from_secs(1_000));
    let open = hosts.sockets.iter().all(|socket| socket.tcp().state().is_synchronized());
    if !aborted {
        let failed = |event: &Event| matches!(event, Event::Reset | Event::TimedOut);
        prop_assert!(!hosts.events.iter().flatten().any(failed), "{:?}", hosts.events);
    }
    if open {
        prop_assert_eq!(hosts.read, [hosts.written[1], hosts.written[0]], "everything arrives");
    }
    // Both close: neither a connection nor a timer may be left.
    hosts.sockets.iter_mut().for_each(|socket| socket.tcp_mut().close());
    hosts.run(hosts.now + Duration::from_secs(1_000));
    for (n, socket) in hosts.sockets.iter().enumerate() {
        if aborted && socket.tcp().state() == State::FinWait2 {
            // The reset was lost, and this host waits for nothing but its peer's FIN.
            continue;
        }
        prop_assert_eq!(socket.tcp().state(), State::Closed, "host {}", n);
        prop_assert_eq!(socket.next_tcp_timeout(), None);
        prop_assert_eq!(socket.next_aid_timeout(), None, "{:?}", socket.aid_state());
    }
    if !aborted {
        prop_assert_eq!(hosts.read, [hosts.written[1], hosts.written[0]], "everything has arrived");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]
    #[test]
    fn streams_stay_whole_and_transfers_end(case in cases()) {
        check(&case)?;
    }
}
