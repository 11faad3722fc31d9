//! Our TCP against the kernel's.

use std::io::ErrorKind;
use std::net::SocketAddrV4;
use std::time::Duration as StdDuration;

use base::{Chance, Duration, Endpoint, Ipv4Addr, Seq};
use host::{Cable, Counts, Driver, Impairment, KernelTimer, Namespace, kernel_tcp};
use tcp::{Agreed, Config, Event, PAIRS, State};

use crate::echo::{KERNEL, US, cable};
use crate::namespace;
use crate::peer::{Options, Outcome, Peer, Step, first_wrong, pattern};

const KERNELS: SocketAddrV4 = SocketAddrV4::new(KERNEL, 5000);
const OURS: SocketAddrV4 = SocketAddrV4::new(US, 6000);
const PEER: Options = Options { congestion_control: "cubic", receive_buffer: None, sends: 0 };
const GOOD: Impairment = Impairment {
    delay: Duration::ZERO,
    drop: Chance::NEVER,
    duplicate: Chance::NEVER,
    reorder: Chance::NEVER,
    reorder_by: Duration::ZERO,
    mark: Chance::NEVER,
    corrupt: Chance::NEVER,
};

/// A cable that does nothing to packets.
fn good(namespace: &Namespace) -> Cable {
    cable(namespace, 1, GOOD, GOOD)
}

/// Close to the wrap, so that every transfer crosses it.
const ISS: Seq = Seq(u32::MAX - 5000);

/// Who opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    We,
    Kernel,
}

/// Our default, with timers for the length of this cable.
fn config() -> Config {
    Config {
        timestamps: true,
        window_scale: true,
        receive_buffer: 200_000,
        min_rto: Duration::from_millis(200),
        persist_min: Duration::from_millis(200),
        ..Config::default()
    }
}

/// Our side's application: sends pattern 1, expects pattern 0, as [`Peer`] does the other way.
struct Application {
    driver: Driver,
    sends: u64,
    sent: u64,
    received: u64,
    wrong_at: Option<u64>,
    reads: bool,
    closes: bool,
    closed: bool,
    events: Vec<Event>,
}

impl Application {
    /// One that is to send `sends` bytes, then closes.
    fn start(cable: Cable, opens: Opens, config: &Config, sends: u64) -> Self {
        let (local, remote) = (endpoint(OURS), endpoint(KERNELS));
        let driver = match opens {
            Opens::We => Driver::connect(cable, config, local, remote, ISS, 100_000),
            Opens::Kernel => Driver::listen(cable, config, local, ISS, 100_000),
        };
        Self {
            driver,
            sends,
            sent: 0,
            received: 0,
            wrong_at: None,
            reads: true,
            closes: true,
            closed: false,
            events: Vec::new(),
        }
    }

    /// Goes on until `done` says so. One that takes a minute hangs.
    fn run_until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = self.driver.cable().now() + Duration::from_secs(60);
        while !done(self) {
            let now = self.driver.cable().now();
            assert!(
                now < end,
                "{what}: {} of {} sent, {} received, {:?}, {:?}, {:?}",
                self.sent,
                self.sends,
                self.received,
                self.driver.connection().state(),
                self.events,
                self.driver.connection().stats(),
            );
            self.step();
            // Not longer than that, to look at `done`.
            self.driver.turn(now + Duration::from_millis(20)).unwrap();
            while let Some(event) = self.driver.poll_event() {
                self.events.push(event);
            }
        }
    }

    fn step(&mut self) {
        let mut buffer = [0; 8192];
        while self.sent < self.sends {
            let len = buffer.len().min((self.sends - self.sent) as usize);
            pattern(1, self.sent, &mut buffer[..len]);
            let taken = self.driver.write(&buffer[..len]);
            self.sent += taken as u64;
            if taken < len {
                break;
            }
        }
        if self.closes && !self.closed && self.sent == self.sends && self.is_open() {
            self.driver.close();
            self.closed = true;
        }
        while self.reads {
            let len = self.driver.read(&mut buffer).unwrap();
            if len == 0 {
                break;
            }
            self.wrong_at = self.wrong_at.or(first_wrong(0, self.received, &buffer[..len]));
            self.received += len as u64;
        }
    }

    fn is_open(&self) -> bool {
        self.driver.connection().state().is_synchronized()
    }

    /// Both sides have closed and know it.
    fn is_over(&self) -> bool {
        matches!(self.driver.connection().state(), State::Closed | State::TimeWait)
    }

    fn assert_received(&self, bytes: u64) {
        assert_eq!((self.received, self.wrong_at), (bytes, None));
    }
}

fn endpoint(address: SocketAddrV4) -> Endpoint {
    Endpoint::new(*address.ip(), address.port())
}

/// The kernel's side, which opens the connection, or waits for ours.
fn peer(namespace: &Namespace, opens: Opens, options: Options, steps: &[Step]) -> Peer {
    match opens {
        Opens::We => Peer::listen(namespace, KERNELS, options, steps).unwrap().0,
        Opens::Kernel => Peer::connect(namespace, KERNELS, OURS, options, steps).unwrap(),
    }
}

/// Both send this many bytes at once and close; gives both sides when all has arrived.
fn exchange(
    namespace: &Namespace,
    cable: Cable,
    opens: Opens,
    config: &Config,
    (ours, kernels): (u64, u64),
) -> (Application, Outcome) {
    let mut application = Application::start(cable, opens, config, ours);
    let steps = [Step::Exchange(kernels)];
    let peer = peer(namespace, opens, PEER, &steps);
    application.run_until("exchange", |a| a.is_over() && a.driver.connection().peer_closed());
    application.step();
    let outcome = peer.outcome();
    assert_eq!((outcome.received, outcome.wrong_at), (ours, None), "{outcome:?}");
    assert_eq!(outcome.error, None);
    application.assert_received(kernels);
    (application, outcome)
}

#[test]
fn both_ways_at_once_over_a_good_cable() {
    for opens in [Opens::We, Opens::Kernel] {
        let name = "both_ways_at_once_over_a_good_cable";
        let Some(namespace) = namespace(name) else { return };
        let bytes = (2_000_000, 3_000_001);
        let (application, _) = exchange(&namespace, good(&namespace), opens, &config(), bytes);
        assert_eq!(application.events.first(), Some(&Event::Connected));
        assert_eq!(application.driver.connection().stats().timeouts, 0);
        assert_eq!(application.driver.strangers(), host::Strangers::default());
    }
}

#[test]
fn every_recovery_over_a_bad_cable() {
    let chance = Chance::from_probability;
    let bad = Impairment {
        delay: Duration::from_millis(3),
        drop: chance(0.02),
        duplicate: chance(0.02),
        reorder: chance(0.03),
        reorder_by: Duration::from_millis(4),
        corrupt: chance(0.02),
        ..GOOD
    };
    let mut total = [Counts::default(); 2];
    for (seed, (recovery, growth)) in (0..).zip(PAIRS) {
        for (opens, timestamps) in [(Opens::We, true), (Opens::Kernel, false)] {
            let Some(namespace) = namespace("every_recovery_over_a_bad_cable") else { return };
            let config = Config { recovery: *recovery, growth: *growth, timestamps, ..config() };
            let cable = cable(&namespace, seed, bad, bad);
            let bytes = (300_000, 300_000);
            let (mut application, _) = exchange(&namespace, cable, opens, &config, bytes);
            assert!(application.driver.connection().stats().retransmissions > 0);
            // What was refused had been corrupted, and nothing else came.
            let (to, from) = application.driver.cable().counts();
            assert_eq!(application.driver.strangers().foreign, 0);
            assert!(application.driver.strangers().undecodable <= from.corrupted);
            for (sum, counts) in total.iter_mut().zip([to, from]) {
                sum.dropped += counts.dropped;
                sum.duplicated += counts.duplicated;
                sum.reordered += counts.reordered;
                sum.corrupted += counts.corrupted;
            }
        }
    }
    for Counts { dropped, duplicated, reordered, corrupted, .. } in total {
        assert!([dropped, duplicated, reordered, corrupted].iter().all(|n| *n > 10), "{total:?}");
    }
}

#[test]
fn congestion_marks_are_echoed_and_answered_both_ways() {
    let name = "congestion_marks_are_echoed_and_answered_both_ways";
    let marking = Impairment {
        delay: Duration::from_millis(5),
        mark: Chance::from_probability(0.01),
        ..GOOD
    };
    for opens in [Opens::We, Opens::Kernel] {
        let Some(namespace) = namespace(name) else { return };
        namespace.set("net/ipv4/tcp_ecn", "1").unwrap();
        let cable = cable(&namespace, 1, marking, marking);
        let config = Config { ecn: true, ..config() };
        let mut application = Application::start(cable, opens, &config, 0);
        application.closes = false;
        let steps = [Step::Send(2_000_000), Step::Receive(2_000_000), Step::Snapshot];
        let other = peer(&namespace, opens, PEER, &steps);
        application.run_until("theirs", |a| a.received == 2_000_000);
        application.sends = 2_000_000;
        application.run_until("ours", |_| other.is_done());
        let outcome = other.outcome();
        let [theirs] = &outcome.snapshots[..] else { panic!("{outcome:?}") };
        let (to, from) = application.driver.cable().counts();
        assert!(to.marked > 5 && from.marked > 5, "{to:?} {from:?}");
        // The kernel counts the segments of its own that we reported as marked.
        assert!(theirs.ecn() && theirs.info.delivered_ce > 0, "{theirs:?}");
        let stats = application.driver.connection().stats();
        assert!(stats.ecn_reductions > 1, "{stats:?}");
        // Marks instead of losses: nobody sends anything twice.
        assert_eq!((stats.retransmissions, theirs.info.total_retrans), (0, 0));
    }
}

#[test]
fn a_router_without_a_route_does_not_end_an_attempt() {
    let name = "a_router_without_a_route_does_not_end_an_attempt";
    let Some(namespace) = namespace(name) else { return };
    namespace.set("net/ipv4/ip_forward", "1").unwrap();
    namespace.set("net/ipv4/icmp_ratelimit", "0").unwrap();
    let config = Config { initial_rto: Duration::from_millis(100), max_syn_retries: 2, ..config() };
    let nowhere = Endpoint::new(Ipv4Addr::new(10, 99, 0, 1), 80);
    let mut driver = Driver::connect(good(&namespace), &config, endpoint(OURS), nowhere, ISS, 1000);
    let end = driver.cable().now() + Duration::from_secs(10);
    let event = loop {
        assert!(driver.cable().now() < end);
        driver.turn(end).unwrap();
        if let Some(event) = driver.poll_event() {
            break event;
        }
    };
    // RFC 9293 §3.9.2.2: net unreachable is a soft error, so it went on to its last retry.
    assert_eq!(event, Event::TimedOut);
    let (to, from) = driver.cable().counts();
    assert_eq!((to.delivered, from.delivered), (3, 3), "each SYN drew an ICMP message");
    assert_eq!(driver.strangers(), host::Strangers::default(), "about this connection");
}

#[test]
fn what_both_offer_is_agreed_on_and_nothing_else() {
    type Set = fn(&mut Config, bool);
    type Get = fn(&Agreed) -> bool;
    let options: [(&str, Set, Get); 4] = [
        ("tcp_timestamps", |c, on| c.timestamps = on, |a| a.timestamps),
        ("tcp_sack", |c, on| c.sack = on, |a| a.sack),
        ("tcp_window_scaling", |c, on| c.window_scale = on, |a| a.window_scale),
        ("tcp_ecn", |c, on| c.ecn = on, |a| a.ecn),
    ];
    for opens in [Opens::We, Opens::Kernel] {
        for (setting, set, agreed) in options {
            for (we, kernel) in [(true, true), (true, false), (false, true), (false, false)] {
                let name = "what_both_offer_is_agreed_on_and_nothing_else";
                let Some(namespace) = namespace(name) else { return };
                let value = if kernel { "1" } else { "0" };
                namespace.set(&format!("net/ipv4/{setting}"), value).unwrap();
                let mut config = config();
                set(&mut config, we);
                let mut application = Application::start(good(&namespace), opens, &config, 10);
                let steps = [Step::Receive(10), Step::Snapshot, Step::Send(10), Step::ReceiveAll];
                let peer = peer(&namespace, opens, PEER, &steps);
                application.run_until("agreement", |a| a.is_over());
                let outcome = peer.outcome();
                let [theirs] = &outcome.snapshots[..] else { panic!("{outcome:?}") };
                let ours = application.driver.connection().agreed();
                assert_eq!(agreed(&ours), we && kernel, "{opens:?} {setting} {we} {kernel}");
                let theirs = Agreed {
                    sack: theirs.sack(),
                    timestamps: theirs.timestamps(),
                    window_scale: theirs.window_scale().is_some(),
                    ecn: theirs.ecn(),
                };
                assert_eq!(ours, theirs, "{opens:?} {setting} {we} {kernel}");
            }
        }
    }
}

#[test]
fn after_a_half_close_the_other_way_goes_on() {
    for opens in [Opens::We, Opens::Kernel] {
        let name = "after_a_half_close_the_other_way_goes_on (ours)";
        let Some(namespace) = namespace(name) else { return };
        // We close first, the kernel answers then.
        let mut application = Application::start(good(&namespace), opens, &config(), 10);
        let first = peer(&namespace, opens, PEER, &[Step::ReceiveAll, Step::Send(500_000)]);
        application.run_until("we close first", Application::is_over);
        application.step();
        application.assert_received(500_000);
        assert_eq!(application.driver.connection().state(), State::TimeWait);
        assert_eq!(first.outcome().received, 10);
        drop(application);

        // The kernel closes first, we answer then.
        let mut application = Application::start(good(&namespace), opens, &config(), 500_000);
        application.sends = 0;
        application.closes = false;
        let steps = [Step::Send(10), Step::HalfClose, Step::ReceiveAll];
        let second = peer(&namespace, opens, PEER, &steps);
        application.run_until("the kernel closes first", |a| a.driver.connection().peer_closed());
        assert_eq!(application.driver.connection().state(), State::CloseWait);
        (application.sends, application.closes) = (500_000, true);
        application.run_until("we answer", Application::is_over);
        application.assert_received(10);
        assert_eq!(application.driver.connection().state(), State::Closed);
        assert_eq!(application.events.last(), Some(&Event::Closed));
        let outcome = second.outcome();
        assert_eq!((outcome.received, outcome.wrong_at), (500_000, None));
    }
}

#[test]
fn a_reset_either_way_is_seen_as_one() {
    let Some(namespace) = namespace("a_reset_either_way_is_seen_as_one") else { return };
    let mut application = Application::start(good(&namespace), Opens::We, &config(), 10);
    application.closes = false;
    let resets = peer(&namespace, Opens::We, PEER, &[Step::Receive(10), Step::Reset]);
    application.run_until("a reset from the kernel", |a| a.events.contains(&Event::Reset));
    assert_eq!(application.driver.connection().state(), State::Closed);
    assert_eq!(resets.outcome().received, 10);
    drop(application);

    let mut application = Application::start(good(&namespace), Opens::We, &config(), 10);
    application.closes = false;
    let reset =
        peer(&namespace, Opens::We, PEER, &[Step::Receive(10), Step::Send(1), Step::ReceiveAll]);
    application.run_until("an answer", |a| a.received == 1);
    application.driver.abort();
    application.run_until("a reset to the kernel", |_| reset.is_done());
    assert_eq!(reset.outcome().error, Some(ErrorKind::ConnectionReset));
}

#[test]
fn a_closed_port_refuses() {
    let Some(namespace) = namespace("a_closed_port_refuses") else { return };
    let mut application = Application::start(good(&namespace), Opens::We, &config(), 10);
    application.run_until("refusal", |a| a.events.contains(&Event::Reset));
    assert_eq!(application.driver.connection().state(), State::Closed);
}

#[test]
fn we_probe_the_window_that_the_kernel_closed() {
    let Some(namespace) = namespace("we_probe_the_window_that_the_kernel_closed") else { return };
    let mut application = Application::start(good(&namespace), Opens::We, &config(), 2_000_000);
    let small = Options { receive_buffer: Some(8192), ..PEER };
    let steps = [Step::Receive(1), Step::Pause(StdDuration::from_secs(3)), Step::ReceiveAll];
    let slow = peer(&namespace, Opens::We, small, &steps);
    application.run_until("the pause", |a| a.driver.connection().stats().probes >= 3);
    assert!(application.sent < 2_000_000);
    application.run_until("the rest", |a| a.is_over());
    let outcome = slow.outcome();
    assert_eq!((outcome.received, outcome.wrong_at), (2_000_000, None));
}

#[test]
fn the_kernel_probes_the_window_that_we_closed() {
    let Some(namespace) = namespace("the_kernel_probes_the_window_that_we_closed") else { return };
    let mut application = Application::start(good(&namespace), Opens::We, &config(), 0);
    application.reads = false;
    application.closes = false;
    let fast = peer(&namespace, Opens::We, PEER, &[Step::Send(3_000_000)]);
    application.run_until("a closed window", |_| {
        let theirs = namespace.run(|| kernel_tcp(KERNELS, OURS)).unwrap();
        theirs.is_ok_and(|tcp| matches!(tcp.timer, Some(KernelTimer::Probe { .. })))
    });
    assert_eq!(application.driver.connection().readable(), config().receive_buffer);
    // Its probes are answered and change nothing.
    application.run_until("probes", |_| {
        let theirs = namespace.run(|| kernel_tcp(KERNELS, OURS)).unwrap();
        theirs.unwrap().info.backoff >= 2
    });
    assert_eq!(application.driver.connection().readable(), config().receive_buffer);
    application.reads = true;
    application.run_until("the rest", |a| a.received == 3_000_000);
    assert_eq!(application.wrong_at, None);
    application.closes = true;
    application.run_until("the end", Application::is_over);
    assert_eq!(fast.outcome().sent, 3_000_000);
}

/// A segment that begins behind the kernel's window is dropped with its acknowledgment, so while we
/// probe, our acknowledgments must not count the probe's byte.
#[test]
fn the_kernel_hears_our_acks_while_its_window_is_closed() {
    let name = "the_kernel_hears_our_acks_while_its_window_is_closed";
    let Some(namespace) = namespace(name) else { return };
    let mut application = Application::start(good(&namespace), Opens::We, &config(), 2_000_000);
    application.closes = false;
    let small = Options { receive_buffer: Some(8192), ..PEER };
    // It does not read yet, so that our data closes its window.
    let steps = [Step::Pause(StdDuration::from_secs(1)), Step::Send(5_000_000), Step::ReceiveAll];
    let other = peer(&namespace, Opens::We, small, &steps);
    application.run_until("probes", |a| a.driver.connection().stats().probes > 0);
    application.run_until("theirs", |a| a.received == 5_000_000);
    application.closes = true;
    application.run_until("ours", Application::is_over);
    let outcome = other.outcome();
    assert_eq!((outcome.received, outcome.wrong_at), (2_000_000, None));
}

#[test]
fn a_cut_of_two_seconds_is_survived_both_ways() {
    let name = "a_cut_of_two_seconds_is_survived_both_ways";
    let Some(namespace) = namespace(name) else { return };
    let slow = Impairment { delay: Duration::from_millis(5), ..GOOD };
    let cut = Impairment { drop: Chance::ALWAYS, ..slow };
    let cable = cable(&namespace, 1, slow, slow);
    let mut application = Application::start(cable, Opens::We, &config(), 20_000_000);
    let steps = [Step::Exchange(20_000_000)];
    let other = peer(&namespace, Opens::We, PEER, &steps);
    application.run_until("some of it", |a| a.received > 200_000 && a.sent > 300_000);
    application.driver.cable().set(cut, cut);
    application.run_until("timeouts in the cut", |a| a.driver.connection().stats().timeouts >= 3);
    let received = application.received;
    assert!(received < 20_000_000);
    application.driver.cable().set(slow, slow);
    application.run_until("the rest", Application::is_over);
    application.step();
    application.assert_received(20_000_000);
    let outcome = other.outcome();
    assert_eq!((outcome.received, outcome.wrong_at), (20_000_000, None));
}
