//! ARP between routing and the MAC layer.

use driftway_scenario::Scenario;
use driftway_sim::results::RunResult;

/// Three nodes in a row, of which the second leaves at once if `leaves`.
fn run(arp: &str, leaves: bool) -> RunResult {
    let speed = if leaves { "200 m/s" } else { "0 m/s" };
    let text = format!(
        r#"
        name = "arp"
        duration = "60 s"
        [network]
        kind = "adhoc"
        area = ["100 km", "100 km"]
        mobility = {{ model = "constant-velocity", positions = [["0 m", "0 m"], ["200 m", "0 m"],
            ["400 m", "0 m"]], velocities = [["0 m/s", "0 m/s"], ["0 m/s", "{speed}"], ["0 m/s", "0 m/s"]] }}
        routing = {{ protocol = "static" }}
        arp = {arp}
        [[flow]]
        from = 0
        to = 2
        start = "5 s"
        application = {{ cbr = {{ every = "250 ms", size = "500 B" }} }}
        transport = "udp"
        "#
    );
    let scenario = Scenario::parse("arp.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    driftway_sim::run(&scenario, 1, None).unwrap_or_else(|e| panic!("{e}"))
}

fn drops(result: &RunResult, why: &str) -> u64 {
    result.drops.get(why).copied().unwrap_or(0)
}

const NS2: &str =
    r#"{ hold = 1, retry = "next-packet", lifetime = "forever", learn_from_all = true }"#;

/// 220 packets over two hops; one request per hop, and each reply is a unicast frame.
#[test]
fn two_hops_ask_once_each_and_lose_nothing() {
    for arp in ["true", NS2] {
        let (with, without) = (run(arp, false), run("false", false));
        assert_eq!(with.flows[0].delivered_bytes, without.flows[0].delivered_bytes, "{arp}");
        let (mac, plain) = (with.mac.as_ref().unwrap(), without.mac.as_ref().unwrap());
        assert_eq!(mac.broadcast, plain.broadcast + 2, "{arp}");
        assert_eq!(drops(&with, "arp"), 0);
    }
}

/// A node that has left answers no requests: the packets held for it fail in groups, as link failures.
/// ns-2's ARP holds one packet; it drops packets silently except for every fourth, which fails
/// together with the third.
#[test]
fn a_node_that_has_left_causes_link_failures() {
    let standard = run("true", true);
    assert_eq!(standard.flows[0].delivered_bytes, 0);
    let routing = standard.routing.as_ref().unwrap();
    let failed = routing.arp_failures;
    assert_eq!(routing.link_failures, 0, "no packet reached the link layer");
    // Three packets are held for three seconds, in which twelve arrive.
    assert!((45..=57).contains(&failed), "{failed}");
    assert!(drops(&standard, "arp") > 2 * failed, "{:?}", standard.drops);

    let ns2 = run(NS2, true);
    let failed = ns2.routing.as_ref().unwrap().arp_failures;
    assert_eq!((failed, drops(&ns2, "arp")), (110, 110), "{:?}", ns2.drops);
}

/// A packet that ARP cannot resolve takes no hop, although routing sent each of them, and those that
/// were returned a second time.
#[test]
fn a_packet_that_arp_cannot_resolve_takes_no_hop() {
    for arp in ["true", NS2] {
        let gone = run(arp, true).routing.unwrap();
        assert_eq!(gone.data_hops, 0, "{arp}");
        assert!(gone.data_routed >= 220, "{arp}: {}", gone.data_routed);
        // 220 packets over two hops; another is sent when the run ends.
        let there = run(arp, false).routing.unwrap();
        assert_eq!((there.data_hops, there.data_routed), (440, 441), "{arp}");
    }
}
