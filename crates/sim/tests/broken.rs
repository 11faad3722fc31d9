//! The simulator broken on purpose: with each of these features a run must fail, and without any
//! it must not. Features are chosen when the crate is compiled, so `make test` runs
//!
//! ```sh
//! for f in break-offset break-stream break-leak break-twice break-random break-ack; do
//!     cargo test -p driftway-sim --features $f --test broken || exit 1
//! done
//! ```

mod common;

use sim::RunError;
use sim::results::RunResult;

/// A transfer over two hops without losses, so that what is broken gets through.
const CLEAN: &str = r#"
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

fn outcome() -> Result<RunResult, RunError> {
    sim::run(&common::parse(CLEAN), 1, None)
}

#[test]
#[cfg(not(any(
    feature = "break-offset",
    feature = "break-stream",
    feature = "break-leak",
    feature = "break-twice",
    feature = "break-ack"
)))]
fn a_sound_run_passes() {
    let result = outcome().unwrap();
    assert_eq!(result.flows[0].delivered_bytes, 200_000);
}

#[test]
#[cfg(feature = "break-offset")]
fn a_corrupted_offset_is_noticed() {
    let error = outcome().unwrap_err();
    assert!(matches!(&error, RunError::Stream(what) if what.contains("byte")), "{error}");
}

#[test]
#[cfg(feature = "break-stream")]
fn a_flipped_stream_key_is_noticed() {
    let error = outcome().unwrap_err();
    assert!(matches!(&error, RunError::Stream(what) if what.contains("of stream 1")), "{error}");
}

#[test]
#[cfg(feature = "break-leak")]
fn a_leaked_packet_is_noticed() {
    let error = outcome().unwrap_err();
    assert!(matches!(&error, RunError::Books(what) if what.contains("links hold")), "{error}");
}

#[test]
#[cfg(feature = "break-twice")]
fn a_double_delivery_is_noticed() {
    let error = outcome().unwrap_err();
    assert!(matches!(error, RunError::Stream(_)), "{error}");
}

/// liu-singh-2001 §III-B: an ACK that grew on its way speaks of a byte that the peer has not got.
#[test]
#[cfg(feature = "break-ack")]
fn a_raised_acknowledgment_is_noticed() {
    let error = outcome().unwrap_err();
    assert!(
        matches!(&error, RunError::Stream(what) if what.contains("as acknowledged")),
        "{error}"
    );
}

/// Random streams that move leave the books in order; what notices is the table of golden runs.
#[test]
#[cfg(not(any(
    feature = "break-offset",
    feature = "break-stream",
    feature = "break-leak",
    feature = "break-twice",
    feature = "break-ack"
)))]
fn moved_random_streams_are_noticed_by_golden_runs() {
    let result = common::run(&common::example("lossy-path", &[]), 1);
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/runs.csv");
    let golden = std::fs::read_to_string(table).unwrap();
    let row = golden.lines().find(|row| row.starts_with("lossy-path,1,")).unwrap();
    let same = row.contains(&result.fingerprint.replace('-', ","));
    assert_eq!(same, !cfg!(feature = "break-random"), "{} and {row}", result.fingerprint);
}
