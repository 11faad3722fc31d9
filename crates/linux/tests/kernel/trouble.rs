//! Network faults other than packet losses: marks, ICMP messages, cuts.

use driftway_base::{Duration, Endpoint, Ipv4Addr, Probability, Seq};
use driftway_linux::{ConnectionDriver, Impairment, Namespace, UnmatchedPackets};
use driftway_tcp::{Config, Event};

use crate::application::{
    Application, OURS, Opener, PEER, UNIMPAIRED, both_ways, config, endpoint, peer, unimpaired,
};
use crate::peer::Step;

tests![
    congestion_marks_are_echoed_and_answered_both_ways,
    a_router_without_a_route_does_not_end_an_attempt,
    a_cut_of_two_seconds_is_survived_both_ways,
];

fn congestion_marks_are_echoed_and_answered_both_ways() {
    let marking = Impairment {
        delay: Duration::from_millis(5),
        mark: Probability::from_f64(0.01),
        ..UNIMPAIRED
    };
    for opens in [Opener::We, Opener::Kernel] {
        let namespace = Namespace::new().unwrap();
        namespace.set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
        // Its tail loss probe is sent after two RTTs, here 20 ms: less than scheduling delays on a
        // busy machine.
        namespace.set_sysctl("net/ipv4/tcp_early_retrans", "0").unwrap();
        let cable = both_ways(&namespace, (1, marking));
        let config = Config { ecn: true, min_rto: Duration::from_secs(1), ..config() };
        let mut application = Application::start(cable, opens, &config, 0);
        application.closes = false;
        let steps = [Step::Send(2_000_000), Step::Receive(2_000_000), Step::Snapshot];
        let other = peer(&namespace, opens, PEER, &steps);
        application.run_until("theirs", |a| a.received.bytes() == 2_000_000);
        application.sends = 2_000_000;
        application.run_until("ours", |_| other.is_done());
        let outcome = other.outcome();
        let [theirs] = &outcome.snapshots[..] else { panic!("{outcome:?}") };
        let (to, from) = application.driver.device().counts();
        assert!(to.marked > 5 && from.marked > 5, "{to:?} {from:?}");
        // The kernel counts its segments that were reported as marked.
        assert!(theirs.ecn() && theirs.info.delivered_ce > 0, "{theirs:?}");
        let stats = application.driver.connection().stats();
        assert!(stats.ecn_reductions > 1, "{stats:?}");
        // Marks instead of losses: no retransmissions.
        assert_eq!((stats.retransmissions, theirs.info.total_retrans), (0, 0));
    }
}

fn a_router_without_a_route_does_not_end_an_attempt() {
    let namespace = Namespace::new().unwrap();
    namespace.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
    namespace.set_sysctl("net/ipv4/icmp_ratelimit", "0").unwrap();
    let config = Config { initial_rto: Duration::from_millis(100), max_syn_retries: 2, ..config() };
    let nowhere = Endpoint::new(Ipv4Addr::new(10, 99, 0, 1), 80);
    let mut driver = ConnectionDriver::connect(
        unimpaired(&namespace),
        &config,
        endpoint(OURS),
        nowhere,
        Seq(1),
        1000,
    );
    let end = driver.device().now() + Duration::from_secs(10);
    let event = loop {
        assert!(driver.device().now() < end);
        driver.step(end).unwrap();
        if let Some(event) =
            driver.poll_event().filter(|event| *event != Event::RetransmissionTimeout)
        {
            break event;
        }
    };
    // RFC 9293 §3.9.2.2: net unreachable is a soft error, so that it continued to its last retry.
    assert_eq!(event, Event::TimedOut);
    let (to, from) = driver.device().counts();
    assert_eq!((to.delivered, from.delivered), (3, 3), "each SYN drew an ICMP message");
    assert_eq!(driver.unmatched(), UnmatchedPackets::default(), "about this connection");
}

fn a_cut_of_two_seconds_is_survived_both_ways() {
    let namespace = Namespace::new().unwrap();
    let slow = Impairment { delay: Duration::from_millis(5), ..UNIMPAIRED };
    let cut = Impairment { drop: Probability::ALWAYS, ..slow };
    let cable = both_ways(&namespace, (1, slow));
    let mut application = Application::start(cable, Opener::We, &config(), 20_000_000);
    let steps = [Step::Exchange(20_000_000)];
    let other = peer(&namespace, Opener::We, PEER, &steps);
    application
        .run_until("some of it", |a| a.received.bytes() > 200_000 && a.sent.bytes() > 300_000);
    application.driver.device().set_impairments(cut, cut);
    application.run_until("timeouts in the cut", |a| a.driver.connection().stats().timeouts >= 3);
    assert!(application.received.bytes() < 20_000_000);
    application.driver.device().set_impairments(slow, slow);
    application.run_until("the rest", Application::is_over);
    application.received.assert_complete(20_000_000);
    let outcome = other.outcome();
    outcome.received.assert_complete(20_000_000);
    application.received.assert_same(&outcome.sent);
}
