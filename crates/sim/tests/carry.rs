//! The shim's own aid above our own TCP: a link with losses and cuts, routers that mark. Every run
//! keeps the books, and no byte is acknowledged ahead of its receiver.

mod common;

use sim::results::FlowResult;

fn flow(changes: &[(&str, &str)]) -> FlowResult {
    let changes = [&[("duration", "40 s")], changes].concat();
    common::run(&common::example("carry", &changes), 1).flows.remove(0)
}

#[test]
fn losses_and_cuts_cost_no_window() {
    let plain = flow(&[("flow.0.aid", "none")]);
    let carried = flow(&[]);
    let bytes = [plain.delivered_bytes, carried.delivered_bytes];
    assert!(bytes[1] >= 2 * bytes[0], "{bytes:?}");
    assert!(plain.timeouts > Some(0), "{plain:?}");
    assert_eq!(carried.timeouts, Some(0), "{carried:?}");
}

/// Nothing would tell congestion from other losses: only the cuts are survived, which on a link with so
/// many losses is not much.
#[test]
fn without_ecn_only_outages_are_survived() {
    let plain = flow(&[("flow.0.aid", "none"), ("flow.0.tcp.ecn", "false")]);
    let carried = flow(&[("flow.0.tcp.ecn", "false")]);
    let cured = flow(&[]);
    let bytes = [plain, carried, cured].map(|flow| flow.delivered_bytes);
    assert!(bytes[1] >= bytes[0] && bytes[1] * 2 <= bytes[2], "{bytes:?}");
}
