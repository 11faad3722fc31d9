//! Invalid input: one message with the place of the error, and no files left.

use predicates::prelude::*;
use predicates::str::{contains, is_empty};

use crate::*;

#[test]
fn invalid_input_gives_one_message_and_leaves_no_files() {
    let bench = TestDir::new();
    bench.file("broken.toml", "name = \n");
    bench.file("typo.toml", &SCENARIO.replace("bit_error_rate = ", "bit_eror_rate = "));
    bench.file("unit.toml", &SCENARIO.replace("64 kbit/s", "64 furlongs"));
    bench.file("taken", "");
    let cases: &[(&[&str], &str)] = &[
        (&["run", "nowhere.toml"], "nowhere.toml"),
        (&["run", "broken.toml"], "broken.toml:1:"),
        (&["run", "typo.toml"], "did you mean `bit_error_rate`?"),
        (&["run", "unit.toml"], "bit/s"),
        (&["run", "s.toml", "--set", "network.hop=3"], "did you mean `hops`?"),
        (&["run", "s.toml", "--set", "network.hops"], "KEY=VALUE"),
        (&["run", "s.toml", "--set", "flow.0.aid=atpc"], "did you mean `atcp`?"),
        (
            &["run", "s.toml", "--runs", "0"],
            "invalid value '0' for '--runs <N>': expected a whole number, at least 1",
        ),
        (
            &["run", "s.toml", "--jobs", "0"],
            "invalid value '0' for '--jobs <N>': expected a whole number, at least 1",
        ),
        (&["run", "s.toml", "--runs", "-1"], "at least 1"),
        (&["run", "s.toml", "--seed", "one"], "--seed"),
        (&["run", "s.toml", "--sed", "3"], "--seed"),
        (&["run", "s.toml", "--seed", "18446744073709551615", "--runs", "2"], "no room"),
    ];
    let before = names(bench.0.path());
    for (arguments, says) in cases {
        let with_out = [*arguments, &["--out", "results"]].concat();
        bench
            .driftway(&with_out)
            .assert()
            .code(2)
            .stdout(is_empty())
            .stderr(contains(*says).and(contains("error:").count(1)));
        assert_eq!(names(bench.0.path()), before, "{arguments:?}");
    }
    for arguments in [
        &["run", "s.toml", "--trace"][..],
        &["run", "s.toml", "--out", "taken"],
        &["check", "typo.toml"],
        &["report", "nowhere"],
        &["report", "."],
        &["report", "s.toml"],
    ] {
        bench.driftway(arguments).assert().code(2).stdout(is_empty());
        assert_eq!(names(bench.0.path()), before, "{arguments:?}");
    }
}

#[test]
fn an_invalid_file_gives_one_message_with_the_place() {
    let bench = TestDir::new();
    let changed = |from: &str, to: &str| {
        assert_eq!(SCENARIO.matches(from).count(), 1, "{from}");
        SCENARIO.replace(from, to)
    };
    let fault =
        "[[network.fault]]\nkind = \"partition\"\nhop = 9\nevery = \"9 s\"\nlasts = \"1 s\"\n";
    for (name, text, place, says) in [
        ("empty", String::new(), "", "this file is empty"),
        ("key", changed("hops = 2", "hopps = 2"), ":7:1", "did you mean `hops`?"),
        ("unit", changed("64 kbit/s", "64 ms"), ":10:8", "kbit/s"),
        ("negative", changed("64 kbit/s", "-64 kbit/s"), ":10:8", "negative"),
        ("hop", changed("[[flow]]", &format!("{fault}\n[[flow]]")), ":16:7", "1–2"),
        ("node", changed("to = 2", "to = 3"), ":16:6", "3"),
        ("deep", format!("name = \"x\"\nhops = {}", "[".repeat(100_000)), ":2:", "too deeply"),
        ("dotted", format!("{}b = 1", "a.".repeat(50_000)), ":1:", "too deeply"),
    ] {
        bench.file(name, &text);
        refused(&bench, name, &format!("error: {name}{place}"), says);
    }
    fs::write(bench.path("binary"), [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe, 0]).unwrap();
    refused(&bench, "binary", "error: binary: ", "not UTF-8 text");
    fs::create_dir(bench.path("directory")).unwrap();
    refused(&bench, "directory", "error: directory: ", "is a directory");
    // A sparse file of two gigabytes, which must not be read into memory.
    fs::File::create(bench.path("large")).unwrap().set_len(2 << 30).unwrap();
    refused(&bench, "large", "error: large: ", "16 MiB");
}

/// Checks for one message with this beginning and content, exit status 2, and no new files.
fn refused(bench: &TestDir, file: &str, begins: &str, says: &str) {
    let before = names(bench.0.path());
    for command in [&["run", file, "--out", "results"][..], &["check", file]] {
        bench.driftway(command).assert().code(2).stdout(is_empty()).stderr(
            predicates::str::starts_with(begins)
                .and(contains(says))
                .and(contains("error:").count(1)),
        );
    }
    assert_eq!(names(bench.0.path()), before, "{file}");
}

#[test]
fn a_report_on_an_empty_directory_is_an_error() {
    let bench = TestDir::new();
    fs::create_dir(bench.path("empty")).unwrap();
    let refused = bench.driftway(&["report", "empty"]).assert().code(2).stdout(is_empty());
    refused.stderr(contains("no results.json in empty").and(contains("--out empty")));
    assert!(names(&bench.path("empty")).is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let bench = TestDir::new();
    let arguments = ["run", "s.toml", "--out", "s.toml/below"];
    bench.driftway(&arguments).assert().code(1).stderr(contains("s.toml/below"));
}

#[test]
fn check_summarises_the_scenario_and_its_output_reads_back() {
    let bench = TestDir::new();
    bench
        .driftway(&["check", "s.toml"])
        .assert()
        .success()
        .stdout(contains("ok: two lossy hops").and(contains("atcp")));
    let faults = r#"network.fault=[{ kind = "outage", hop = 1, every = "9 s", lasts = "1 s" }, { kind = "partition", hop = 2, every = "9 s", lasts = "1 s" }]"#;
    let checked = bench.stdout(&["check", "s.toml", "--set", faults]);
    assert!(
        checked.contains("\n  outage of hop 1: queued packets are dropped, nobody is notified\n"),
        "{checked}"
    );
    assert!(
        checked.contains(
            "\n  partition of hop 2: queued packets wait, routers send ICMP unreachable\n"
        ),
        "{checked}"
    );
    let set = ["--set", "network.hops=3", "--set", "flow.0.to=3"];
    let shown = bench.stdout(&[&["check", "s.toml", "--show"][..], &set].concat());
    bench.file("shown.toml", &shown);
    assert_eq!(bench.stdout(&["check", "shown.toml", "--show"]), shown);
    let runs = |document: Value| document["runs"].clone();
    assert_eq!(
        runs(bench.document(&["run", "shown.toml", "--json"])),
        runs(bench.document(&[&["run", "s.toml", "--json"][..], &set].concat())),
    );
}

/// A file in which nodes appear later and leave earlier.
#[test]
fn check_says_where_nodes_stand_that_a_movement_file_does_not_have() {
    let bench = TestDir::new();
    let rows = "node,time_s,x_m,y_m\nbus,0,10,20\ntram,3,0,0\nbus,60,50,20\ntram,4,5,0\n";
    bench.file("town.csv", rows);
    let scenario = "name = 'town'\nduration = '10 s'\n[network]\nkind = 'adhoc'\n\
                    mobility = { file = 'town.csv' }\nrouting = { protocol = 'aodv' }\n\
                    [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
    bench.file("town.toml", scenario);
    let checked = bench.stdout(&["check", "town.toml"]);
    let notes = "\n  positions: x from 0.0 m to 50.0 m, y from 0.0 m to 20.0 m\n  nodes: 0 `bus`, 1 `tram`\n  \
                 stand at their first position until they appear: 1 until 3 s\n  \
                 stand at their last position after they have left: 1 from 4 s\n";
    assert!(
        checked.contains("2 nodes that move as in town.csv") && checked.contains(notes),
        "{checked}"
    );
    bench.file("town.csv", &rows.replace("tram,4", "tram,2"));
    let refused = bench.driftway(&["check", "town.toml"]).assert().code(2);
    refused.stderr(contains("town.csv:5:1: a position before that of “tram” of line 3"));
}

#[test]
fn check_takes_several_files_and_reports_each_error() {
    let bench = TestDir::new();
    let scenario = fs::read_to_string(bench.path("s.toml")).unwrap();
    bench.file("t.toml", &scenario.replace("two lossy hops", "the second"));
    let both = bench.stdout(&["check", "s.toml", "t.toml"]);
    assert!(both.contains("ok: two lossy hops") && both.contains("ok: the second"), "{both}");
    bench.file("bad.toml", &scenario.replace("hops", "hop"));
    let arguments = ["check", "bad.toml", "t.toml", "nowhere.toml"];
    let checked = bench.driftway(&arguments).assert().code(2).stdout(contains("ok: the second"));
    checked.stderr(contains("error: bad.toml:").and(contains("error: nowhere.toml")));
    bench.driftway(&["check"]).assert().code(2).stderr(contains("FILE.toml"));
}

#[test]
fn check_shows_documentation_unless_it_is_to_be_brief() {
    let bench = TestDir::new();
    let (full, brief) = (
        bench.stdout(&["check", "s.toml", "--show"]),
        bench.stdout(&["check", "--show=brief", "s.toml"]),
    );
    assert!(full.lines().any(|line| line.starts_with("# ")), "{full}");
    assert!(!brief.contains('#'), "{brief}");
    for shown in [full, brief] {
        bench.file("shown.toml", &shown);
        bench.driftway(&["check", "shown.toml"]).assert().success();
    }
}

#[test]
fn the_schema_of_scenarios_is_json() {
    let bench = TestDir::new();
    let schema: Value = serde_json::from_str(&bench.stdout(&["check", "--schema"])).unwrap();
    assert_eq!(schema["properties"]["duration"]["$ref"], "#/$defs/Time");
    bench.driftway(&["check", "s.toml", "--schema"]).assert().code(2);
}

#[test]
fn shells_complete_commands_and_options() {
    let bench = TestDir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.stdout(&["completions", shell]);
        assert!(script.contains("emulate") && script.contains("pcap"), "{shell}");
        assert!(!script.contains("guardian"), "{shell} offers a hidden command");
    }
}

#[test]
fn results_of_another_schema_are_errors() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--out", "results"]);
    let path = bench.path("results/results.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"schema\": 2", "\"schema\": 999"), ("\"runs\": [", "\"walks\": [")] {
        fs::write(&path, text.replace(from, to)).unwrap();
        bench
            .driftway(&["report", "results"])
            .assert()
            .code(2)
            .stderr(contains("results.json").and(contains("run the scenario again")));
    }
    assert!(!bench.path("results/index.html").exists());
}
