//! Output in a narrow terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::*;

/// A pseudo-terminal of this width: the master, and the slave that the command writes to.
fn terminal(columns: u16) -> (File, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let command = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person, size).unwrap();
    (person.into(), command)
}

/// Output of the command on a terminal of this width.
fn shown(bench: &TestDir, columns: u16, arguments: &[&str]) -> String {
    let (mut person, stdout) = terminal(columns);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("driftway"));
    command.current_dir(bench.0.path()).args(arguments).stdout(stdout);
    let mut child = command.spawn().unwrap();
    // It holds the slave, which must be closed for an end of file.
    drop(command);
    let mut text = Vec::new();
    // Linux returns EIO when the slave is closed.
    let _ = person.read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

/// All characters except white space and rules, sorted, because wrapped cells change their order.
fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> =
        text.chars().filter(|letter| !letter.is_whitespace() && *letter != '─').collect();
    letters.sort_unstable();
    letters
}

#[test]
fn tables_and_text_have_the_width_of_the_terminal() {
    let bench = TestDir::new();
    let run = ["run", "s.toml", "--runs", "3", "--set", "duration=2 s"];
    let wide = bench.stdout(&run);
    assert!((71..=100).contains(&widest(&wide)), "{wide}");
    for (columns, most) in [(70, 70), (20, 60), (240, 100)] {
        let text = shown(&bench, columns, &run);
        assert!(widest(&text) <= most && widest(&text) > most - 20, "{columns}: {text}");
        assert_eq!(letters(&text), letters(&wide), "{text}");
    }
    bench.stdout(&[&run[..], &["--out", "results"]].concat());
    let text = shown(&bench, 70, &["report", "results"]);
    assert!(widest(&text) <= 70, "{text}");
}

#[test]
fn a_cause_is_wrapped_between_words_and_a_command_is_not() {
    let cause =
        "it takes seconds, as every one of the many words\nof this long cause says once more";
    let command =
        "driftway run s.toml --set flow.0.tcp.window='4 kB' --set network.hops=2 --runs 3";
    let because = format!("text = \"\"\"{cause}\"\"\"");
    let shown_by = format!("shown_by = \"{command}\"");
    let changes = [
        ("text = \"it takes seconds\"", because.as_str()),
        ("shown_by = \"driftway run s.toml\"", &shown_by),
    ];
    let text = shown(&paper::paper_dir(&changes), 64, &["paper", "two"]);
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 64).collect();
    assert_eq!(long.iter().map(|line| line.trim()).collect::<Vec<_>>(), [command], "{text}");
    let indented = "\n           ";
    let cause = text.split("cause: ").nth(1).unwrap();
    let cause = cause.split(&format!("{indented}driftway")).next().unwrap();
    let lines: Vec<&str> = cause.split(indented).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines.iter().all(|line| line.len() > 20), "{text}");
}
