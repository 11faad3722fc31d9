//! Help, terminal output and colours.

use predicates::prelude::*;
use predicates::str::{contains, is_empty};

use crate::*;

#[test]
fn help_has_examples_and_fits_the_width() {
    let bench = TestDir::new();
    let help = bench.stdout(&["--help"]);
    assert!(help.contains("driftway report results"));
    bench.driftway(&["contrast"]).assert().code(2);
    for command in [
        "run", "check", "compare", "emulate", "paper", "report", "shim", "sweep", "replay",
        "validate", "bench", "ctl",
    ] {
        let help = bench.stdout(&[command, "--help"]);
        assert!(help.contains("Examples:"), "{command}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

/// Commands below "Examples:", without explanations (which are indented by six), and without runs with
/// the kernel.
fn examples(help: &str) -> String {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let lines = lines.take_while(|line| line.starts_with(' '));
    let commands = lines.filter(|line| line.len() - line.trim_start().len() != 6);
    let commands = commands.filter(|line| !line.contains("--kernel"));
    commands.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_examples_of_the_help_work() {
    let bench = TestDir::new();
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let example = fs::read_to_string(scenarios.join("lossy-path.toml")).unwrap();
    fs::create_dir(bench.path("scenarios")).unwrap();
    bench.file("scenarios/lossy-path.toml", &example);
    bench.file("lossy-path.toml", &example);
    bench.file("adhoc.toml", captures::CHAIN);
    // A paper with the name of the built-in one in the help, which runs faster.
    let paper = bench.path("papers/liu-singh-2001");
    fs::create_dir_all(&paper).unwrap();
    fs::write(paper.join("s.toml"), SCENARIO).unwrap();
    fs::write(paper.join("paper.toml"), paper::PAPER).unwrap();
    bench.stdout(&["paper", "liu-singh-2001", "--record"]);
    let binary = assert_cmd::cargo::cargo_bin("driftway");
    let path = std::env::join_paths(
        std::iter::once(binary.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    for help in [
        &["--help"][..],
        &["run", "--help"],
        &["check", "--help"],
        &["report", "--help"],
        &["paper", "--help"],
        &["sweep", "--help"],
    ] {
        let script = examples(&bench.stdout(help));
        assert!(script.contains("driftway"), "{help:?}");
        let mut shell = Command::new("sh");
        shell.current_dir(bench.0.path()).env("PATH", path.as_ref().unwrap());
        shell.args(["-e", "-c", &script]).assert().success().stderr(is_empty());
    }
}

#[test]
fn the_progress_bar_is_for_terminals_only() {
    let bench = TestDir::new();
    let run = ["run", "s.toml", "--runs", "20", "--jobs", "1"];
    bench.driftway(&run).env("TERM", "xterm").assert().success().stderr(is_empty());
}

#[test]
fn tables_fit_and_incomplete_transfers_are_reported() {
    let bench = TestDir::new();
    let text = bench.stdout(&["run", "s.toml", "--runs", "3"]);
    assert!(text.contains("completion time") && text.contains('±'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let text = bench.stdout(&["run", "s.toml", "--runs", "3", "--set", "duration=2 s"]);
    assert!(text.contains("did not complete in any of 3 runs"), "{text}");
    let ftp = ["run", "s.toml", "--set", "duration=2 s", "--set", "flow.0.application=ftp"];
    assert!(!bench.stdout(&ftp).contains("did not complete"));
}

#[test]
fn colour_is_for_terminals_without_no_color() {
    let bench = TestDir::new();
    let stderr = |key: &str, value: &str| {
        let mut command = bench.driftway(&["check", "nowhere.toml"]);
        let output = command.env(key, value).assert().code(2).get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(!stderr("TERM", "xterm").contains('\x1b'));
    assert!(stderr("CLICOLOR_FORCE", "1").contains('\x1b'));
    let mut both = bench.driftway(&["check", "nowhere.toml"]);
    both.env("NO_COLOR", "1").env("TERM", "xterm-256color");
    both.assert().code(2).stderr(contains("\x1b").not());
}

#[test]
fn a_broken_pipe_is_no_failure() {
    let bench = TestDir::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"));
    let output = command.arg("run").arg(bench.path("s.toml")).stdout(writer).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
