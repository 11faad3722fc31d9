//! Everything that the command writes is in `docs/results.md`.

#[path = "../../src/results_reference/committed.rs"]
mod committed;

use std::path::PathBuf;

use committed::Committed;

use crate::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn reference() -> Committed {
    Committed::read(&root().join("docs/results.md"))
}

fn assert_fields(anchor: &str, document: &Value) {
    let missing = reference().undocumented_fields(anchor, document);
    assert!(missing.is_empty(), "docs/results.md lacks {missing:?}: `make reference` updates it");
}

fn cells<'a>(reference: &'a Committed, anchor: &str) -> Vec<&'a str> {
    assert!(reference.has_section(anchor), "{anchor}");
    let first = reference.rows(anchor).iter().filter_map(|row| row.first());
    first.map(|name| name.trim_matches('`')).collect()
}

/// Asserts that the section with this anchor has the columns of a file; with `varied`, those of keys
/// are between `x` and `seed`.
fn assert_columns(bench: &TestDir, file: &str, anchor: &str, varied: bool) {
    let reference = reference();
    let known = cells(&reference, anchor);
    let mut header = csv::Reader::from_path(bench.path(file)).unwrap();
    let header: Vec<String> = header.headers().unwrap().iter().map(str::to_owned).collect();
    assert!(!header.is_empty(), "{file}");
    let place = |name: &str| header.iter().position(|column| column == name);
    for (index, column) in header.iter().enumerate() {
        let is_key = varied && place("x") < Some(index) && Some(index) < place("seed");
        assert!(is_key || known.contains(&column.as_str()), "{file}: no {column} in #{anchor}");
    }
}

/// Asserts that every event of a log is documented, with its reason and columns.
fn assert_events(bench: &TestDir, file: &str, layers: &mut Vec<String>) {
    let reference = reference();
    let reasons = cells(&reference, "reasons-of-dropped-packets");
    let states = cells(&reference, "states-of-the-aids");
    let kinds = reference.rows("event-log").iter().find(|row| row[0] == "`kind`").unwrap();
    let mut log = csv::Reader::from_path(bench.path(file)).unwrap();
    let header = log.headers().unwrap().clone();
    for row in log.records() {
        let row = row.unwrap();
        let cell = |name: &str| header.iter().position(|column| column == name).unwrap();
        let [layer, event, reason] = ["layer", "event", "reason"].map(|name| &row[cell(name)]);
        let anchor = format!("events-of-the-layer-{layer}");
        let event = format!("`{event}`");
        let known = reference.rows(&anchor).iter().find(|known| known[0] == event);
        let known = known.unwrap_or_else(|| panic!("{file}: {layer} {event}"));
        let (columns, words) = (&known[1], &known[2]);
        let is_known = if words.contains("#reasons-of-dropped-packets") {
            reasons.contains(&reason)
        } else if words.contains("#states-of-the-aids") {
            states.contains(&reason)
        } else {
            let of_kind = words.starts_with("the kind of fault") && !reason.is_empty();
            let named = if reason.is_empty() { "empty:".to_owned() } else { format!("`{reason}`") };
            of_kind || words.contains(&named) || words.is_empty() && reason.is_empty()
        };
        assert!(is_known, "{file}: {layer} {event} {reason:?}");
        let kind = &row[cell("kind")];
        assert!(kind.is_empty() || kinds[2].contains(&format!("`{kind}`")), "{file}: {kind}");
        for (name, value) in header.iter().zip(&row) {
            let common = ["time_s", "node", "layer", "event", "reason"].contains(&name);
            let listed = columns.contains(&format!("`{name}`"));
            assert!(value.is_empty() || common || listed, "{file}: {layer} {event} has {name}");
        }
        layers.push(layer.to_owned());
    }
}

#[test]
fn results_of_runs_are_documented() {
    let bench = TestDir::new();
    let mut layers = Vec::new();
    for (scenario, duration) in [
        ("partition", "400 s"),
        ("carry", "60 s"),
        ("route-failure", "60 s"),
        ("both-ways", "60 s"),
        ("adhoc-aodv", "40 s"),
        ("adhoc-dsr", "40 s"),
        ("adhoc-cbr", "40 s"),
        ("adhoc-elfn", "40 s"),
        ("adhoc-epln", "40 s"),
        ("adhoc-tdma", "20 s"),
    ] {
        let file = root().join(format!("scenarios/{scenario}.toml"));
        let duration = format!("duration={duration}");
        let file = file.to_str().unwrap();
        let run = ["run", file, "--set", &duration, "--out", scenario, "--events", "--json"];
        assert_fields("driftway-run", &bench.document(&run));
        let name = |name: &str| format!("{scenario}/{name}");
        // UDP has no trace.
        if bench.path(&name("trace-seed-1-flow-0.csv")).exists() {
            assert_columns(&bench, &name("trace-seed-1-flow-0.csv"), "trace-of-a-flow", false);
        }
        assert_columns(&bench, &name("trace-seed-1-network.csv"), "trace-of-a-network", false);
        if bench.path(&name("samples-seed-1-links.csv")).exists() {
            assert_columns(&bench, &name("samples-seed-1-links.csv"), "samples-of-links", false);
        }
        assert_columns(&bench, &name("samples-seed-1-flows.csv"), "samples-of-flows", false);
        assert_columns(&bench, &name("events-seed-1.csv"), "event-log", false);
        assert_events(&bench, &name("events-seed-1.csv"), &mut layers);
    }
    layers.sort();
    layers.dedup();
    assert_eq!(
        layers,
        ["aid", "air", "fault", "link", "mobility", "queue", "routing", "tcp", "udp"]
    );
}

#[test]
fn results_of_a_sweep_are_documented() {
    let bench = TestDir::new();
    let adhoc = root().join("scenarios/adhoc-aodv.toml");
    for (file, vary, out) in [
        ("s.toml", "flow.0.tcp.window=4kB,8kB", "path"),
        (adhoc.to_str().unwrap(), "duration=20s,30s", "adhoc"),
    ] {
        let sweep = ["sweep", file, "--vary", vary, "--runs", "2", "--step", "5 s", "--out", out];
        let document = bench.document(&[&sweep[..], &["--json"]].concat());
        assert_fields("driftway-sweep-and-driftway-paper", &document);
        for table in ["runs", "flows", "steps"] {
            assert_columns(&bench, &format!("{out}/{table}.csv"), &format!("{table}csv"), true);
        }
    }
}

#[test]
fn results_of_a_paper_are_documented() {
    let bench = paper::paper_dir(&[]);
    let document = bench.document(&["paper", "two", "--json", "--out", "o"]);
    assert_fields("driftway-sweep-and-driftway-paper", &document);
    for table in ["runs", "flows"] {
        assert_columns(&bench, &format!("o/{table}.csv"), &format!("{table}csv"), true);
    }
    let traces = names(&bench.path("o")).into_iter().filter(|name| name.starts_with("trace-"));
    let traces: Vec<String> = traces.collect();
    assert!(!traces.is_empty());
    for trace in traces {
        assert_columns(&bench, &format!("o/{trace}"), "trace-of-a-flow", false);
    }
    bench.stdout(&["paper", "two", "--record"]);
    let recorded = "papers/two/results.csv";
    assert_columns(&bench, recorded, "recorded-results-of-a-paper", false);
    assert_fields("driftway-paper-list", &bench.document(&["paper", "list", "--json"]));
}

#[test]
fn results_of_a_validation_are_documented() {
    let bench = validate::study_dir(1.0);
    let document = bench.document(&["validate", "--study", "study.toml", "--json"]);
    assert_fields("driftway-validate", &document);
}

#[test]
fn results_of_a_comparison_are_documented() {
    let bench = TestDir::new();
    let document = bench.document(&["compare", "s.toml", "--quick", "--json"]);
    assert_fields("driftway-compare", &document);
}

#[test]
fn a_field_that_lacks_is_found() {
    let reference = reference();
    let wrong = serde_json::json!({ "runs": [{ "flows": [{ "mood": 1 }] }], "summary": null });
    let missing = reference.undocumented_fields("driftway-run", &wrong);
    assert_eq!(missing, ["driftway-run: runs[].flows[].mood"]);
    let wrong = serde_json::json!({ "summary": { "drops": { "red": { "median": 1 } } } });
    let missing = reference.undocumented_fields("driftway-run", &wrong);
    assert_eq!(missing, ["estimate: median"]);
    let wrong = serde_json::json!({ "runs": [{ "drops": { "red": 1, "green": 1 } }] });
    let missing = reference.undocumented_fields("driftway-run", &wrong);
    assert_eq!(missing, ["reasons-of-dropped-packets: green"]);
}
