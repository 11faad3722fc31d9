//! `driftway paper --numbers`: numbers cited in a paper's texts.

use predicates::prelude::*;
use predicates::str::contains;

use crate::paper::paper_dir;
use crate::*;

const README: &str = r#"# Two

In 20 runs of the paper TCP times out TIMEOUTS times, and one and one is 2.

<!-- sources
given 20
TIMEOUTS = 9:tcp:
2 = $ driftway --version > /dev/null && echo 2
-->

<!-- table
corner = "arm"
rows = [["TCP", "tcp"], ["ATCP", "atcp"]]
columns = [["timeouts", "{1 9:{0}:} ± {± 9:{0}:}"]]
-->
<!-- end -->
"#;

/// The key of the cause.
const SOURCES: &str = r#"sources = 'TIMEOUTS = timeouts in s.toml with { "flow.0.aid" = "none" }'"#;

/// A paper with recorded results and sources of the numbers in its texts.
fn recorded() -> (TestDir, String) {
    let cause = format!("\"it times out TIMEOUTS times\"\n{SOURCES}");
    let bench = paper_dir(&[("\"it takes seconds\"", &cause)]);
    bench.stdout(&["paper", "two", "--record"]);
    let csv = fs::read_to_string(bench.path("papers/two/results.csv")).unwrap();
    let row = csv.lines().find(|line| line.starts_with("9,timeouts,tcp,")).unwrap();
    let timeouts = row.split(',').nth(4).unwrap().to_owned();
    let paper = fs::read_to_string(bench.path("papers/two/paper.toml")).unwrap();
    for (name, text) in [("README.md", README), ("paper.toml", &paper)] {
        let text = text.replace("TIMEOUTS", &timeouts);
        bench.file(&format!("papers/two/{name}"), &text);
    }
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
        ("README.md", "one is 2.", "one is 3.", "1 entry stale, 1 number without source"),
        ("README.md", "2 = $", "3 = $", "1 number wrong, 1 entry stale, 1 number without"),
        ("README.md", "| ATCP | 0.0", "| ATCP | 0.1", "1 entry stale"),
        ("README.md", "# Two", "# Two\n\nAnd 17 more.", "1 number without source"),
        ("README.md", "<!-- end -->", "<!-- end -->\n\nAnd 17 more.", "1 number without source"),
        ("README.md", "&& echo 2", "&& echo 3", "1 number wrong"),
        ("README.md", "&& echo 2", "&& false", "1 number wrong"),
        ("README.md", "= 9:tcp:", "= 9:tpc:", "1 number wrong"),
        ("README.md", "given 20", "given 20, 21", "1 entry stale"),
        ("paper.toml", "times out ", "times out after 7 s ", "1 number without source"),
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
fn invalid_sources_are_invalid_input() {
    let (bench, _) = recorded();
    for (file, text, says) in [
        ("README.md", "<!-- sources gvien 2 -->", "README.md:1: `gvien 2` is neither"),
        ("README.md", "\n<!-- table\nrow = 1\n-->\n<!-- end -->", "README.md:2: the table is"),
        ("results.csv", "a,b\n", "results.csv:1: the columns are"),
    ] {
        let path = bench.path(&format!("papers/two/{file}"));
        let kept = fs::read_to_string(&path).unwrap();
        fs::write(&path, text).unwrap();
        let line = ["paper", "two", "--numbers"];
        bench.driftway(&line).assert().code(2).stderr(contains(says));
        fs::write(&path, kept).unwrap();
    }
    let path = bench.path("papers/two/paper.toml");
    let kept = fs::read_to_string(&path).unwrap();
    fs::write(&path, kept.replace("timeouts in s.toml", "timeout in s.toml")).unwrap();
    bench.driftway(&["paper", "two", "--numbers"]).assert().code(1);
    fs::write(&path, kept.replace("sources = '", "sources = 'two, ")).unwrap();
    let says = contains("paper.toml: cause `").and(contains("`two` is not a number"));
    bench.driftway(&["paper", "two", "--numbers"]).assert().code(2).stderr(says);
    fs::remove_file(bench.path("papers/two/results.csv")).unwrap();
    let says = contains("results.csv: there is no such file");
    bench.driftway(&["paper", "two", "--numbers"]).assert().code(2).stderr(says);
}
