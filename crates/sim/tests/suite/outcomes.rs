//! Outcomes of flows, and pairs of features that have interfered with each other.

use crate::common::{aid_states, completion, drops, example, run, run_text, traced};
use driftway_scenario::FaultKind;
use driftway_sim::results::FlowOutcome;
use driftway_sim::trace::FlowEvent;

/// One hop that loses all packets, or none.
fn hop(link: &str, rest: &str) -> String {
    format!(
        "name = \"one hop\"\nduration = \"3000 s\"\n[network]\nkind = \"path\"\nhops = 1\n\
         link = {{ rate = \"64 kbit/s\", delay = \"10 ms\", {link} }}\n{rest}"
    )
}

const TRANSFER: &str = "[[flow]]\nfrom = 0\nto = 1\napplication = { transfer = \"100 kB\" }\n";

#[test]
fn a_failed_connection_ends_the_run() {
    // A SYN is sent seven times: 1 + 2 + … + 64 s.
    let result = run_text(&hop("packet_error_rate = 1.0", TRANSFER), 1);
    let flow = &result.flows[0];
    assert_eq!(flow.outcome, FlowOutcome::TimedOut);
    assert_eq!((flow.completion_s, flow.delivered_bytes, flow.timeouts), (None, 0, Some(7)));
    assert!((125.0..=128.0).contains(&flow.end_s), "{}", flow.end_s);
    assert_eq!(result.duration_s, flow.end_s);
}

#[test]
fn a_failed_connection_does_not_stop_another() {
    let both = format!(
        "{TRANSFER}start = \"0 s\"\n[[flow]]\nfrom = 1\nto = 0\nstart = \"200 s\"\n\
                        application = {{ transfer = \"100 kB\" }}\n"
    );
    let cut = "[[network.fault]]\nkind = \"partition\"\nhop = 1\nfirst = \"1 ms\"\n\
               lasts = \"190 s\"\nsignal = \"none\"\n";
    let result = run_text(&hop("queue = { packets = 50 }", &format!("{cut}{both}")), 1);
    assert_eq!(result.flows[0].outcome, FlowOutcome::TimedOut);
    assert_eq!(result.flows[1].outcome, FlowOutcome::Complete);
    assert!(result.flows[1].start_s > result.flows[0].end_s);
}

#[test]
fn an_unlimited_transfer_is_still_running() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n";
    let result = run_text(&hop("packet_error_rate = 0.0", flow).replace("3000 s", "10 s"), 1);
    assert_eq!(result.flows[0].outcome, FlowOutcome::Running);
}

#[test]
fn a_full_queue_quenches_its_source() {
    // liu-singh-2001 §III-A; TCP's reaction is controlled by its own key `source_quench`.
    let tcp =
        "tcp = { mss = \"500 B\", window = \"32 kB\", source_quench = true, nagle = false }\n";
    let network = |quench: &str| {
        let fast = hop("queue = { packets = 200 }", "").replace("hops = 1", "hops = 2");
        format!(
            "{fast}[[network.override]]\nhop = 2\nrate = \"16 kbit/s\"\n\
             queue = {{ packets = 5{quench} }}\n\
             {}{tcp}",
            TRANSFER.replace("to = 1", "to = 2")
        )
    };
    let silent = run_text(&network(""), 1);
    let quenched = run_text(&network(", source_quench = true"), 1);
    assert!(drops(&silent, "queue-overflow") > 0);
    assert_ne!(silent.fingerprint, quenched.fingerprint);
    assert!(drops(&quenched, "queue-overflow") < drops(&silent, "queue-overflow"));
}

#[test]
fn atcp_works_with_timestamps() {
    // Packets that ATCP sends ahead of the queue must not make those that they overtake look old to
    // PAWS, which would have to be sent again. (The time still differs: with timestamps TCP measures
    // the delay of its queue, and ATCP's timer, which is TCP's RTO, is that long.)
    let sent_again = |timestamps: &str| {
        let changes =
            [("flow.0.tcp.timestamps", timestamps), ("flow.0.application.transfer", "200 kB")];
        let result = run(&example("figure-8-atcp", &changes), 1);
        completion(&result.flows[0]);
        result.flows[0].retransmissions.unwrap()
    };
    let (without, with) = (sent_again("false"), sent_again("true"));
    assert!(with < 2 * without, "{without} without, {with} with timestamps");
}

/// The timeout is observed from outside TCP, and the reductions are counted in it: both must agree
/// with the other counters, and with the trace.
#[test]
fn reductions_and_timeouts_add_up() {
    let scenario = example("figure-8-tcp", &[("flow.0.application.transfer", "100 kB")]);
    let (result, trace) = traced(&scenario, 1);
    let flow = &result.flows[0];
    // There are neither marks nor an aid: Reno reduces its window only for losses.
    let reductions = flow.fast_retransmits.unwrap() + flow.slow_starts.unwrap();
    assert!(reductions > 0);
    assert_eq!(flow.cwnd_reductions, Some(reductions));
    let share = flow.retransmissions.unwrap() as f64 / flow.segments_sent as f64;
    assert_eq!(flow.retransmission_ratio, Some(share));
    let sent = trace.flows[0].events.iter().filter_map(|(_, event)| match event {
        FlowEvent::Sent(segment) => segment.rto,
        _ => None,
    });
    let longest = sent.max().unwrap().as_secs_f64();
    assert!(flow.rto_max_s.unwrap() >= longest, "{:?} {longest}", flow.rto_max_s);
    let backed_off = flow.rto_backed_off_s.unwrap();
    assert!(backed_off > 0.0 && backed_off < result.duration_s, "{backed_off}");
}

/// liu-singh-2001 §V-A: with bit errors alone, TCP under ATCP never backs off.
#[test]
fn an_aid_that_prevents_timeouts_prevents_back_off() {
    let scenario = example("figure-8-atcp", &[("flow.0.application.transfer", "100 kB")]);
    let flow = &run(&scenario, 1).flows[0];
    assert_eq!((flow.timeouts, flow.cwnd_reductions), (Some(0), Some(0)));
    assert_eq!(flow.rto_backed_off_s, Some(0.0));
}

/// The mean over partitions, computed from the trace: from the end of each to the next data.
#[test]
fn resume_delays_agree_with_the_trace() {
    let scenario = example("route-failure", &[]);
    let (result, trace) = traced(&scenario, 1);
    let marks = trace.network.iter();
    let ends = marks.filter(|(_, mark)| mark.kind == FaultKind::Partition && !mark.begins);
    let ends = ends.map(|(at, _)| *at);
    let sent = || {
        let events = trace.flows[0].events.iter();
        events.filter(|(_, event)| matches!(event, FlowEvent::Sent(_))).map(|(at, _)| *at)
    };
    let waits: Vec<f64> = ends
        .filter_map(|end| Some(sent().find(|at| *at >= end)?.since(end).as_secs_f64()))
        .collect();
    assert!(!waits.is_empty());
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((result.flows[0].resume_s.unwrap() - mean).abs() < 1e-6, "{waits:?}");
    assert_eq!(run(&example("figure-8-atcp", &[]), 1).flows[0].resume_s, None);
}

/// The mean and the longest time to the next delivery, computed from the trace.
#[test]
fn delays_of_delivery_agree_with_the_trace() {
    let scenario = example("route-failure", &[]);
    let (result, trace) = traced(&scenario, 1);
    let marks = trace.network.iter();
    let ends = marks.filter(|(_, mark)| mark.kind == FaultKind::Partition && !mark.begins);
    let delivered = || {
        let events = trace.flows[0].events.iter();
        events.filter(|(_, event)| matches!(event, FlowEvent::Delivered(_))).map(|(at, _)| *at)
    };
    let waits: Vec<f64> = ends
        .filter_map(|(end, _)| Some(delivered().find(|at| at >= end)?.since(*end).as_secs_f64()))
        .collect();
    assert!(!waits.is_empty());
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let longest = waits.iter().copied().fold(0.0, f64::max);
    let flow = &result.flows[0];
    assert!((flow.delivery_resume_s.unwrap() - mean).abs() < 1e-6, "{waits:?}");
    assert!((flow.longest_delivery_resume_s.unwrap() - longest).abs() < 1e-6, "{waits:?}");
    let flow = &run(&example("figure-8-atcp", &[]), 1).flows[0];
    assert_eq!((flow.delivery_resume_s, flow.longest_delivery_resume_s), (None, None));
}

/// A datagram of 1000 bits each second, over 100 kbit/s and 40 ms, arrives 50 ms later. Of the
/// outages from 1.5 s to 2.5 s and from 2 s to 3.5 s the path is whole again at 3.5 s, and the
/// next datagram arrives at 4.05 s; the outage from 8.4 s to 8.9 s ends 0.15 s before the next one;
/// after that from 9.1 s to 9.5 s nothing is sent until the end of the run at 9.9 s.
#[test]
fn the_path_is_whole_when_the_last_outage_has_ended() {
    let cut = |first: &str, lasts: &str| {
        format!(
            "[[network.fault]]\nkind = \"partition\"\nhop = 1\nfirst = \"{first} ms\"\n\
             lasts = \"{lasts} ms\"\n"
        )
    };
    let cuts = [("1500", "1000"), ("2000", "1500"), ("8400", "500"), ("9100", "400")];
    let cuts: String = cuts.iter().map(|(first, lasts)| cut(first, lasts)).collect();
    let text = format!(
        "name = \"outages\"\nduration = \"9900 ms\"\n[network]\nkind = \"path\"\nhops = 1\n\
         link = {{ rate = \"100 kbit/s\", delay = \"40 ms\" }}\n{cuts}[[flow]]\nfrom = 0\nto = 1\n\
         transport = \"udp\"\napplication = {{ cbr = {{ every = \"1 s\", size = \"97 B\" }} }}\n"
    );
    let flow = &run_text(&text, 1).flows[0];
    let mean = flow.delivery_resume_s.unwrap();
    assert!((mean - (0.55 + 0.15) / 2.0).abs() < 1e-6, "{flow:?}");
    // The datagrams of the cuts are missing at the end.
    let longest = flow.longest_delivery_resume_s.unwrap();
    assert!((longest - 0.55).abs() < 1e-6, "{flow:?}");
}

/// Each aid has its own names for the states in which it considers the connection disconnected.
#[test]
fn time_disconnected_is_that_of_the_aids_own_states() {
    for (name, changes, states) in [
        ("disconnections", &[][..], &["idle", "sending", "waiting"][..]),
        ("disconnections", &[("flow.0.aid", "freeze-tcp")], &["disconnected"]),
        ("route-failure", &[], &["snooze"]),
        ("adhoc-elfn", &[], &["standby"]),
        ("adhoc-epln", &[], &["standby"]),
    ] {
        let changes = [changes, &[("duration", "60 s")]].concat();
        let (result, trace) = traced(&example(name, &changes), 1);
        let (flow, entered) = (&result.flows[0], aid_states(&trace.flows[0]));
        let ends = entered.iter().skip(1).map(|(at, _)| *at).chain([flow.end_s]);
        let of_state =
            entered.iter().zip(ends).filter(|((_, state), _)| states.contains(&&**state));
        let expected: f64 = of_state.map(|((at, _), end)| end - at).sum();
        let measured = flow.disconnected_s.unwrap();
        assert!(expected > 0.1, "{name}: {entered:?}");
        assert!((measured - expected).abs() < 1e-6, "{name}: {measured} s, not {expected} s");
    }
}
