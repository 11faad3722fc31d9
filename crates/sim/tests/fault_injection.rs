//! Fault injection (feature `fault-injection`): each injected fault must make a run fail, and a run
//! without one must pass.

mod common;

use driftway_sim::results::RunResult;
use driftway_sim::{InjectedFault, RunError, inject_fault};

/// A transfer over two hops without losses, so that every injected fault gets through.
const PATH: &str = r#"
    name = "a clean path"
    duration = "60 s"
    [network]
    kind = "path"
    hops = 2
    link = { rate = "1 Mbit/s", delay = "5 ms", queue = { packets = 100 } }
    [[flow]]
    from = 0
    to = 2
    application = { transfer = "200 kB" }
"#;

/// The same over two hops of 802.11, with a window of two segments, so that a raised acknowledgment is
/// premature but not out of the window.
const ADHOC: &str = r#"
    name = "a clean chain"
    duration = "60 s"
    [network]
    kind = "adhoc"
    nodes = 3
    mobility = { chain = "200 m" }
    routing = { protocol = "dsr" }
    [[flow]]
    from = 0
    to = 2
    application = { transfer = "200 kB" }
    tcp = { window = 2, delayed_ack = false }
"#;

/// The same over a wire, a gateway that splits the connection, and the air.
const SPLIT: &str = r#"
    name = "a clean split"
    duration = "60 s"
    [network]
    kind = "mixed"
    nodes = ["h", "g", "n"]
    wire = [{ between = ["h", "g"], rate = "1 Mbit/s", delay = "5 ms", queue = { packets = 100 } }]
    gateway = { node = "g", split = true }
    [network.air]
    radios = ["g", "n"]
    mobility = { chain = "200 m" }
    routing = { protocol = "dsr" }
    [[flow]]
    from = "h"
    to = "n"
    application = { transfer = "200 kB" }
    tcp = { window = 2, delayed_ack = false }
"#;

fn run(text: &str, fault: Option<InjectedFault>) -> Result<RunResult, RunError> {
    inject_fault(fault);
    let outcome = driftway_sim::run(common::parse(text), 1, None);
    inject_fault(None);
    outcome
}

#[test]
fn a_run_without_a_fault_passes() {
    for network in [PATH, ADHOC] {
        assert_eq!(run(network, None).unwrap().flows[0].delivered_bytes, 200_000);
    }
}

#[test]
fn injected_stream_faults_are_detected() {
    for (fault, says) in [
        (InjectedFault::Offset, "byte"),
        (InjectedFault::Stream, "of stream 1"),
        (InjectedFault::Duplicate, "was to get byte"),
        // liu-singh-2001 §III-B: it acknowledges a byte that the peer has not received.
        (InjectedFault::Ack, "as acknowledged"),
    ] {
        for network in [PATH, ADHOC] {
            let error = run(network, Some(fault)).unwrap_err();
            let noticed = matches!(&error, RunError::Stream(what) if what.contains(says));
            assert!(noticed, "{fault:?}: {error}");
        }
    }
}

/// The checks at a gateway take the place of those from end to end.
#[test]
fn injected_faults_of_split_connections_are_detected() {
    let turned = SPLIT.replace("from = \"h\"\n    to = \"n\"", "from = \"n\"\n    to = \"h\"");
    assert_ne!(turned, SPLIT);
    for network in [SPLIT, &turned] {
        assert_eq!(run(network, None).unwrap().flows[0].delivered_bytes, 200_000);
        for fault in [
            InjectedFault::Offset,
            InjectedFault::Stream,
            InjectedFault::Duplicate,
            InjectedFault::Ack,
        ] {
            let error = run(network, Some(fault)).unwrap_err();
            assert!(matches!(&error, RunError::Stream(_)), "{fault:?}: {error}");
        }
        let error = run(network, Some(InjectedFault::Leak)).unwrap_err();
        assert!(matches!(&error, RunError::Conservation(_)), "{error}");
    }
}

/// The reverse direction of a connection is checked as well.
#[test]
fn injected_faults_in_the_reverse_stream_are_detected() {
    let transfer = "application = { transfer = \"200 kB\" }";
    let back = "application = { transfer = \"1 B\" }\nback = { transfer = \"200 kB\" }";
    // In a window of four segments the raised acknowledgment is not beyond what was sent.
    let networks = [PATH, ADHOC].map(|network| network.replace("window = 2", "window = 4"));
    for network in networks.map(|network| network.replace(transfer, back)) {
        assert_eq!(run(&network, None).unwrap().flows[0].back_delivered_bytes, Some(200_000));
        for fault in [
            InjectedFault::Offset,
            InjectedFault::Stream,
            InjectedFault::Duplicate,
            InjectedFault::Ack,
        ] {
            let error = run(&network, Some(fault)).unwrap_err();
            let noticed = matches!(&error, RunError::Stream(what) if what.contains("stream 1"));
            assert!(noticed, "{fault:?}: {error}");
        }
    }
}

/// A path delivers a datagram once; an ad hoc network may deliver it twice, and that is counted.
#[test]
fn a_duplicate_datagram_is_detected() {
    let datagrams = |network: &str| {
        let end = network.find("application").unwrap();
        let cbr = "application = { cbr = { every = \"100 ms\", size = \"100 B\" } }";
        format!("{}{cbr}\ntransport = \"udp\"\n", &network[..end])
    };
    let error = run(&datagrams(PATH), Some(InjectedFault::Duplicate)).unwrap_err();
    let noticed = matches!(&error, RunError::Stream(what) if what.contains("twice"));
    assert!(noticed, "{error}");
    for (fault, duplicates) in [(None, 0), (Some(InjectedFault::Duplicate), 1)] {
        let result = run(&datagrams(ADHOC), fault).unwrap();
        assert_eq!(result.flows[0].duplicates, Some(duplicates), "{fault:?}");
    }
}

#[test]
fn a_leaked_packet_is_detected() {
    for network in [PATH, ADHOC] {
        let error = run(network, Some(InjectedFault::Leak)).unwrap_err();
        assert!(matches!(error, RunError::Conservation(_)), "{error}");
    }
}

/// A change of the random streams violates no conservation; the table of golden runs detects it.
#[test]
fn changed_random_streams_are_detected_by_golden_runs() {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/runs.csv");
    let golden = std::fs::read_to_string(table).unwrap();
    for (name, duration) in [("lossy-path", None), ("adhoc-chain", Some(("duration", "30 s")))] {
        let row = golden.lines().find(|row| row.starts_with(&format!("{name},1,"))).unwrap();
        for fault in [None, Some(InjectedFault::RandomSeed)] {
            inject_fault(fault);
            let result = common::run(&common::example(name, duration.as_slice()), 1);
            inject_fault(None);
            let same = row.contains(&result.fingerprint.replace('-', ","));
            assert_eq!(same, fault.is_none(), "{} and {row}", result.fingerprint);
        }
    }
}
