//! Notifications of failures in an ad hoc network: which node sends them to which source, when, and
//! their effects.

use std::collections::BTreeSet;

use crate::common;
use crate::common::{SharedBuffer, aid_states, drops};
use driftway_sim::Observers;
use driftway_sim::log::{Entry, Event, EventLog, IpPacketId, Layer};
use driftway_sim::results::RunResult;
use driftway_sim::trace::Trace;

const PROTOCOLS: [&str; 3] =
    [r#"protocol = "aodv""#, r#"protocol = "dsr""#, r#"protocol = "static""#];

struct ObservedRun {
    result: RunResult,
    trace: Trace,
    rows: Vec<Entry>,
}

fn observed_run(text: &str) -> ObservedRun {
    let (scenario, kept, mut trace) =
        (common::parse(text), SharedBuffer::default(), Trace::default());
    let mut log = EventLog::new(Box::new(kept.clone()));
    let watch = Observers { trace: Some(&mut trace), log: Some(&mut log), ..Observers::default() };
    let result =
        driftway_sim::run(&scenario, 1, watch).unwrap_or_else(|error| panic!("{error}\n{text}"));
    log.finish().unwrap();
    let rows = EventLog::read(kept.bytes().as_slice()).collect::<Result<_, _>>().unwrap();
    ObservedRun { result, trace, rows }
}

impl ObservedRun {
    /// The periods in which the first flow's TCP-F was in the snooze state (s).
    fn snoozes(&self) -> Vec<(f64, f64)> {
        let states = aid_states(&self.trace.flows[0]);
        let asleep = states.iter().enumerate().filter(|(_, (_, state))| state == "snooze");
        let until = |n: usize| states.get(n + 1).map_or(f64::INFINITY, |(at, _)| *at);
        asleep.map(|(n, (since, _))| (*since, until(n))).collect()
    }

    /// The times at which a node queues an ICMP message of its own for another node (s).
    fn icmp(&self, from: u32, to: u32) -> Vec<f64> {
        let rows = self.rows.iter().filter(|row| {
            row.layer == Layer::Queue
                && row.event == Event::Enqueued
                && row.kind == "icmp"
                && (row.node, row.source, row.destination) == (from, Some(from), Some(to))
        });
        rows.map(|row| row.time_s.as_secs_f64()).collect()
    }
}

/// The times at which node 2 goes out of range of node 1 and is in range again (s); it is out of range
/// from 2 × 150 m on.
const GONE: f64 = 7.5;
const BACK: f64 = 32.5;

/// Nodes 0 and 1 are 200 m apart, and so are 1 and 3; 0 and 3 are out of range of each other. Node 2
/// starts beyond node 1, moves away, turns round at 400 m, and comes back.
fn behind(routing: &str, network: &str, flows: &str) -> String {
    format!(
        r#"
        name = "one comes and goes"
        duration = "45 s"
        [network]
        kind = "adhoc"
        area = ["500 m", "600 m"]
        routing = {{ {routing} }}
        {network}
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "200 m"], ["200 m", "200 m"], ["400 m", "200 m"], ["200 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"], ["0 m/s", "0 m/s"]]
        [[flow]]
        from = 0
        to = 2
        application = "ftp"
        {flows}
        "#
    )
}

/// TCP-F with a route failure timeout longer than the run.
const PATIENT: &str = r#"aid = { name = "tcp-f", route_failure_timeout = "200 s" }"#;

/// The source's own routing detects the failure: no message is sent, and no failed discovery is
/// awaited.
#[test]
fn a_failure_of_the_first_hop_stops_the_source_at_once() {
    for protocol in PROTOCOLS {
        let network = "feedback = \"rfn\"\nroute_probe = { most = 20 }";
        let text = behind(protocol, network, PATIENT).replace("from = 0", "from = 1");
        let notified = observed_run(&text);
        let failed = |row: &&Entry| row.node == 1 && row.event == Event::LinkFailure;
        let failed = notified.rows.iter().find(failed).unwrap().time_s.as_secs_f64();
        let (since, until) = notified.snoozes()[0];
        assert!((GONE..GONE + 0.5).contains(&failed), "{protocol}: {failed}");
        assert_eq!(since, failed, "{protocol}");
        // It resumes when it finds a route: on-demand routing may delay its next discovery by up to
        // 10 s (RFC 4728 §9).
        assert!((BACK - 0.5..BACK + 10.5).contains(&until), "{protocol}: {until}");
    }
}

/// Each echo request up to the last is lost, because the node is out of range.
#[test]
fn a_lost_echo_request_is_repeated() {
    let echoes = |most: u32| {
        let network =
            format!("feedback = \"rfn\"\nroute_probe = {{ every = \"3 s\", most = {most} }}");
        observed_run(&behind(PROTOCOLS[2], &network, PATIENT))
    };
    let few = echoes(3);
    let (since, until) = few.snoozes()[0];
    let [first, second, third] = few.icmp(0, 2)[..] else { panic!("{:?}", few.icmp(0, 2)) };
    assert!(first - since < 0.001, "{first} {since}");
    assert_eq!([second, third].map(|at| at - first), [3.0, 6.0]);
    assert_eq!(until, f64::INFINITY, "no notification follows");

    let enough = echoes(20);
    let (_, until) = enough.snoozes()[0];
    assert!((BACK - 0.5..BACK + 3.1).contains(&until), "{until}");
    let asked = enough.icmp(0, 2).into_iter().filter(|at| *at < GONE + 30.0).count();
    assert!((7..=10).contains(&asked), "no more requests are sent: {asked}");
}

/// Neither a timer of TCP-F nor an echo ends the snooze state: the failure point learns a route,
/// because the node that was away sends a packet to another node, and notifies the source
/// (chandran-1998 §4).
#[test]
fn a_router_that_learns_a_route_notifies_the_source() {
    // Echo requests must not wait in a send buffer for a route.
    let dsr = r#"protocol = "dsr", send_buffer_timeout = "2 s""#;
    for protocol in [PROTOCOLS[0], dsr, PROTOCOLS[2]] {
        let away = r#"
            [[flow]]
            from = 2
            to = 3
            start = "20 s"
            transport = "udp"
            application = { cbr = { every = "0.5 s", size = "100 B" } }
        "#;
        let network = "feedback = \"rfn\"\nroute_probe = { every = \"90 s\", most = 1 }";
        let run = |others: &str| {
            observed_run(&behind(protocol, network, &format!("{PATIENT}\n{others}")))
        };
        // DSR may have another, stale route for a moment.
        let last = |observed: &ObservedRun| {
            *observed.snoozes().iter().rfind(|(at, _)| *at < BACK - 0.5).unwrap()
        };
        let observed = run(away);
        let (since, until) = last(&observed);
        assert!((GONE..GONE + 3.0).contains(&since), "{protocol}: {since}");
        assert!((BACK - 0.5..BACK + 10.5).contains(&until), "{protocol}: {until}");
        let notices = observed.icmp(1, 0).into_iter().filter(|at| *at > BACK - 0.5 && *at <= until);
        assert_eq!(notices.count(), 1, "{protocol}: one RRN");
        assert_eq!(last(&run("")).1, f64::INFINITY, "{protocol}: no other node does");
    }
}

/// Each packet that a node drops causes a message, unless it is a message itself, whether it was in
/// routing, in the queue of a neighbour that is purged, or held by ARP.
#[test]
fn a_source_is_notified_of_every_undeliverable_packet() {
    let cbr = |every: &str| {
        format!(
            "transport = \"udp\"\n[flow.application]\ncbr = {{ every = \"{every}\", size = \"500 B\" }}"
        )
    };
    let arp = "arp = { hold = 1, retry = \"next-packet\" }";
    let static_arp = behind(PROTOCOLS[2], arp, &format!("start = \"10 s\"\n{}", cbr("100 ms")))
        .replace("application = \"ftp\"", "");
    // The error comes from node 2, for which packets are queued here, because the link to node 3
    // behind it has failed.
    let purge = format!(
        r#"
        name = "purge"
        duration = "20 s"
        [network]
        kind = "adhoc"
        area = ["1000 m", "600 m"]
        routing = {{ protocol = "aodv", purge_on_error = true, local_repair = "off" }}
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"], ["600 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]
        [[flow]]
        from = 0
        to = 3
        {}
        [[flow]]
        from = 1
        to = 2
        {}
        "#,
        cbr("8 ms"),
        cbr("4 ms")
    );
    for (text, reason, node) in [(static_arp, "arp", 1), (purge, "link-failure", 1)] {
        let notified = observed_run(&text);
        let own = |row: &&Entry| row.node == node && row.source == Some(node);
        let name = |row: &Entry| row.packet.unwrap();
        let messages = notified.rows.iter().filter(own).filter(|row| row.kind == "icmp");
        let messages: BTreeSet<(u32, u16)> = messages
            .map(name)
            .map(|IpPacketId { source, identification }| (source, identification))
            .collect();
        let given_up = |row: &&Entry| {
            row.node == node
                && row.event == Event::Dropped
                && row.kind == "udp"
                && row.source == Some(0)
                && row.reason != "queue-overflow"
        };
        let reasons: Vec<_> =
            notified.rows.iter().filter(given_up).map(|row| &row.reason).collect();
        assert!(reasons.iter().filter(|why| **why == reason).count() > 5, "{reason}: {reasons:?}");
        // A packet that ARP replaces with a later one is no sign of a failure.
        let lost = reasons.iter().filter(|why| **why != "arp").count();
        assert_eq!(messages.len(), lost, "{reason}: {:?}", notified.result.drops);
    }
}

/// DSR over nodes that move, with its reactions to failures and overheard packets.
fn reference(routing: &str) -> RunResult {
    let text = format!(
        r#"
        name = "thirty that move"
        duration = "60 s"
        [network]
        kind = "adhoc"
        nodes = 30
        area = ["1200 m", "500 m"]
        mobility = {{ model = "random-waypoint", speed = ["15 m/s", "25 m/s"], pause = "0 s" }}
        routing = {{ protocol = "dsr", {routing} }}
        [[flow]]
        from = 0
        to = 1
        application = "ftp"
        [[flow]]
        from = 2
        to = 3
        transport = "udp"
        application = {{ cbr = {{ every = "50 ms", size = "500 B" }} }}
        [[flow]]
        from = 4
        to = 5
        transport = "udp"
        application = {{ cbr = {{ every = "50 ms", size = "500 B" }} }}
        "#
    );
    common::run_text(&text, 1)
}

#[test]
fn each_part_of_dsr_affects_a_run_of_nodes_that_move() {
    let counts = |result: &RunResult| {
        let routing = result.routing.unwrap();
        [routing.salvaged, routing.overheard, routing.nested_errors]
    };
    let whole = reference("promiscuous = true");
    assert!(counts(&whole).iter().all(|count| *count > 0), "{:?}", whole.routing);
    for (part, off) in
        ["salvage = false", "promiscuous = false", "nest_errors = false"].into_iter().enumerate()
    {
        let without = reference(off);
        assert_ne!(without.fingerprint, whole.fingerprint, "{off}");
        assert_eq!(counts(&without)[part], 0, "{off}: {:?}", without.routing);
    }
    assert!(drops(&whole, "link-failure") + drops(&whole, "no-route") > 0, "{:?}", whole.drops);
}
