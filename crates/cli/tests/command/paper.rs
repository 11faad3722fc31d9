//! `driftway paper`: errors, results and exit status.

use predicates::prelude::*;
use predicates::str::{contains, is_empty};

use crate::*;

/// A paper on two lossy hops, without and with an aid.
pub const PAPER: &str = r#"
title = "Two lossy hops"
authors = ["A. Somebody", "B. <i>Else</i>"]
source = "Some Journal 3(1), 2001"
runs = 10

[quick]
runs = 5
figures = ["8"]
points = "ends"

[[group]]
name = "text"
label = "as the text says"

[[open]]
what = "the window"
tried = ["4 kB", "8 kB"]
run = "8 kB"
because = "nothing is said"
shown_by = "driftway run s.toml --set flow.0.tcp.window='4 kB'"

[[arm]]
name = "tcp"
label = "TCP"
group = "text"
set = { "flow.0.aid" = "none" }

[[arm]]
name = "atcp"
label = "ATCP"
group = "text"
against = "tcp"

[[figure]]
id = "8"
title = "transfer time with bit errors"
scenario = "s.toml"
x = { key = "network.link.bit_error_rate", values = [1e-5, 2e-5, 4e-5], label = "bit error rate" }
y = [
    { metric = "completion_s", label = "transfer time" },
    { metric = "retransmission_ratio", label = "share of retransmissions" },
]

[[figure.paper]]
label = "ATCP, as reported"
arm = "atcp"
points = [[1e-5, 9], [4e-5, 11]]

[[figure.line]]
label = "the bound"
value = 5

[[figure]]
id = "9"
title = "what is sent"
scenario = "s.toml"
y = [{ metric = "timeouts", label = "timeouts" }]
trace = { draw = ["sequence", "cwnd", "rto"], from = "1 s", to = "4 s" }

[[reading]]
name = "text"
label = "as it stands"

[[statement]]
id = "order"
figure = "8"
says = "ATCP is faster"
order = "atcp < tcp at 1e-5"

[[statement]]
id = "slow"
figure = "8"
says = "ATCP takes an hour"
value = { arm = "atcp", x = 1e-5 }
number = "3600 s"
because = "seconds"

[cause.seconds]
text = "it takes seconds"
shown_by = "driftway run s.toml"

[[statement]]
id = "never"
figure = "9"
says = "TCP times out at least once"
value = { arm = "tcp" }
number = 1
bound = "at-least"
ours = true

[[statement]]
id = "bound"
figure = "8"
says = "nothing is faster than 1 s"
value = { arm = "atcp" }
number = "1 s"
bound = "at-least"
capped = "the rate of the link allows no more"
"#;

/// A test directory with the paper in `papers/two`, with `changes`.
pub fn paper_dir(changes: &[(&str, &str)]) -> TestDir {
    let bench = TestDir::new();
    fs::create_dir_all(bench.path("papers/two")).unwrap();
    bench.file("papers/two/s.toml", SCENARIO);
    let mut paper = PAPER.to_owned();
    for (from, to) in changes {
        assert!(paper.contains(from), "{from}");
        paper = paper.replacen(from, to, 1);
    }
    bench.file("papers/two/paper.toml", &paper);
    bench
}

fn json(bench: &TestDir, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.stdout(&[&["paper", "two", "--json"], arguments].concat())).unwrap()
}

/// A reading that changes no run is not counted again, whatever its overrides are.
#[test]
fn a_reading_with_the_same_runs_is_not_counted_again() {
    let reading = "[[reading]]\nname = \"text\"\nlabel = \"as it stands\"";
    let more = "[[reading]]\nname = \"long\"\nlabel = \"a long queue\"\n\
                set = { \"network.link.queue.packets\" = 900 }\n\n\
                [[reading]]\nname = \"slow\"\nlabel = \"a slow link\"\n\
                set = { \"network.link.delay\" = \"90 ms\" }";
    let bench = paper_dir(&[(reading, &format!("{reading}\n\n{more}"))]);
    let document = json(&bench, &[]);
    let same_as = |id: &str| {
        let all = document["statements"].as_array().unwrap();
        all.iter().find(|of| of["id"] == id).unwrap()["same_as"].clone()
    };
    assert_eq!(same_as("8-order-text"), Value::Null);
    assert_eq!(same_as("8-order-long"), "text");
    assert_eq!(same_as("8-order-slow"), Value::Null);
    let counts = document["counts"].as_array().unwrap();
    let repeated: Vec<_> = counts.iter().map(|of| of["repeated"].as_u64().unwrap_or(0)).collect();
    assert_eq!(repeated[0], 0, "{counts:?}");
    assert!(repeated[1] >= 3 && repeated[2] == 0, "{counts:?}");
    assert_eq!(counts[1]["orders"]["agree"], 0, "{counts:?}");
    bench.stdout(&["paper", "two", "--out", "out"]);
    let page = fs::read_to_string(bench.path("out/index.html")).unwrap();
    assert!(page.contains("(runs of text, not counted)"), "the page says so");
}

/// A figure with its own first seed has the results of a study with that seed; other figures do not.
#[test]
fn a_figure_can_have_seeds_of_its_own() {
    let title = "title = \"transfer time with bit errors\"";
    let own = json(&paper_dir(&[(title, &format!("{title}\nfirst_seed = 4"))]), &["--runs", "3"]);
    let all = json(&paper_dir(&[("runs = 10", "runs = 10\nfirst_seed = 4")]), &["--runs", "3"]);
    let none = json(&paper_dir(&[]), &["--runs", "3"]);
    let arms = |document: &Value, figure: usize| document["figures"][figure]["arms"].clone();
    assert_eq!((arms(&own, 0), arms(&own, 2)), (arms(&all, 0), arms(&none, 2)));
    assert_ne!(arms(&own, 0), arms(&none, 0));
    assert_eq!((&own["figures"][0]["first_seed"], &own["seeds"][0]), (&4.into(), &1.into()));
    assert!(none["figures"][0]["first_seed"].is_null());
}

/// A figure with fewer runs has the results of a study with so few; with `--runs`, all have that number.
#[test]
fn a_figure_can_have_fewer_runs() {
    let title = "title = \"transfer time with bit errors\"";
    let fewer = [("runs = 10", "runs = 4"), (title, &format!("{title}\nruns = 3"))];
    let fewer = paper_dir(&fewer);
    let own = json(&fewer, &[]);
    let arms = |document: &Value, figure: usize| document["figures"][figure]["arms"].clone();
    let all = |runs: &str| json(&paper_dir(&[]), &["--runs", runs]);
    assert_eq!((arms(&own, 0), arms(&own, 2)), (arms(&all("3"), 0), arms(&all("4"), 2)));
    assert_eq!(
        (&own["figures"][0]["runs"], own["seeds"].as_array().unwrap().len()),
        (&3.into(), 4)
    );
    assert_eq!(arms(&json(&fewer, &["--runs", "5"]), 0), arms(&all("5"), 0));
    let text = fewer.stdout(&["paper", "two"]);
    assert!(text.contains("(3 runs)"), "{text}");
    fewer.stdout(&["paper", "two", "--out", "page"]);
    let tables = fs::read_to_string(fewer.path("page/runs.csv")).unwrap();
    let rows = |begin: &str| tables.lines().filter(|line| line.starts_with(begin)).count();
    let points = arms(&own, 0)["tcp"].as_array().unwrap().len();
    assert_eq!((rows("8,tcp,"), rows("9,tcp,")), (3 * points, 4));
}

#[test]
fn the_document_has_the_fields_of_the_schema() {
    let document = json(&paper_dir(&[]), &[]);
    for name in ["paper", "version", "seeds", "figures", "statements", "open", "timing"] {
        assert!(!document[name].is_null(), "{name}");
    }
    assert_eq!(document["paper"], "two");
    assert_eq!(document["seeds"], serde_json::json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    let figure = &document["figures"][0];
    assert_eq!((&figure["figure"], &figure["y"]["metric"]), (&"8".into(), &"completion_s".into()));
    assert_eq!(figure["x"]["keys"][0], "network.link.bit_error_rate");
    let points = figure["arms"]["atcp"].as_array().unwrap();
    assert_eq!(
        points.iter().map(|p| p["x"].as_f64().unwrap()).collect::<Vec<_>>(),
        [1e-5, 2e-5, 4e-5]
    );
    for point in points {
        let [mean, low, high] =
            [&point["mean"], &point["ci90"][0], &point["ci90"][1]].map(|v| v.as_f64().unwrap());
        assert!(low < mean && mean < high && point["n"] == 10, "{point}");
    }
    assert_eq!(document["figures"].as_array().unwrap().len(), 3, "one for each metric");
    assert_eq!(figure["differences"][0]["against"], "tcp");
    for statement in document["statements"].as_array().unwrap() {
        for name in ["id", "figure", "says", "kind", "measured", "ci90", "verdict"] {
            assert!(!statement[name].is_null(), "{name}: {statement}");
        }
        let differs = statement["verdict"] == "differs";
        assert_eq!(statement["because"].is_string(), differs, "{statement}");
    }
    let of = |name: &str| {
        let statements = document["statements"].as_array().unwrap().iter();
        statements.map(|s| s[name].as_str().unwrap_or("null").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("id"), ["8-order-text", "8-slow-text", "9-never", "8-bound-text"]);
    assert_eq!(of("kind"), ["shape", "text", "text", "text"]);
    assert_eq!(of("reading"), ["text", "text", "null", "text"]);
    assert_eq!(of("counted"), ["order", "number", "ours", "capped"]);
    assert_eq!(document["statements"][3]["capped"], "the rate of the link allows no more");
    let none = serde_json::json!({ "agree": 0, "differ": 0, "undecided": 0, "not_run": 0 });
    let agrees = serde_json::json!({ "agree": 1, "differ": 0, "undecided": 0, "not_run": 0 });
    let differs = serde_json::json!({ "agree": 0, "differ": 1, "undecided": 0, "not_run": 0 });
    assert_eq!(
        document["counts"],
        serde_json::json!([
            { "reading": "text", "numbers": differs, "orders": agrees, "capped": 1, "ours": none },
            { "reading": null, "numbers": none, "orders": none, "capped": 0, "ours": agrees },
        ])
    );
    // The aid's saving is a paired difference.
    let saved = document["statements"][0]["measured"].as_f64().unwrap();
    let difference = figure["differences"][0]["points"][0]["mean"].as_f64().unwrap();
    assert!((saved + difference).abs() < 1e-9 && saved > 0.0, "{saved} {difference}");
}

#[test]
fn the_document_is_the_same_for_any_number_of_jobs() {
    let bench = paper_dir(&[]);
    let mut documents = ["1", "2", "3"].map(|jobs| json(&bench, &["--jobs", jobs]));
    for document in &mut documents {
        document["timing"].take();
    }
    let [one, two, three] = documents;
    assert!(one == two && two == three);
}

/// The recorded verdicts of the paper, with that of `8-order-text` for all runs and for the quick part.
fn record_verdicts(bench: &TestDir, [all, quick]: [&str; 2]) {
    let rows = format!(
        "statement,all,quick\n8-order-text,{all},{quick}\n8-slow-text,differs,differs\n9-never,agrees,\n"
    );
    bench.file("papers/two/verdicts.csv", &rows);
}

#[test]
fn a_verdict_that_differs_from_the_recorded_one_is_a_failure() {
    let bench = paper_dir(&[]);
    record_verdicts(&bench, ["differs"; 2]);
    let says = contains("verdict that differs from the recorded one: 8-order-text");
    bench.driftway(&["paper", "two"]).assert().code(1).stderr(says.clone());
    bench.driftway(&["paper", "two", "--quick"]).assert().code(1).stderr(says);
    for reduced in [&["--runs", "7"][..], &["--runs", "11"], &["--quick", "--runs", "6"]] {
        let line = [&["paper", "two"], reduced].concat();
        let says = contains("(recorded: differs)").and(contains("no verdicts are recorded"));
        bench.driftway(&line).assert().success().stdout(says).stderr(is_empty());
    }
    // Statements are judged if their figure has all its runs.
    bench.driftway(&["paper", "two", "--figure", "8"]).assert().code(1);
    bench.driftway(&["paper", "two", "--figure", "9"]).assert().success();
}

/// Fewer runs may give other verdicts than all runs; they are recorded as well.
#[test]
fn the_quick_part_has_its_own_verdicts() {
    let bench = paper_dir(&[]);
    record_verdicts(&bench, ["agrees", "undecided"]);
    bench.driftway(&["paper", "two"]).assert().success();
    let says = contains("differs from the recorded one: 8-order-text");
    bench.driftway(&["paper", "two", "--quick"]).assert().code(1).stderr(says);
}

/// `--record` writes the verdicts of all runs and of the quick part; then both are as recorded.
#[test]
fn verdicts_are_recorded() {
    let bench = paper_dir(&[]);
    bench.driftway(&["paper", "two", "--record"]).assert().success();
    let recorded = fs::read_to_string(bench.path("papers/two/verdicts.csv")).unwrap();
    let rows: Vec<&str> = recorded.lines().collect();
    assert_eq!(rows[..2], ["statement,all,quick", "8-order-text,agrees,agrees"], "{recorded}");
    assert_eq!(rows[2..], ["8-slow-text,differs,differs", "9-never,agrees,"], "{recorded}");
    for part in [&[][..], &["--quick"]] {
        let text = bench.stdout(&[&["paper", "two"], part].concat());
        assert!(text.contains("every verdict is as"), "{text}");
    }
    // A statement that was added since then has none.
    let file = bench.path("papers/two/verdicts.csv");
    fs::write(file, recorded.replace("8-slow-text,differs,differs\n", "")).unwrap();
    let says = contains("8-slow-text").and(contains("no recorded verdict"));
    bench.driftway(&["paper", "two"]).assert().code(1).stderr(says);
}

/// Readings are patches of the arms that they can be applied to.
#[test]
fn readings_patch_the_arms() {
    let reading = "[[reading]]\nname = \"all\"\nlabel = \"all at once\"\n\
                   set = { \"flow.0.aid.resend\" = \"all\" }\n\n[[statement]]";
    let bench = paper_dir(&[("[[statement]]", reading)]);
    let document = json(&bench, &["--figure", "8", "--runs", "3"]);
    let arms = document["figures"][0]["arms"].as_object().unwrap();
    let names: Vec<_> = arms.keys().map(String::as_str).collect();
    // TCP alone has no such key.
    assert_eq!(names, ["atcp", "atcp-all", "tcp"]);
    assert_ne!(arms["atcp"], arms["atcp-all"]);
    let ids: Vec<_> =
        document["statements"].as_array().unwrap().iter().map(|of| of["id"].clone()).collect();
    let both = ["8-order-text", "8-order-all", "8-slow-text", "8-slow-all"];
    assert_eq!(ids[..4], both, "{ids:?}");
    let wrong = reading.replace("resend", "resned");
    let bench = paper_dir(&[("[[statement]]", &wrong)]);
    let says = contains("`flow.0.aid.resned` applies to no arm: ").and(contains("resned"));
    bench.driftway(&["paper", "two"]).assert().code(2).stderr(says);
}

/// "Up to": the number is compared with the point of the highest ratio, or the lowest.
#[test]
fn a_ratio_may_be_judged_where_it_is_highest() {
    for peak in ["highest", "lowest"] {
        let ratio = format!("ratio = {{ arm = 'tcp', to = 'atcp', peak = '{peak}' }}");
        let number = ("number = \"3600 s\"", "number = 9");
        let bench =
            paper_dir(&[("value = { arm = \"atcp\", x = 1e-5 }\nnumber", "VALUE\nnumber"), number]);
        let file = bench.path("papers/two/paper.toml");
        let text = fs::read_to_string(&file).unwrap().replace("VALUE", &ratio);
        fs::write(&file, text).unwrap();
        let document = json(&bench, &["--figure", "8"]);
        let arms = &document["figures"][0]["arms"];
        let means = |arm: &str| {
            let points = arms[arm].as_array().unwrap().iter();
            points.map(|point| point["mean"].as_f64().unwrap()).collect::<Vec<_>>()
        };
        let ratios: Vec<_> = means("tcp").iter().zip(means("atcp")).map(|(a, b)| a / b).collect();
        let ends = ratios.iter().fold([f64::MAX, 0.0], |[a, b], r| [r.min(a), r.max(b)]);
        let statement = &document["statements"][1];
        let measured = statement["measured"].as_f64().unwrap();
        assert!(
            (measured - ends[usize::from(peak == "highest")]).abs() < 1e-9,
            "{ratios:?} {statement}"
        );
        assert!(ends[0] < ends[1]);
    }
}

#[test]
fn statements_without_runs_are_reported_as_not_run() {
    let bench = paper_dir(&[]);
    let document = json(&bench, &["--quick"]);
    assert_eq!(
        (&document["seeds"], &document["reduced"]),
        (&serde_json::json!([1, 2, 3, 4, 5]), &true.into())
    );
    assert_eq!(document["figures"][0]["arms"]["tcp"].as_array().unwrap().len(), 2, "its ends");
    let never = &document["statements"][2];
    assert!(never["verdict"].is_null() && never["measured"].is_null());
    assert_eq!(never["notes"][0], "figure 9 was not run");
    // One run has no interval, and so no verdict.
    let document = json(&bench, &["--runs", "1", "--figure", "8"]);
    assert!(document["statements"][0]["verdict"].is_null());
    let text = bench.stdout(&["paper", "two", "--figure", "9"]);
    assert!(text.contains("4 statements: 1 agree, 0 differ, 0 undecided, 3 not run"), "{text}");
}

#[test]
fn the_text_has_measured_and_reported_values() {
    let text = paper_dir(&[]).stdout(&["paper", "two"]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for part in [
        "Figure 8: transfer time with bit errors",
        "  ATCP, as reported",
        "the bound: 5 s",
        "agrees     8-order-text: ATCP is faster; measured +",
        "differs    8-slow-text: ATCP takes an hour; paper 3600 s; measured",
        "           cause: it takes seconds",
        "           driftway run s.toml",
        "no verdicts were recorded before",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_page_and_the_results_are_written() {
    let bench = paper_dir(&[]);
    bench.stdout(&["paper", "two", "--out", "out"]);
    let traces = ["trace-figure-9-atcp-seed-1.csv", "trace-figure-9-tcp-seed-1.csv"];
    let files = [
        "flows.csv",
        "flows.parquet",
        "index.html",
        "paper.toml",
        "results.json",
        "runs.csv",
        "runs.parquet",
        "s.toml",
    ];
    assert_eq!(names(&bench.path("out")), [&files[..], &traces].concat());
    let page = fs::read_to_string(bench.path("out/index.html")).unwrap();
    let own = page.split("plotly.js (basic").next().unwrap();
    for part in [
        "Figure 8: transfer time with bit errors",
        "Sequence number, seed 1",
        "Retransmission timeout, seed 1",
        "\"name\":\"ATCP, as reported\"",
        "\"name\":\"the bound: 5 s\"",
        "transfer time (s)",
        "Paired differences",
        "ATCP takes an hour",
        "<p>it takes seconds</p>",
        "Open choices",
        "driftway paper two",
        "prefers-color-scheme: dark",
        "B. &#60;i&#62;Else",
    ] {
        assert!(own.contains(part), "{part}");
    }
    for asks in ["src=\"http", "src='http", "<link", "@import", "<iframe", "<i>Else"] {
        assert!(!own.contains(asks), "{asks}");
    }
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(bench.path("out/results.json")).unwrap()).unwrap();
    let mut again = json(&bench, &[]);
    again["timing"] = kept["timing"].clone();
    assert_eq!(kept, again);
    // The output directory is a paper that can be run.
    bench.driftway(&["paper", "out", "--figure", "8"]).assert().success();
}

#[test]
fn each_scenario_and_seed_runs_once() {
    // A second figure with the same points and other metrics.
    let again = PAPER.split("[[figure]]").nth(1).unwrap().replace("id = \"8\"", "id = \"8b\"");
    let bench = paper_dir(&[("[[statement]]", &format!("[[figure]]{again}\n[[statement]]"))]);
    let document = json(&bench, &[]);
    // 2 arms × 3 points (that of figure 9 is the middle one) × 10 runs, and 2 traces.
    assert_eq!(document["timing"]["runs"], 2 * 3 * 10 + 2);
    assert_eq!(document["figures"][0]["arms"], document["figures"][3]["arms"]);
}

/// A transfer that does not complete counts with the time that it had, and is reported.
#[test]
fn incomplete_transfers_are_not_left_out() {
    let bench = paper_dir(&[("runs = 10", "runs = 2")]);
    bench.file("papers/two/s.toml", &SCENARIO.replace("600 s", "6 s"));
    let line = ["paper", "two", "--figure", "8", "--runs", "3", "--json"];
    let output = bench.driftway(&line).assert().success().get_output().stdout.clone();
    let document: Value = serde_json::from_slice(&output).unwrap();
    let point = &document["figures"][0]["arms"]["tcp"][2];
    assert_eq!((&point["incomplete"], &point["mean"]), (&3.into(), &6.0.into()));
    // The true mean may be as long as the statement says.
    let slow = &document["statements"][1];
    assert_eq!(slow["verdict"], "undecided");
    let text = bench.stdout(&line[..6]);
    assert!(text.contains("≥ 6 ±\u{a0}0") && text.contains("did not complete"), "{text}");
}

/// `from` is replaced with `to`, and the error is at the text `at`.
#[test]
fn an_error_in_a_paper_is_reported_with_its_place() {
    let aid = "\"flow.0.aid\" = \"none\"";
    for (from, to, at, message) in [
        ("runs = 10", "rnus = 10", "rnus", "unknown key `rnus`\nhelp: did you mean `runs`?"),
        ("runs = 10", "runs = 1", "1\n\n[quick", "1 runs out of range 2–10000"),
        (
            "group = \"text\"",
            "group = \"txt\"",
            "\"txt",
            "no group `txt`\nhelp: did you mean `text`?",
        ),
        (
            "against = \"tcp\"",
            "against = \"tpc\"",
            "\"tpc",
            "no arm `tpc`\nhelp: did you mean `tcp`?",
        ),
        ("completion_s", "completion", "\"completion\"", "did you mean `completion_s`?"),
        ("arm = \"atcp\"", "arm = \"tahoe\"", "\"tahoe", "no arm in this figure `tahoe`"),
        ("[[1e-5, 9]", "[['10 ms', 9]", "['10", "`10 ms` is not a position on this axis"),
        ("x = { key", "x = { points = [{ at = 1, set = {} }], key", "{ points", "invalid axis"),
        (aid, "\"flow.0.aid\" = \"nune\"", "\"nune", "flow.0.aid: unknown value `nune`"),
        (aid, "\"flow.7.aid\" = \"none\"", "\"none", "no element `7`"),
        ("4e-5], label", "'soon'], label", "'soon", "`soon` is not a quantity"),
        ("4e-5], label", "2e-5], label", "2e-5], l", "duplicate value"),
        (
            "4e-5], label",
            "2], label",
            "2], l",
            "network.link.bit_error_rate: 2 is not a probability",
        ),
        ("\"s.toml\"", "\"t.toml\"", "\"t.toml", "t.toml"),
        ("\"s.toml\"", "\"../s.toml\"", "\"../", "directory of its paper.toml"),
        ("id = \"8\"\n", "id = \"8\"\nruns = 11\n", "11\n", "11 runs out of range 2–10"),
        ("id = \"9\"", "id = \"8\"", "\"8\"\ntitle = \"what", "duplicate name"),
        ("from = \"1 s\"", "from = 1", "1, to", "expected a time such as"),
        (
            "name = \"text\"\nlabel = \"as it",
            "name = \"\"\nlabel = \"as it",
            "\"\"\nlab",
            "is empty",
        ),
        ("ours = true", "readings = [\"txt\"]", "\"txt", "no reading `txt`"),
        ("at 1e-5\"", "at 3e-5\"", "\"atcp < tcp at", "the points are 0.00001, 0.00002"),
        ("3600 s", "3600 B", "\"3600 B", "not in the unit of completion_s"),
        ("number = \"3600 s\"\n", "", "{ arm = \"atcp\", x", "the paper's number"),
        ("\"it takes seconds\"", "\" \"", "\" \"\nshown", "a cause needs a text"),
        ("because = \"seconds\"", "because = \"second\"", "\"second\"", "did you mean `seconds`?"),
        (
            "order = ",
            "trend = { arm = 'tcp', goes = 'up' }\norder = ",
            "{ arm = 'tcp",
            "exactly one predicate",
        ),
        ("figure = \"9\"", "figure = \"10\"", "\"10\"", "there is no figure `10`"),
    ] {
        let text = PAPER.replacen(from, to, 1);
        let before = text.split(at).next().unwrap();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        let place = format!("papers/two/paper.toml:{line}:{column}: ");
        paper_dir(&[(from, to)])
            .driftway(&["paper", "two"])
            .assert()
            .code(2)
            .stdout(is_empty())
            .stderr(contains(place).and(contains(message)));
    }
}

/// Without groups the arms of the file are those of the first reading, and have no other title.
#[test]
fn groups_are_optional() {
    let group = "[[group]]\nname = \"text\"\nlabel = \"as the text says\"\n";
    let bench = paper_dir(&[
        (group, ""),
        ("group = \"text\"\nset", "set"),
        ("group = \"text\"\nagainst", "against"),
        (
            "label = \"as it stands\"\n",
            "label = \"as it stands\"\n\n[[reading]]\nname = \"large\"\nlabel = \"more\"\nset = { \"network.hops\" = 3 }\n",
        ),
    ]);
    let text = bench.stdout(&["paper", "two", "--runs", "2", "--figure", "8"]);
    let titles: Vec<&str> =
        text.lines().map(str::trim).filter(|line| line.ends_with(':')).collect();
    assert!(titles.starts_with(&["text:", "large:"]), "{titles:?}");
    assert!(!titles.contains(&":"), "{titles:?}");
}

#[test]
fn an_error_in_the_command_line_is_reported() {
    let bench = paper_dir(&[]);
    for (line, message) in [
        (&["paper", "tow"][..], "there is no paper `tow`\nhelp: did you mean `two`?"),
        (&["paper", "liu-sing-2001"], "did you mean `liu-singh-2001`?"),
        (&["paper", "two", "--figure", "7"], "two has no such figure\nhelp: available: 8, 9"),
        (&["paper", "two", "--runs", "0"], "at least 1"),
        (&["paper", "two", "--out", "s.toml"], "that is a file, not a directory"),
        (&["paper"], "list | NAME"),
    ] {
        bench.driftway(line).assert().code(2).stdout(is_empty()).stderr(contains(message));
    }
}

#[test]
fn papers_are_listed_although_one_is_invalid() {
    let bench = paper_dir(&[]);
    let text = bench.stdout(&["paper", "list"]);
    assert!(
        text.contains("two\n  Two lossy hops\n  figures 8, 9; 4 statements; 60 runs"),
        "{text}"
    );
    assert!(text.contains("liu-singh-2001\n"), "built-in papers: {text}");
    fs::create_dir(bench.path("papers/broken")).unwrap();
    bench.file("papers/broken/paper.toml", "title = 1");
    let assert = bench.driftway(&["paper", "list"]).assert().code(2);
    assert.stdout(contains("Two lossy hops")).stderr(contains("papers/broken/paper.toml:1:9"));
}

/// A built-in paper: every file is valid, and a reduced figure runs.
#[test]
fn a_built_in_paper_runs_reduced() {
    let bench = TestDir::new();
    let line = ["paper", "liu-singh-2001", "--quick", "--figure", "8", "--runs", "2", "--json"];
    let document: Value = serde_json::from_str(&bench.stdout(&line)).unwrap();
    let (tcp, atcp) =
        (&document["figures"][0]["arms"]["tcp"], &document["figures"][0]["arms"]["atcp"]);
    for point in 0..2 {
        let mean = |arm: &Value| arm[point]["mean"].as_f64().unwrap();
        assert!(mean(atcp) < mean(tcp));
    }
}

#[test]
fn figures_that_a_kernel_cannot_run_are_errors_before_any_run() {
    let bench = paper_dir(&[]);
    for (arguments, says) in [
        (&["--kernel"][..], "has no table [kernel]"),
        (&["--transfer", "4 kB"], "--kernel"),
        (&["--congestion-control", "reno"], "--kernel"),
    ] {
        let arguments = [&["paper", "two"], arguments].concat();
        bench.driftway(&arguments).assert().code(2).stderr(contains(says)).stdout(is_empty());
    }
    let table = |figures: &str, twins: &str| {
        format!(
            "[kernel]\nfigures = [{figures}]\narms = []\ntwins = [{twins}]\nruns = 5\n\
             quick = {{ runs = 3, transfer = \"4 kB\" }}\n\n[[group]]"
        )
    };
    for (figures, twins, says) in [
        ("\"8\"", "\"tpc\"", "did you mean `tcp`?"),
        ("\"7\"", "\"tcp\"", "there is no figure `7`"),
        ("\"9\"", "\"tcp\"", "figure 9 measures neither `completion_s` nor `throughput_bps`"),
        ("\"8\"", "", "an arm is needed"),
    ] {
        let bench = self::paper_dir(&[("[[group]]", &table(figures, twins))]);
        let arguments = ["paper", "two", "--kernel"];
        bench.driftway(&arguments).assert().code(2).stderr(contains(says)).stdout(is_empty());
    }
}

/// `check` reads papers and studies, and prints their schemas.
#[test]
fn check_reads_papers_and_studies() {
    let bench = paper_dir(&[]);
    let text = bench.stdout(&["check", "papers/two", "s.toml", "paper:two"]);
    let paper =
        "ok: Two lossy hops: a paper with 2 figures, 2 arms, 1 reading, 4 statements and 60 runs";
    assert_eq!(text.matches(paper).count(), 2, "{text}");
    let study = "title = \"Delays\"\nscenario = \"s.toml\"\nruns = 3\n\
                 x = { key = \"network.link.delay\", values = [\"1 ms\", \"2 ms\"], label = \"delay\" }\n\
                 y = [{ metric = \"throughput_bps\", label = \"throughput\" }]\n";
    bench.file("delays.toml", study);
    let text = bench.stdout(&["check", "delays.toml"]);
    assert!(text.contains("ok: Delays: a study with 1 figure, 1 arm and 6 runs"), "{text}");
    bench.file("wrong.toml", &study.replace("throughput_bps", "thruput_bps"));
    let says = contains("wrong.toml:5:").and(contains("did you mean `throughput_bps`?"));
    bench.driftway(&["check", "wrong.toml"]).assert().code(2).stderr(says);
    let says = contains("this is a study");
    bench.driftway(&["check", "delays.toml", "--show"]).assert().code(2).stderr(says);
    for (kind, key) in [("scenario", "network"), ("study", "figure"), ("paper", "statement")] {
        let schema = bench.stdout(&["check", &format!("--schema={kind}")]);
        let schema: Value = serde_json::from_str(&schema).unwrap();
        assert!(schema["properties"][key].is_object(), "{kind}");
    }
}

/// Arms come from products, too, and are sorted by group: an error has the place of its own table.
#[test]
fn an_error_in_an_arm_is_at_its_own_table() {
    let product = "[[product]]\ngroup = \"text\"\nfactors = [{ name = \"tcp\", levels = [{ name = \"sack\" }] }]\n\n";
    let both = |more: &str| format!("{product}{more}");
    let first = "[[arm]]\nname = \"tcp\"";
    for (from, to, message) in [
        (first, both("[[arm]]\nname = \"atcp\""), "duplicate name"),
        ("against = \"tcp\"", "against = \"tpc\"".to_owned(), "no arm `tpc`"),
        ("\"flow.0.aid\" = \"none\"", "\"flow.0.aid\" = \"nune\"".to_owned(), "`nune`"),
    ] {
        let text = PAPER.replacen(first, &both(first), usize::from(from != first));
        let text = text.replacen(from, &to, 1);
        let bench = paper_dir(&[]);
        bench.file("papers/two/paper.toml", &text);
        let output = bench.driftway(&["paper", "two"]).assert().code(2).get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let line: usize = stderr.split(':').nth(2).unwrap().parse().unwrap();
        let at = text.lines().nth(line - 1).unwrap();
        let place = if from == first { "name = \"atcp\"" } else { &to };
        assert!(stderr.contains(message) && at.contains(place), "{stderr}: {at}");
    }
}
