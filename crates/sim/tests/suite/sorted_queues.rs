//! Interface queues that inspect TCP segments (westin-2003 §5.2).

use crate::common::{drops, parse, run};
use driftway_sim::results::RunResult;

/// Two nodes 100 m apart with so many frame errors that ns-2's DSR sometimes regards the link as
/// broken, and requeues packets behind those that it has queued since.
fn lossy(queue: &str, seed: u64) -> RunResult {
    let text = format!(
        r#"
        name = "requeued"
        duration = "60 s"
        [network]
        kind = "adhoc"
        nodes = 2
        mobility = {{ chain = "100 m" }}
        radio = {{ packet_error_rate = 0.3 }}
        queue = {{ packets = 50 {queue} }}
        routing = {{ protocol = "dsr" }}
        compat = "ns-2"
        [[flow]]
        from = 0
        to = 1
        application = "ftp"
        tcp = {{ recovery = "tahoe", window = 20 }}
        "#
    );
    run(&parse(&text), seed)
}

#[test]
fn a_sorted_queue_causes_fewer_fast_retransmits() {
    let retransmits = |queue: &str| -> u64 {
        let of = |seed| lossy(queue, seed).flows[0].fast_retransmits.unwrap();
        (1..=5).map(of).sum()
    };
    let [plain, sorted] = ["", ", sorted = true"].map(retransmits);
    assert!(3 * sorted < 2 * plain, "{plain} without, {sorted} with it");
}

#[test]
fn a_queued_segment_is_not_queued_again() {
    let [plain, discards] = ["", ", discards_repeated = true"].map(|queue| lossy(queue, 1));
    assert_eq!(drops(&plain, "repeated"), 0);
    assert!(drops(&discards, "repeated") > 5, "{:?}", discards.drops);
}
