//! chandran-1998 from end to end: ten hops of 12.8 kbit/s, partitions notified by RFN and RRN, and
//! TCP-F. Each rule of its sections 4, 5.4 and 6.1, as observed in a run.

use crate::common;
use crate::common::{aid_states, drops, link, parse};
use driftway_sim::results::{Direction, FlowResult, RunResult};
use driftway_sim::trace::{FlowEvent, FlowTrace, Trace};

/// The network's faults, and a TCP-F from end to end with further keys (`flow`).
fn chain(network: &str, flow: &str) -> String {
    format!(
        r#"
        name = "ten hops"
        duration = "100 s"
        [network]
        kind = "path"
        hops = 10
        link = {{ rate = "12.8 kbit/s", delay = "1 ms" }}
        {network}
        [[flow]]
        from = 0
        to = 10
        application = "ftp"
        tcp = {{ recovery = "sack", mss = "160 B", window = 20, initial_rto = "3 s" }}
        aid = "tcp-f"
        {flow}
        "#
    )
}

/// A partition of a hop from 30 s on.
fn cut(hop: &str, lasts: &str, more: &str) -> String {
    format!(
        "[[network.fault]]\nkind = \"partition\"\nhop = {hop}\nfirst = \"30 s\"\nlasts = \"{lasts}\"\n\
         signal = \"rfn\"\nqueue = \"drop\"\n{more}\n"
    )
}

fn traced(text: &str) -> (RunResult, Trace) {
    common::traced(&parse(text), 1)
}

/// The periods in which a flow's TCP-F was in the snooze state (s).
fn snoozes(flow: &FlowTrace) -> Vec<(f64, f64)> {
    let states = aid_states(flow);
    let asleep = states.iter().enumerate().filter(|(_, (_, state))| state == "snooze");
    let until = |n: usize| states.get(n + 1).map_or(f64::INFINITY, |(at, _)| *at);
    asleep.map(|(n, (since, _))| (*since, until(n))).collect()
}

/// The times at which a flow sent segments, new or retransmitted (s).
fn sent(flow: &FlowTrace) -> Vec<f64> {
    let sent = |event: &FlowEvent| matches!(event, FlowEvent::Sent(_));
    flow.events.iter().filter(|(_, event)| sent(event)).map(|(at, _)| at.as_secs_f64()).collect()
}

fn delivered_between(flow: &FlowTrace, from: f64, to: f64) -> usize {
    let inside = |at: f64| (from..to).contains(&at);
    let is_delivery = |(at, event): &&(driftway_base::Instant, FlowEvent)| {
        matches!(event, FlowEvent::Delivered(_)) && inside(at.as_secs_f64())
    };
    flow.events.iter().filter(is_delivery).count()
}

fn only(result: &RunResult) -> &FlowResult {
    &result.flows[0]
}

/// 60 bytes at 12.8 kbit/s, and 1 ms, for each hop.
const RFN_HOP: f64 = 0.0385;

#[test]
fn the_source_snoozes_from_the_rfn_to_the_rrn() {
    let (_, trace) = traced(&chain(&cut("5", "4 s", ""), ""));
    let [(since, until)] = snoozes(&trace.flows[0])[..] else { panic!("{trace:?}") };
    // The failure point is node 4: both messages travel four hops, on each of which they wait for at
    // most one acknowledgment of 40 bytes.
    for (notified_at, happened) in [(since, 30.0), (until, 34.0)] {
        let took = notified_at - happened;
        assert!((4.0 * RFN_HOP - 1e-6..4.0 * RFN_HOP + 0.4).contains(&took), "{took}");
    }
    let asleep = |at: &f64| *at > since && *at < until;
    assert!(!sent(&trace.flows[0]).iter().any(asleep), "neither new data nor retransmissions");
}

#[test]
fn a_source_without_tcp_f_times_out_meanwhile() {
    let plain = chain(&cut("5", "16 s", ""), "").replace("\"tcp-f\"", "\"none\"");
    let (helped, _) = traced(&chain(&cut("5", "16 s", ""), ""));
    let (alone, _) = traced(&plain);
    assert!(only(&alone).timeouts > only(&helped).timeouts, "{alone:?}");
    assert!(only(&alone).delivered_bytes < only(&helped).delivered_bytes);
    assert!(only(&alone).goodput_ratio < only(&helped).goodput_ratio);
}

/// The first link of the route: no message has to travel.
#[test]
fn a_failure_at_the_source_is_notified_at_once() {
    let (_, trace) = traced(&chain(&cut("1", "4 s", ""), ""));
    let [(since, until)] = snoozes(&trace.flows[0])[..] else { panic!("{trace:?}") };
    assert_eq!((since, until), (30.0, 34.0));
}

/// Data are refused at one end of the partition, acknowledgments at the other. The receiver has no aid
/// and ignores an RFN; with an aid it acknowledges all the same.
#[test]
fn the_receiver_ignores_rfns_about_its_acknowledgments() {
    let fault = cut("8", "4 s", "");
    let (plain, _) = traced(&chain(&fault, ""));
    let (helped, trace) = traced(&chain(&fault, "receiver_aid = \"tcp-f\""));
    assert_eq!(snoozes(&trace.flows[0]).len(), 1);
    let [plain, helped] = [plain, helped].map(|run| only(&run).delivered_bytes as f64);
    assert!((0.9..1.1).contains(&(helped / plain)), "{helped} {plain}");
}

#[test]
fn only_the_flows_that_use_the_route_are_notified() {
    let flows = r#"
        [[flow]]
        from = 0
        to = 10
        application = "ftp"
        tcp = { mss = "160 B", window = 4 }
        aid = "tcp-f"
        [[flow]]
        from = 2
        to = 9
        application = "ftp"
        tcp = { mss = "160 B", window = 4 }
        aid = "tcp-f"
        [[flow]]
        from = 0
        to = 3
        application = "ftp"
        tcp = { mss = "160 B", window = 4 }
        aid = "tcp-f"
    "#;
    let (_, trace) = traced(&chain(&cut("5", "8 s", ""), flows));
    for flow in &trace.flows[..3] {
        let [(since, until)] = snoozes(flow)[..] else { panic!("{:?}", aid_states(flow)) };
        assert!(since > 30.0 && since < 37.0 && until > 38.0 && until < 40.0, "{since} {until}");
    }
    assert_eq!(snoozes(&trace.flows[3]), [], "it ends before the failure");
}

/// §4: later packets are not forwarded on the failed route. Datagrams do not stop, so each router that
/// has forwarded an RFN refuses them, and the RFN of the next one has a shorter way to the source.
#[test]
fn routers_that_passed_the_rfn_on_keep_packets_from_the_dead_route() {
    let flow = r#"
        [[flow]]
        from = 0
        to = 10
        start = "20 s"
        application = { cbr = { every = "1 s", size = "100 B" } }
        transport = "udp"
    "#;
    let frames = |signal: &str| {
        let fault = cut("8", "60 s", "").replace("\"rfn\"", &format!("\"{signal}\""));
        let text = chain(&fault, flow).replacen("\"ftp\"", "{ transfer = \"1 B\" }", 1);
        let (result, _) = traced(&text);
        (1..=8).map(|hop| link(&result, hop, Direction::Forward).frames).collect::<Vec<_>>()
    };
    let (with_rfn, without_rfn) = (frames("rfn"), frames("none"));
    // Without RFNs all packets travel as far as the partition.
    assert_eq!(without_rfn[1], without_rfn[6]);
    // With them the first router refuses them; every 20 s it forwards one of them as a test
    // (`rfn_lifetime`).
    assert!(with_rfn[6] + 50 < with_rfn[0], "{with_rfn:?}");
    let during = |frames: &[u64]| frames[1] - without_rfn[7];
    assert!(during(&with_rfn) <= 6, "{with_rfn:?} {without_rfn:?}");
}

// §5.4

#[test]
fn several_failures_the_nearest_counts() {
    // Hop 8 fails first and recovers while hop 3 is down: its RRN is lost.
    let two =
        format!("{}{}", cut("8", "6 s", ""), cut("3", "10 s", "").replace("\"30 s\"", "\"31 s\""));
    let (result, trace) = traced(&chain(&two, ""));
    let [(since, until)] = snoozes(&trace.flows[0])[..] else { panic!("{trace:?}") };
    assert!(since < 32.0 && (41.0..42.0).contains(&until), "{since} {until}");
    assert!(only(&result).delivered_bytes > 20_000);
}

#[test]
fn a_failure_that_persists_behind_it_draws_the_next_rfn() {
    // Hop 3 recovers at 35 s, hop 8 at 50 s.
    let two = format!("{}{}", cut("8", "20 s", ""), cut("3", "5 s", ""));
    let (_, trace) = traced(&chain(&two, ""));
    let snoozes = snoozes(&trace.flows[0]);
    let [(_, first), (again, last)] = snoozes[..] else { panic!("{snoozes:?}") };
    assert!((35.0..36.0).contains(&first), "{snoozes:?}");
    assert!(again > first && (50.0..51.0).contains(&last), "{snoozes:?}");
}

#[test]
fn with_all_messages_lost_tcp_is_on_its_own() {
    let fault = cut("5", "12 s", "signal_loss = 1");
    let (helped, trace) = traced(&chain(&fault, ""));
    let (alone, _) = traced(&chain(&fault, "").replace("\"tcp-f\"", "\"none\""));
    assert_eq!(snoozes(&trace.flows[0]), []);
    assert_eq!(only(&helped).timeouts, only(&alone).timeouts);
    assert_eq!(only(&helped).delivered_bytes, only(&alone).delivered_bytes);
    assert!(drops(&helped, "signal-loss") > 0);
    assert_eq!(helped.drops, alone.drops);
}

/// RFNs and RRNs are lost at random: in some run only the RRN is, and the route failure timer ends the
/// snooze state; TCP's own timers do the rest.
#[test]
fn without_an_rrn_the_route_failure_timer_ends_the_snooze() {
    let fault = cut("5", "6 s", "signal_loss = 0.6");
    let flow = "";
    let mut by_timer = 0;
    for seed in 1..=12 {
        let (result, trace) = common::traced(&parse(&chain(&fault, flow)), seed);
        for (since, until) in snoozes(&trace.flows[0]) {
            by_timer += u32::from((until - since - 20.0).abs() < 1e-6);
        }
        assert!(delivered_between(&trace.flows[0], 60.0, 100.0) > 0, "{seed}: {result:?}");
    }
    assert!(by_timer > 0, "no RRN was lost alone");
}

#[test]
fn the_route_failure_timeout_is_a_key() {
    let fault = cut("5", "12 s", "");
    let short = "{ name = \"tcp-f\", route_failure_timeout = \"2 s\" }";
    let text = chain(&fault, "").replace("\"tcp-f\"", short);
    let (_, trace) = traced(&text);
    let snoozes = snoozes(&trace.flows[0]);
    let (since, until) = snoozes[0];
    assert!((until - since - 2.0).abs() < 1e-6, "{snoozes:?}");
    assert!(snoozes.len() > 1, "it resumes, and is notified again: {snoozes:?}");
}

/// The two interpretations of what the source resumes with: from where it stopped, so that it waits
/// for a timeout; or with its stored window, so that it needs none.
#[test]
fn resuming_with_the_stored_window_needs_no_timeout() {
    let text = chain(&cut("5", "6 s", ""), "");
    let (window, trace) = traced(&text);
    let stopped = "{ name = \"tcp-f\", resume_from = \"nxt\" }";
    let (waits, _) = traced(&text.replace("\"tcp-f\"", stopped));
    assert_eq!(snoozes(&trace.flows[0]).len(), 1);
    assert!(only(&window).timeouts < only(&waits).timeouts, "{window:?}");
    assert!(only(&window).delivered_bytes > only(&waits).delivered_bytes);
}

/// westin-2003 §4.9: less than the window is outstanding, so that queues are shorter.
#[test]
fn a_limited_window_shortens_the_round_trip() {
    let with = |aid: &str| only(&traced(&chain("", "").replace("\"tcp-f\"", aid)).0).clone();
    let (free, limited) = (with("\"none\""), with("{ name = \"cwnd-limit\", segments = 4 }"));
    assert!(limited.rtt_s < free.rtt_s, "{limited:?}");
    // Four segments of 160 bytes per round trip.
    let most = 4.0 * 160.0 * 8.0 / limited.rtt_s.unwrap();
    assert!(limited.throughput_bps.unwrap() < most * 1.05, "{limited:?}");
}

// §4: another route

fn beside(more: &str) -> String {
    format!("[[network.parallel]]\nfrom = 2\nto = 8\nhops = 7\nstandby = true\n{more}")
}

#[test]
fn a_standby_route_carries_nothing_while_all_is_well() {
    let (with, _) = traced(&chain(&beside(""), ""));
    let (without, _) = traced(&chain("", ""));
    assert_eq!(only(&with).delivered_bytes, only(&without).delivered_bytes);
    assert!(with.links[20..].iter().all(|link| link.frames == 0));
}

/// Node 2 has another route: it discards the RFN and uses that route. Node 8 does the same for the
/// acknowledgments. On the RRN both return to the first route.
#[test]
fn a_router_with_another_route_uses_it_until_the_rrn() {
    let (result, trace) = traced(&chain(&format!("{}{}", beside(""), cut("5", "30 s", "")), ""));
    assert_eq!(snoozes(&trace.flows[0]), [], "the source is not notified");
    assert!(drops(&result, "notice-discarded") > 0, "{:?}", result.drops);
    assert!(delivered_between(&trace.flows[0], 40.0, 60.0) > 80);
    let hops = 11..=17;
    for hop in hops {
        for direction in [Direction::Forward, Direction::Backward] {
            assert!(link(&result, hop, direction).frames > 50, "{hop} {direction:?}");
        }
    }
    // After 60 s the chain is used again: more frames than in half of the run.
    let (whole, _) = traced(&chain("", ""));
    let share = |result: &RunResult| link(result, 5, Direction::Forward).frames as f64;
    assert!((0.5..0.8).contains(&(share(&result) / share(&whole))), "{}", share(&result));
}

#[test]
fn the_source_is_notified_when_the_other_route_fails_too() {
    // Faults cannot affect a parallel route; so hop 1 of the chain stands for both.
    let faults = format!("{}{}", cut("5", "20 s", ""), cut("1", "8 s", "").replace("30 s", "35 s"));
    let (_, trace) = traced(&chain(&format!("{}{faults}", beside("")), ""));
    let [(since, until)] = snoozes(&trace.flows[0])[..] else { panic!("{trace:?}") };
    assert!((35.0..36.0).contains(&since), "{since}");
    assert_eq!(until, 43.0);
    assert!(delivered_between(&trace.flows[0], 43.0, 60.0) > 10);
}

// §6.1

fn buffered(packets: u32, flush: &str, lasts: &str) -> String {
    let routers =
        format!("routers = {{ buffer = {{ packets = {packets}, flush = \"{flush}\" }} }}");
    format!("{routers}\n{}", cut("5", lasts, ""))
}

/// The source resumes where it stopped: one that sends its stored window again does so whether
/// routers buffered it or not.
#[test]
fn buffers_save_retransmissions() {
    let stopped = |network: &str| {
        let nxt = "{ name = \"tcp-f\", resume_from = \"nxt\" }";
        traced(&chain(network, "").replace("\"tcp-f\"", nxt))
    };
    let (without, _) = stopped(&cut("5", "4 s", ""));
    for flush in ["rrn", "route"] {
        let (with, trace) = stopped(&buffered(20, flush, "4 s"));
        assert!(drops(&with, "unreachable") < drops(&without, "unreachable"), "{:?}", with.drops);
        assert!(only(&with).retransmissions < only(&without).retransmissions, "{flush}");
        assert!(only(&with).delivered_bytes > only(&without).delivered_bytes, "{flush}");
        assert_eq!(snoozes(&trace.flows[0]).len(), 1, "each buffered packet causes an RFN");
    }
}

/// One segment per second, none of which is on hop 5 when it fails. Buffered packets arrive before
/// anything that the source sends on the RRN could: ten hops of 200 bytes.
#[test]
fn buffered_packets_arrive_before_those_sent_on_the_rrn() {
    let early = |network: &str| {
        let cbr = "{ cbr = { every = \"1 s\", size = \"160 B\" } }";
        let (_, trace) = traced(&chain(network, "").replace("\"ftp\"", cbr));
        let [(_, until)] = snoozes(&trace.flows[0])[..] else { panic!("{trace:?}") };
        delivered_between(&trace.flows[0], 36.0, until + 1.26)
    };
    assert_eq!(early(&cut("5", "6 s", "")), 0);
    assert!(early(&buffered(20, "route", "6 s")) > 0);
    assert!(early(&buffered(20, "rrn", "6 s")) > 0);
}

#[test]
fn a_full_buffer_drops_for_its_own_reason() {
    let (result, _) = traced(&chain(&buffered(2, "route", "4 s"), ""));
    assert!(drops(&result, "router-buffer") > 0, "{:?}", result.drops);
}

/// The run ends with packets in buffers: they are in transit, and packets are conserved.
#[test]
fn packets_buffered_at_the_end_are_in_transit() {
    let (result, _) = traced(&chain(&buffered(20, "route", "90 s"), ""));
    let (lost, _) = traced(&chain(&cut("5", "90 s", ""), ""));
    assert!(drops(&result, "unreachable") < drops(&lost, "unreachable"), "{:?}", result.drops);
}

#[test]
fn feedback_and_foreign_traffic_share_a_hop() {
    let foreign = "[[network.fault]]\nkind = \"interference\"\nhop = 5\nevery = \"500 ms\"\n";
    let (result, trace) = traced(&chain(&format!("{foreign}{}", cut("5", "6 s", "")), ""));
    assert_eq!(snoozes(&trace.flows[0]).len(), 1);
    assert!(drops(&result, "unreachable") >= 12, "cross traffic is dropped without a message");
}
