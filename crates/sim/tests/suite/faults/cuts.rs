//! Partitions, and changes of a link when they end.

use driftway_sim::results::{Direction, RunResult};
use driftway_sim::trace::FlowEvent;

use crate::common::{aid_states, completion, drops, link, parse, run, traced};

/// A transfer over three hops; `faults` mostly affect the second.
fn path(faults: &str, flow: &str) -> driftway_scenario::Scenario {
    parse(&format!(
        r#"
        name = "a path that is cut"
        duration = "400 s"
        [network]
        kind = "path"
        hops = 3
        link = {{ rate = "128 kbit/s", delay = "10 ms" }}
        {faults}
        [[flow]]
        from = 0
        to = 3
        application = {{ transfer = "300 kB" }}
        tcp = {{ recovery = "reno", mss = "500 B", window = "16 kB" }}
        {flow}
        "#
    ))
}

fn cut(more: &str) -> String {
    format!(
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"8 s\"\nlasts = \"12 s\"\n{more}\n"
    )
}

const ATCP: &str = "aid = \"atcp\"";

fn flow_of(result: &RunResult) -> &driftway_sim::results::FlowResult {
    &result.flows[0]
}

/// The first hop is as fast as the second, so nothing is queued there: packets that arrive during the
/// partition are refused, and packets on the hop are lost.
#[test]
fn packets_on_the_hop_are_lost_and_arriving_packets_are_refused() {
    let whole = run(&path("", ""), 1);
    assert!(whole.drops.is_empty(), "{:?}", whole.drops);

    let result = run(&path(&cut(""), ""), 1);
    assert!(completion(flow_of(&result)) > completion(flow_of(&whole)) + 12.0);
    assert!((1..=4).contains(&drops(&result, "partition")), "{:?}", result.drops);
    assert!(drops(&result, "unreachable") > 0);
    assert!(flow_of(&result).timeouts > Some(0));
    let lost =
        link(&result, 2, Direction::Forward).drops + link(&result, 2, Direction::Backward).drops;
    assert_eq!(lost, drops(&result, "partition") + drops(&result, "unreachable"));
}

/// The second hop is slow here, so that packets are queued before it.
#[test]
fn queued_packets_are_kept_or_dropped() {
    let slow = "[[network.override]]\nhop = 2\nrate = \"64 kbit/s\"\n";
    let lost = |queue: &str| {
        let fault = format!("{slow}{}", cut(&format!("queue = \"{queue}\"")));
        let result = run(&path(&fault, ""), 1);
        completion(flow_of(&result));
        drops(&result, "partition")
    };
    assert!(lost("drop") > lost("wait") + 5, "{} {}", lost("drop"), lost("wait"));
}

#[test]
fn the_sender_is_notified_and_atcp_waits() {
    let (result, trace) = traced(&path(&cut(""), ATCP), 1);
    completion(flow_of(&result));
    let states = aid_states(&trace.flows[0]);
    let (at, _) = *states.iter().find(|(_, s)| s == "disconnected").as_ref().unwrap();
    assert!((8.0..10.0).contains(at), "{states:?}");
    assert!(states.iter().any(|(back, s)| s == "normal" && *back > 20.0), "{states:?}");

    // A notified sender sends a probe now and then; one that is not notified keeps retransmitting, and
    // waits longer.
    let (deaf, trace) = traced(&path(&cut("signal_loss = 1"), ATCP), 1);
    assert!(aid_states(&trace.flows[0]).iter().all(|(_, s)| s != "disconnected"));
    assert_eq!(drops(&deaf, "signal-loss"), drops(&deaf, "unreachable"));
    assert!(completion(flow_of(&deaf)) > completion(flow_of(&result)));
}

#[test]
fn a_partition_without_signal_sends_no_message() {
    let (result, trace) = traced(&path(&cut("signal = \"none\""), ATCP), 1);
    completion(flow_of(&result));
    assert!(aid_states(&trace.flows[0]).iter().all(|(_, s)| s != "disconnected"));
    assert_eq!(drops(&result, "signal-loss"), 0);
    let back = |result: &RunResult| link(result, 1, Direction::Backward).frames;
    // Only ACKs travel back: at most as many as there are segments, and the handshake.
    assert!(back(&result) <= flow_of(&result).segments_sent + 3);
}

/// The router's message has the size of a real one: IP and ICMP headers, and the quoted IP header with
/// eight bytes (RFC 792).
#[test]
fn a_message_travels_the_path() {
    let quiet = r#"
        [[network.fault]]
        kind = "partition"
        hop = 3
        first = "1 ms"
        lasts = "300 s"
    "#;
    let text = |signal: &str| {
        format!(
            r#"
            name = "nobody answers"
            duration = "1 s"
            [network]
            kind = "path"
            hops = 3
            link = {{ rate = "128 kbit/s", delay = "10 ms" }}
            {quiet}
            signal = "{signal}"
            [[flow]]
            from = 0
            to = 3
            start = "100 ms"
            transport = "udp"
            application = {{ cbr = {{ every = "1000 s", size = "200 B" }} }}
            "#
        )
    };
    let notified = run(&parse(&text("icmp-unreachable")), 1);
    let silent = run(&parse(&text("none")), 1);
    for hop in [1, 2] {
        let back = link(&notified, hop, Direction::Backward);
        assert_eq!((back.frames, back.bytes), (1, 20 + 8 + 20 + 8), "hop {hop}");
        assert_eq!(link(&silent, hop, Direction::Backward).frames, 0);
    }
    assert_eq!(drops(&notified, "unreachable"), 1);
}

/// Two faults on one hop: the hop recovers when both are over.
#[test]
fn a_hop_with_two_overlapping_partitions_recovers_once() {
    let second =
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"14 s\"\nlasts = \"16 s\"\n";
    let (result, trace) = traced(&path(&(cut("") + second), ""), 1);
    completion(flow_of(&result));
    let marks: Vec<_> =
        trace.network.iter().map(|(at, mark)| (at.as_millis(), mark.hop, mark.begins)).collect();
    assert_eq!(
        marks,
        [(8_000, 2, true), (14_000, 2, true), (20_000, 2, false), (30_000, 2, false)]
    );
    let deliveries = trace.flows[0].events.iter().filter_map(|(at, event)| {
        matches!(event, FlowEvent::Delivered(_)).then_some(at.as_secs_f64())
    });
    let during = deliveries.filter(|at| (8.1..30.0).contains(at)).count();
    assert_eq!(during, 0, "delivered during a partition");
}

#[test]
fn random_partitions_have_their_count_and_affect_all_hops() {
    let random = |count: u32| {
        format!(
            "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\ncount = {count}\n\
             lasts = \"2 s\"\nsignal = \"none\"\n"
        )
    };
    let cuts = |count: u32, seed: u64| {
        let mut scenario = path(&random(count), "");
        scenario.flows[0].application = driftway_scenario::Application::Ftp;
        let (_, trace) = traced(&scenario, seed);
        let begins = trace.network.iter().filter(|(_, mark)| mark.begins);
        begins.map(|(at, mark)| (*at, mark.hop)).collect::<Vec<_>>()
    };
    let first = cuts(40, 1);
    // The last may begin only after the end of the run, if earlier ones overlapped.
    assert!((38..=40).contains(&first.len()), "{}", first.len());
    assert_ne!(first, cuts(40, 2), "another seed gives other partitions");
    for hop in 1..=3 {
        assert!(first.iter().any(|(_, cut)| *cut == hop), "hop {hop} is never partitioned");
    }
    assert!(first.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

/// The scenario has as many partitions as fit, most of which would begin before the previous one is over.
#[test]
fn crowded_random_partitions_do_not_overlap() {
    let crowd =
        "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\ncount = 100\nlasts = \"4 s\"\n";
    for seed in 1..=5 {
        let (_, trace) = traced(&path(crowd, ATCP), seed);
        let times: Vec<_> = trace.network.iter().map(|(at, _)| *at).collect();
        assert!(times.is_sorted());
        let edges = trace.network.iter().map(|(_, mark)| mark.begins);
        assert!(edges.enumerate().all(|(n, begins)| begins == (n % 2 == 0)), "one at a time");
    }
}

/// liu-singh-2001 §V-E: the hop has another rate after each partition.
#[test]
fn a_change_after_a_partition_takes_effect() {
    let change = |rates: &str| {
        let changes = format!(
            "[[network.fault]]\nkind = \"change\"\nhop = 2\nafter = \"partition\"\n{rates}\n"
        );
        completion(flow_of(&run(&path(&(cut("") + &changes), ""), 1)))
    };
    let same = completion(flow_of(&run(&path(&cut(""), ""), 1)));
    // The only value given is the present one, which is never picked, so nothing changes.
    assert_eq!(change("rate = [\"128 kbit/s\"]"), same);
    let slow = change("rate = [\"128 kbit/s\", \"32 kbit/s\"]");
    assert!(slow > same * 1.5, "{slow} {same}");
    let far = change("delay = [\"10 ms\", \"900 ms\"]");
    assert!(far > same * 1.5, "{far} {same}");
}

#[test]
fn a_change_waits_for_the_last_of_two_partitions() {
    let second =
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"14 s\"\nlasts = \"16 s\"\n";
    let change = "[[network.fault]]\nkind = \"change\"\nhop = 2\nafter = \"partition\"\n\
                  rate = [\"64 kbit/s\", \"128 kbit/s\"]\n";
    // One change, from 128 to 64 kbit/s; a second one would restore 128 kbit/s.
    let once = run(&path(&(cut("") + second + change), ""), 1);
    let none = run(&path(&(cut("") + second), ""), 1);
    assert!(completion(flow_of(&once)) > completion(flow_of(&none)) + 5.0);
}

#[test]
fn a_change_takes_effect_at_its_time() {
    let change = |at: &str| {
        let fault = format!(
            "[[network.fault]]\nkind = \"change\"\nhop = 3\nat = \"{at}\"\nrate = [\"16 kbit/s\"]\n"
        );
        completion(flow_of(&run(&path(&fault, ""), 1)))
    };
    let whole = completion(flow_of(&run(&path("", ""), 1)));
    assert_eq!(change("300 s"), whole);
    assert!(change("1 s") > change("10 s") && change("10 s") > whole);
}
