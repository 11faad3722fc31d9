//! The seeds of every target. (That `cargo test` builds `try` is due to this test, too.)

use std::process::Command;

#[test]
fn no_seed_makes_a_target_panic() {
    let run = Command::new(env!("CARGO_BIN_EXE_try")).args(["--seconds", "0"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(said.lines().count(), driftway_fuzz::TARGETS.len(), "{said}");
}
