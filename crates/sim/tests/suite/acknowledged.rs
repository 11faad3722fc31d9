//! No byte is acknowledged to a sender before its peer has received it, whatever the network and the
//! aids do (liu-singh-2001 §III-B).
//!
//! Every run checks this, packet conservation and the streams; here many random runs do. An aid that
//! sends false acknowledgments shows that the check can fail.

mod false_ack_aid;
mod random;

use std::cell::Cell;

use crate::common;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// Totals over the cases of one test, which reveal a generator that exercises nothing.
#[derive(Default)]
struct CaseCounts {
    flows: Cell<u64>,
    complete: Cell<u64>,
    delivered: Cell<u64>,
    retransmissions: Cell<u64>,
    refused: Cell<u64>,
    damaged: Cell<u64>,
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

#[test]
fn every_random_run_passes_the_checks() {
    let seen = CaseCounts::default();
    // 256 cases, unless PROPTEST_CASES is set.
    let config = Config { failure_persistence: None, ..Config::default() };
    let cases = u64::from(config.cases);
    let outcome = TestRunner::new(config).run(&random::scenario(), |(text, seed)| {
        let scenario = common::parse(&text);
        let result = driftway_sim::run(&scenario, seed, None)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        for flow in &result.flows {
            add(&seen.flows, 1);
            add(&seen.complete, u64::from(flow.completion_s.is_some()));
            add(&seen.delivered, u64::from(flow.delivered_bytes > 0));
            add(&seen.retransmissions, flow.retransmissions.unwrap_or(0));
        }
        add(&seen.refused, common::drops(&result, "unreachable"));
        add(&seen.damaged, common::drops(&result, "bit-error"));
        Ok(())
    });
    if let Err(TestError::Fail(why, (text, seed))) = &outcome {
        panic!("{why}, with seed {seed}:\n{text}");
    }
    outcome.unwrap();
    let flows = seen.flows.get();
    assert!(flows > cases, "{flows} flows");
    // Far below the usual values, so that chance does not fail the test.
    assert!(seen.delivered.get() * 2 > flows, "{} of {flows} deliver", seen.delivered.get());
    assert!(seen.complete.get() * 20 > flows, "{} of {flows} complete", seen.complete.get());
    assert!(seen.retransmissions.get() > 10 * cases, "{}", seen.retransmissions.get());
    assert!(seen.refused.get() > cases, "{}", seen.refused.get());
    assert!(seen.damaged.get() > 10 * cases, "{}", seen.damaged.get());
}
