//! Data in both directions on one connection.

use crate::common::{completion, example, parse, run};
use driftway_scenario::Scenario;
use driftway_sim::results::{FlowOutcome, RunResult};

/// Three hops, one of them lossy, and a flow over them.
fn path(faults: &str, flow: &str) -> Scenario {
    parse(&format!(
        r#"
        name = "both ways"
        duration = "300 s"
        [network]
        kind = "path"
        hops = 3
        link = {{ rate = "256 kbit/s", delay = "10 ms" }}
        [[network.override]]
        hop = 2
        packet_error_rate = 0.01
        {faults}
        [[flow]]
        from = 0
        to = 3
        {flow}
        "#
    ))
}

fn flow(application: &str, back: &str, tcp: &str, more: &str) -> String {
    format!(
        "application = {application}\nback = {back}\n\
         tcp = {{ {tcp}, mss = \"500 B\", window = \"16 kB\" }}\n{more}\n"
    )
}

const LITTLE: &str = "{ transfer = \"100 kB\" }";
const MORE: &str = "{ transfer = \"250 kB\" }";

fn back_s(result: &RunResult) -> f64 {
    result.flows[0].back_completion_s.unwrap_or_else(|| panic!("{:#?}", result.flows[0]))
}

#[test]
fn both_streams_are_delivered_completely() {
    for (recovery, _) in driftway_tcp::RecoveryKind::ALL {
        let tcp = format!("recovery = \"{recovery}\", ecn = true");
        for (there, back) in [(LITTLE, MORE), (MORE, LITTLE), (LITTLE, LITTLE)] {
            for aid in ["none", "atcp", "tcp-f", "carry"] {
                let more = format!("aid = \"{aid}\"\nstart = \"3 s\"");
                let result = run(&path("", &flow(there, back, &tcp, &more)), 1);
                let flow = &result.flows[0];
                let bytes = |of| if of == LITTLE { 100_000 } else { 250_000 };
                assert_eq!(flow.delivered_bytes, bytes(there), "{recovery} {aid}");
                assert_eq!(flow.back_delivered_bytes, Some(bytes(back)), "{recovery} {aid}");
                assert_eq!(flow.outcome, FlowOutcome::Complete);
                // The run goes on until both directions are complete.
                let last = completion(flow).max(back_s(&result));
                assert!((result.duration_s - 3.0 - last).abs() < 1e-9, "{recovery} {aid}");
                let rate = bytes(back) as f64 * 8.0 / back_s(&result);
                assert!((flow.back_throughput_bps.unwrap() - rate).abs() < 1e-6);
            }
        }
    }
}

/// The results of a flow without a reverse direction do not mention it.
#[test]
fn without_a_reverse_direction_it_is_not_reported() {
    let alone =
        flow(LITTLE, LITTLE, "recovery = \"reno\"", "").replace(&format!("back = {LITTLE}"), "");
    let result = run(&path("", &alone), 1);
    let flow = &result.flows[0];
    let back = (flow.back_delivered_bytes, flow.back_throughput_bps, flow.back_completion_s);
    assert_eq!(back, (None, None, None));
    assert!(!serde_json::to_string(flow).unwrap().contains("back_"));
}

#[test]
fn an_unlimited_reverse_direction_lasts_as_long_as_the_run() {
    let result = run(&path("", &flow(LITTLE, "\"ftp\"", "recovery = \"reno\"", "")), 1);
    let ftp = &result.flows[0];
    assert!(completion(ftp) < 100.0 && result.duration_s == 300.0);
    assert_eq!(ftp.back_completion_s, None);
    assert!(ftp.back_delivered_bytes > Some(2_000_000), "{ftp:#?}");
    // A reverse transfer does not end a flow that continues, either.
    let result = run(&path("", &flow("\"ftp\"", LITTLE, "recovery = \"reno\"", "")), 1);
    assert!(back_s(&result) < 100.0 && result.duration_s == 300.0);
    assert_eq!(result.flows[0].completion_s, None);
}

/// Acknowledgments are piggybacked on data: without losses, most of them are.
#[test]
fn acknowledgments_are_piggybacked() {
    let frames = |flows: &str| {
        let text = path("", flows).show().replace("packet_error_rate = 0.01", "");
        let result = run(&parse(&text), 1);
        assert!(result.drops.is_empty());
        result.links.iter().map(|link| link.frames).sum::<u64>()
    };
    let one = flow(MORE, MORE, "recovery = \"reno\"", "");
    let apart = one.replace(&format!("back = {MORE}\n"), "");
    let apart = format!("{apart}[[flow]]\nfrom = 3\nto = 0\n{apart}");
    let (one, two) = (frames(&one), frames(&apart));
    // 500 segments in each direction over three hops, and the pure acknowledgments: one for every two
    // segments on two connections, and less than half as many on one connection.
    assert!(one >= 3000 && two >= 3000 + 1500 && one - 3000 < (two - 3000) / 2, "{one} {two}");
}

/// liu-singh-2001 §III-A: the layer is active at both ends of a connection that carries data in both
/// directions.
#[test]
fn the_aid_is_at_both_ends() {
    let faults =
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"3 s\"\nlasts = \"20 s\"\n";
    let recovery = "recovery = \"reno\"";
    let played = |more: &str| run(&path(faults, &flow(LITTLE, MORE, recovery, more)), 1);
    let both = played("aid = \"atcp\"");
    let written = played("aid = \"atcp\"\nreceiver_aid = \"atcp\"");
    assert_eq!(both.fingerprint, written.fingerprint);
    let one = played("aid = \"atcp\"\nreceiver_aid = \"none\"");
    assert_ne!(both.fingerprint, one.fingerprint);
    assert!(back_s(&both) < back_s(&one), "{} {}", back_s(&both), back_s(&one));
}

/// liu-singh-2001 §III-C: the options that data of the peer end the loss state as well, or only an
/// acknowledgment, differ when the peer sends data.
#[test]
fn data_of_the_peer_can_end_the_loss_state() {
    let played = |leave_loss: &str, back: &str| {
        let mut changes = vec![("flow.0.aid.leave_loss", leave_loss)];
        changes.push(("flow.0.receiver_aid.leave_loss", leave_loss));
        changes.push(("flow.0.receiver_aid.name", "atcp"));
        changes.push(("flow.0.back.transfer", back));
        run(&example("both-ways", &changes), 1)
    };
    let (ack, data) = (played("ack", "300 kB"), played("ack-or-data", "300 kB"));
    for result in [&ack, &data] {
        completion(&result.flows[0]);
        back_s(result);
    }
    assert_ne!(ack.fingerprint, data.fingerprint);
    assert_ne!(ack.flows[0].completion_s, data.flows[0].completion_s);
}

/// A failed connection ends both directions, and the run.
#[test]
fn a_failed_connection_ends_both_directions() {
    let cut = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"3 s\"\nlasts = \"290 s\"\nsignal = \"none\"\n";
    let tcp = "recovery = \"reno\", max_retries = 3";
    let result = run(&path(cut, &flow(MORE, MORE, tcp, "")), 1);
    let flow = &result.flows[0];
    assert_eq!((flow.outcome, flow.completion_s), (FlowOutcome::TimedOut, None));
    assert_eq!(flow.back_completion_s, None);
    assert!(flow.back_delivered_bytes > Some(0) && flow.back_delivered_bytes < Some(250_000));
    assert!(result.duration_s < 200.0, "{}", result.duration_s);
}
