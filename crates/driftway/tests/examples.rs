//! The examples do what they say. `cargo test` builds them beside this test.

use std::process::Command;

/// Output of an example with these arguments, which must succeed.
fn output(name: &str, arguments: &[&str]) -> String {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(|deps| deps.parent()).unwrap();
    let example = target.join("examples").join(name);
    assert!(example.is_file(), "{} is not built: run all tests of the crate", example.display());
    let output = Command::new(example).args(arguments).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The seconds in the line that begins with this name.
fn seconds(output: &str, name: &str) -> f64 {
    let line = output.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_run_takes_ten_lines() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
    let output = output("run", &[scenario]);
    assert!(seconds(&output, "atcp:") < seconds(&output, "none:"), "{output}");
}

#[test]
fn an_aid_works_below_a_foreign_tcp() {
    let output = output("aid_under_own_tcp", &[]);
    assert!(seconds(&output, "tcp-f:") + 10.0 < seconds(&output, "none:"), "{output}");
}

#[test]
fn the_kernel_gets_its_greeting_back() {
    let output = output("tun_echo", &[]);
    assert!(
        output.contains("hello across the TUN device") || output.starts_with("skipped:"),
        "{output}"
    );
}
