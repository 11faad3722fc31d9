//! Signals that hosts get about their links.

use driftway_base::{Duration, FailedLink, FlowId, Known, NodeId, SignalKind};
use driftway_scenario::Scenario;

use super::address;
use super::recording_aid::{NextHopPowers, ReceivedSignal, add_recording_aid};
use crate::Simulation;

/// Node 1 is in range of node 0 up to 250 m. It moves from 150 m to 300 m and back, and stops
/// 150 m away. Node 2 is never in range.
fn leaving_and_returning(network: &str, flow: &str) -> Scenario {
    let text = format!(
        r#"
        name = "to and fro"
        duration = "12 s"
        [network]
        kind = "adhoc"
        area = ["300 m", "300 m"]
        {network}
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["150 m", "0 m"], ["300 m", "300 m"]]
        velocities = [["0 m/s", "0 m/s"], ["25 m/s", "0 m/s"], ["0 m/s", "0 m/s"]]
        [[flow]]
        from = 0
        to = 1
        {flow}
        "#
    );
    Scenario::parse("fro.toml", &text, &[]).unwrap()
}

/// The signals that a connection of node 0 receives about the link to node 1.
fn received_signals(more: &str) -> (Vec<ReceivedSignal>, NextHopPowers) {
    let network = format!("routing = {{ protocol = \"static\" }}\n{more}");
    let scenario = leaving_and_returning(&network, "application = \"ftp\"");
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let (heard, seen) = add_recording_aid(&mut run.hosts.hosts[NodeId::new(0)], address(1));
    while run.step().unwrap() {}
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (heard, seen)
}

#[test]
fn a_host_is_notified_that_a_link_fades_fails_and_recovers() {
    let link = Some(FailedLink { from: address(0), to: address(1) });
    let (signals, seen) = received_signals("link_signals = { lead = \"1 s\" }");
    assert!(signals.iter().all(|(.., about)| *about == link), "{signals:?}");
    let [fading, down, up, ..] = signals[..] else { panic!("{signals:?}") };
    let SignalKind::LinkFading { expected_lifetime: lead } = fading.1 else {
        panic!("{signals:?}")
    };
    // It is out of range from 4 s on.
    assert!((2_800..3_300).contains(&fading.0) && lead <= Duration::from_secs(1), "{signals:?}");
    assert_eq!((down.1, up.1), (SignalKind::LinkDown, SignalKind::LinkUp), "{signals:?}");
    assert!((4_000..4_500).contains(&down.0) && (8_000..12_000).contains(&up.0), "{signals:?}");
    let Known::Exact(power) = seen.lock().unwrap()[0] else { panic!("{seen:?}") };
    assert_eq!(power.expected_lifetime(), Some(lead));
}

#[test]
fn without_link_signals_no_signal_is_sent() {
    let (signals, _) = received_signals("");
    let link = |(_, kind, _): &ReceivedSignal| {
        use SignalKind::{LinkDown, LinkFading, LinkUp};
        matches!(kind, LinkUp | LinkDown | LinkFading { .. })
    };
    assert!(!signals.iter().any(link), "{signals:?}");
}

/// A node overhears another, by its requests for a third, while that node moves away: its routing
/// replies to no request of it until it has come back. It is out of range from 4 s to 8 s.
#[test]
fn routing_avoids_a_fading_neighbour() {
    let first_delivered = |protocol: &str, avoid: &str| {
        let network = format!("routing = {{ protocol = \"{protocol}\"{avoid} }}");
        let datagrams = "transport = \"udp\"\n\
            application = { cbr = { every = \"200 ms\", size = \"100 B\" } }";
        let flows =
            format!("start = \"3 s\"\n{datagrams}\n[[flow]]\nfrom = 0\nto = 2\n{datagrams}");
        let scenario = leaving_and_returning(&network, &flows);
        let mut run = Simulation::new(&scenario, 1, None).unwrap();
        while run.hosts.flows[FlowId::new(0)].delivered == 0 {
            assert!(run.step().unwrap(), "{protocol}: never delivered");
        }
        run.now().as_millis()
    };
    for protocol in ["aodv", "dsr"] {
        let plain = first_delivered(protocol, "");
        let avoiding = first_delivered(protocol, ", avoid_fading = \"3 s\"");
        assert!(plain < 3_100, "{protocol}: {plain} ms");
        assert!(avoiding > 8_000, "{protocol}: {avoiding} ms");
    }
}

/// The signals that connections at nodes 1 and 3 receive about partitions of the hop between 1 and
/// 2.
fn signals_of_partitions(signal: &str) -> [Vec<ReceivedSignal>; 2] {
    let text = format!(
        r#"
        name = "seen"
        duration = "9 s"
        [network]
        kind = "path"
        hops = 3
        link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
        [[network.fault]]
        kind = "partition"
        hop = 2
        first = "3 s"
        lasts = "2 s"
        {signal}
        [[flow]]
        from = 0
        to = 3
        application = "ftp"
        "#
    );
    let scenario = Scenario::parse("seen.toml", &text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let heard =
        [1, 3].map(|node| add_recording_aid(&mut run.hosts.hosts[NodeId::new(node)], address(0)).0);
    while run.step().unwrap() {}
    heard.map(|heard| std::mem::take(&mut *heard.lock().unwrap()))
}

#[test]
fn only_nodes_at_a_hop_are_notified_of_its_partition() {
    let link = Some(FailedLink { from: address(1), to: address(2) });
    let cut = [(3_000, SignalKind::LinkDown, link), (5_000, SignalKind::LinkUp, link)];
    let [near, far] = signals_of_partitions("signal = \"link\"");
    assert_eq!((near.as_slice(), far.as_slice()), (&cut[..], &[][..]));
    let [near, _] = signals_of_partitions("signal = \"link\"\nlead = \"1500 ms\"");
    let lead = Duration::from_millis(1500);
    assert_eq!(
        near,
        [(1_500, SignalKind::LinkFading { expected_lifetime: lead }, link), cut[0], cut[1]]
    );
    let [near, far] = signals_of_partitions("signal = \"none\"");
    assert!(near.is_empty() && far.is_empty());
}

/// The signals that connections of node 1 and of its neighbour receive about faults of the radio of
/// node 1, in an ad hoc network or behind a gateway and a wire.
fn signals_of_radio_faults(is_mixed: bool, faults: &str) -> [Vec<ReceivedSignal>; 2] {
    let network = if is_mixed {
        r#"
        kind = "mixed"
        nodes = ["g", "m", "h"]
        wire = [{ between = ["g", "h"], rate = "1 Mbit/s", delay = "10 ms" }]
        [network.air]
        radios = ["g", "m"]
        mobility = { chain = "100 m" }
        routing = { protocol = "aodv" }
        "#
    } else {
        r#"
        kind = "adhoc"
        nodes = 3
        mobility = { chain = "100 m" }
        routing = { protocol = "aodv" }
        "#
    };
    let text = format!(
        r#"
        name = "outages of a radio"
        duration = "9 s"
        [network]
        {network}
        {faults}
        [[flow]]
        from = 1
        to = 0
        transport = "udp"
        application = {{ cbr = {{ every = "1 s", size = "100 B" }} }}
        "#
    );
    let scenario = Scenario::parse("outages.toml", &text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let peer = address(2);
    let heard =
        [1, 0].map(|node| add_recording_aid(&mut run.hosts.hosts[NodeId::new(node)], peer).0);
    while run.step().unwrap() {}
    let is_of_link = |(_, kind, _): &ReceivedSignal| {
        use SignalKind::{LinkDown, LinkFading, LinkUp};
        matches!(kind, LinkUp | LinkDown | LinkFading { .. })
    };
    heard.map(|heard| heard.lock().unwrap().iter().copied().filter(is_of_link).collect())
}

/// An outage, and an outage within it by another fault.
#[test]
fn a_host_is_notified_of_the_outages_of_its_radio() {
    let fault = |kind: &str, node: &str, keys: &str| {
        format!("[[network.fault]]\nkind = \"{kind}\"\nnode = {node}\n{keys}\n")
    };
    let lead = Duration::from_millis(1500);
    let fading = SignalKind::LinkFading { expected_lifetime: lead };
    for (is_mixed, node) in [(false, "1"), (true, "\"m\"")] {
        let signals = |faults: &str| signals_of_radio_faults(is_mixed, faults);
        let outage = "first = \"3 s\"\nlasts = \"2 s\"\nsignal = \"link\"\n";
        let down = fault("radio-down", node, outage);
        let cut = [(3_000, SignalKind::LinkDown, None), (5_000, SignalKind::LinkUp, None)];
        assert_eq!(signals(&down), [cut.to_vec(), vec![]]);
        let warned = fault("radio-down", node, &format!("{outage}lead = \"1500 ms\""));
        let all = [(1_500, fading, None), cut[0], cut[1]];
        assert_eq!(signals(&warned), [all.to_vec(), vec![]]);
        let unwarned = warned.clone() + "signal_loss = 1\n";
        assert_eq!(signals(&unwarned), [cut.to_vec(), vec![]]);
        let silent = fault("radio-down", node, "first = \"3 s\"\nlasts = \"2 s\"");
        assert_eq!(signals(&silent), [vec![], vec![]]);
        // What begins and ends within an outage changes nothing.
        let within = outage.replace("3 s", "3500 ms").replace("2 s", "1 s");
        let both = down.clone() + &fault("radio-down", node, &within);
        assert_eq!(signals(&both), [cut.to_vec(), vec![]]);
        // False warnings: none while the radio is down.
        let times = "first = \"2 s\"\nevery = \"2 s\"\ncount = 3\nlead = \"1500 ms\"";
        let both = down + &fault("fading", node, times);
        let all = [(2_000, fading, None), cut[0], cut[1], (6_000, fading, None)];
        assert_eq!(signals(&both), [all.to_vec(), vec![]]);
    }
}

#[test]
fn the_ends_of_a_hop_get_false_warnings() {
    let fading = "first = \"1 s\"\ncount = 1\nlead = \"2 s\"";
    let more = format!("[[network.fault]]\nkind = \"fading\"\nhop = 2\n{fading}");
    let [near, far] = signals_of_partitions(&format!("signal = \"none\"\n{more}"));
    let link = Some(FailedLink { from: address(1), to: address(2) });
    let kind = SignalKind::LinkFading { expected_lifetime: Duration::from_secs(2) };
    assert_eq!((near, far), (vec![(1_000, kind, link)], vec![]));
}
