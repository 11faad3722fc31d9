//! `driftway paper --numbers`: numbers cited in a paper's texts.

use predicates::prelude::*;
use predicates::str::contains;

use crate::paper::paper_dir;
use crate::*;

const NUMBERS: &str = r#"
given = ["20 runs of the paper"]

[[cited]]
text = "TCP times out {TIMEOUTS} times"
gives = ["9:tcp:"]

[[cited]]
text = "it times out {TIMEOUTS} times"
run = "s.toml"
set = { "flow.0.aid" = "none" }
gives = ["timeouts"]

[[cited]]
text = "one and one is {2}"
command = "driftway --version > /dev/null && echo 2"

[[table]]
name = "timeouts"
corner = "arm"
rows = [["TCP", "tcp"], ["ATCP", "atcp"]]
columns = [["timeouts", "{1 9:{0}:} ± {± 9:{0}:}"]]
"#;

const README: &str = "# Two\n\nIn 20 runs of the paper TCP times out TIMEOUTS times, and one and one is 2.\n\n\
                      <!-- table timeouts -->\n<!-- end -->\n";

/// A paper with recorded results, cited numbers and a README.
fn recorded() -> (TestDir, String) {
    let bench = paper_dir(&[("\"it takes seconds\"", "\"it times out TIMEOUTS times\"")]);
    bench.stdout(&["paper", "two", "--record"]);
    let csv = fs::read_to_string(bench.path("papers/two/results.csv")).unwrap();
    let row = csv.lines().find(|line| line.starts_with("9,timeouts,tcp,")).unwrap();
    let timeouts = row.split(',').nth(4).unwrap().to_owned();
    let write = |name: &str, text: &str| {
        bench.file(&format!("papers/two/{name}"), &text.replace("TIMEOUTS", &timeouts));
    };
    write("numbers.toml", NUMBERS);
    write("README.md", README);
    let paper = fs::read_to_string(bench.path("papers/two/paper.toml")).unwrap();
    write("paper.toml", &paper);
    bench.stdout(&["paper", "two", "--record"]);
    (bench, timeouts)
}

#[test]
fn cited_numbers_and_tables_match_the_results() {
    let (bench, timeouts) = recorded();
    let text = bench.stdout(&["paper", "two", "--numbers"]);
    assert!(text.contains("3 numbers cited: 3 agree, 0 differ."), "{text}");
    assert!(text.contains(&format!("agrees   cited {timeouts}, found ")), "{text}");
    let readme = fs::read_to_string(bench.path("papers/two/README.md")).unwrap();
    assert!(readme.contains(&format!("| TCP | {timeouts} ± ")), "{readme}");
    assert!(readme.contains("| ATCP | 0.0 ± 0 |"), "{readme}");
}

#[test]
fn a_number_that_differs_is_a_failure() {
    for (file, from, to, says) in [
        ("README.md", "one is 2.", "one is 3.", "1 entry stale"),
        ("README.md", "| ATCP | 0.0", "| ATCP | 0.1", "1 entry stale"),
        ("README.md", "# Two", "# Two\n\nAnd 17 more.", "1 number without source"),
        ("numbers.toml", "&& echo 2", "&& echo 3", "1 number wrong"),
        ("numbers.toml", "&& echo 2", "&& false", "1 number wrong"),
        ("numbers.toml", "\"9:tcp:\"", "\"9:tpc:\"", "1 number wrong"),
        ("numbers.toml", "20 runs of", "21 runs of", "1 entry stale, 1 number without source"),
    ] {
        let (bench, _) = recorded();
        let path = bench.path(&format!("papers/two/{file}"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        bench.driftway(&["paper", "two", "--numbers"]).assert().code(1).stderr(contains(says));
    }
}

/// A result that differs from the recorded one is reported, whatever the verdicts are.
#[test]
fn results_that_differ_from_the_recorded_ones_are_a_failure() {
    let (bench, timeouts) = recorded();
    let path = bench.path("papers/two/results.csv");
    let csv = fs::read_to_string(&path).unwrap();
    fs::write(&path, csv.replace(&format!("9,timeouts,tcp,,{timeouts},"), "9,timeouts,tcp,,99,"))
        .unwrap();
    let says = contains("figure 9, timeouts of tcp: mean 99 is recorded")
        .and(contains("`driftway paper two --record` records the new results"));
    bench.driftway(&["paper", "two"]).assert().code(1).stderr(says);
    // The quick part does not include figure 9.
    bench.driftway(&["paper", "two", "--quick"]).assert().success();
}

#[test]
fn an_invalid_file_of_numbers_is_invalid_input() {
    let (bench, _) = recorded();
    for (file, text, says) in [
        ("numbers.toml", "gvien = []", "unknown key `gvien`"),
        ("numbers.toml", "[[cited]]\ntext = \"none\"\ngives = []", "has no number in braces"),
        ("numbers.toml", "[[cited]]\ntext = \"{2}\"\ngives = []", "has 1 numbers, and `gives` 0"),
        ("results.csv", "a,b\n", "results.csv:1: the columns are"),
    ] {
        let path = bench.path(&format!("papers/two/{file}"));
        let kept = fs::read_to_string(&path).unwrap();
        fs::write(&path, text).unwrap();
        let line = ["paper", "two", "--numbers"];
        bench.driftway(&line).assert().code(2).stderr(contains(says));
        fs::write(&path, kept).unwrap();
    }
    let says = contains("numbers.toml: there is no such file");
    let bench = paper::paper_dir(&[]);
    bench.driftway(&["paper", "two", "--numbers"]).assert().code(2).stderr(says);
}
