//! The simulator broken on purpose (feature `broken`): in each of these ways a run must fail, and
//! in none it must not.

mod common;

use driftway_sim::results::RunResult;
use driftway_sim::{InjectedFault, RunError, inject_fault};

/// A transfer over two hops without losses, so that what is broken gets through.
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

/// The same over two hops of 802.11, two segments at a time: so that a raised acknowledgment is
/// nothing but early.
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

fn run(text: &str, fault: Option<InjectedFault>) -> Result<RunResult, RunError> {
    inject_fault(fault);
    let outcome = driftway_sim::run(&common::parse(text), 1, None);
    inject_fault(None);
    outcome
}

#[test]
fn a_sound_run_passes() {
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
        // liu-singh-2001 §III-B: it speaks of a byte that the peer has not got.
        (InjectedFault::Ack, "as acknowledged"),
    ] {
        for network in [PATH, ADHOC] {
            let error = run(network, Some(fault)).unwrap_err();
            let noticed = matches!(&error, RunError::Stream(what) if what.contains(says));
            assert!(noticed, "{fault:?}: {error}");
        }
    }
}

/// What goes back on the same connection is checked like what it answers.
#[test]
fn injected_faults_in_the_reverse_stream_are_detected() {
    let transfer = "application = { transfer = \"200 kB\" }";
    let back = "application = { transfer = \"1 B\" }\nback = { transfer = \"200 kB\" }";
    // In a window of four the raised acknowledgment is not beyond what was sent.
    let networks = [PATH, ADHOC].map(|network| network.replace("window = 2", "window = 4"));
    for network in networks.map(|network| network.replace(transfer, back)) {
        assert_eq!(run(&network, None).unwrap().flows[0].back_delivered_bytes, Some(200_000));
        for fault in [InjectedFault::Offset, InjectedFault::Stream, InjectedFault::Duplicate, InjectedFault::Ack] {
            let error = run(&network, Some(fault)).unwrap_err();
            let noticed = matches!(&error, RunError::Stream(what) if what.contains("stream 1"));
            assert!(noticed, "{fault:?}: {error}");
        }
    }
}

/// A path brings a datagram once; radios may bring it again, and that is counted.
#[test]
fn a_datagram_that_comes_twice_is_noticed() {
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
fn a_leaked_packet_is_noticed() {
    for network in [PATH, ADHOC] {
        let error = run(network, Some(InjectedFault::Leak)).unwrap_err();
        assert!(matches!(error, RunError::Conservation(_)), "{error}");
    }
}

/// Random streams that move leave the books in order; what notices is the table of golden runs.
#[test]
fn moved_random_streams_are_noticed_by_golden_runs() {
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
