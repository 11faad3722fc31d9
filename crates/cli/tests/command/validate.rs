//! `driftway validate`.

use crate::*;

const STUDY: &str = r#"
title = "Comparison with others"
y = [{ metric = "throughput_bps", label = "throughput" }]

[[figure]]
id = "lossy"
title = "Two lossy hops"
scenario = "s.toml"
set = { "flow.0.application" = "ftp", "duration" = "100 s" }
x = { label = "rate", key = "network.link.rate", values = ["64 kbit/s", "128 kbit/s"] }
[figure.reference]
simulator = "ns-3"
judge = { within = 0.05 }
runs = 3

[[figure]]
id = "theory"
title = "A path with losses"
scenario = "s.toml"
set = { "flow.0.aid" = "none", "flow.0.application" = "ftp" }
[figure.x]
label = "loss"
points = [
  { at = 1, name = "1 %", set = { "network.link.bit_error_rate" = 2.3e-6 }, reference = { loss = 0.01, delay_ms = 80 } },
]
[figure.reference]
formula = "padhye"
judge = "reported"
runs = 2
"#;

/// A directory of cases whose stored numbers are `theirs` times driftway's.
pub fn study_dir(theirs: f64) -> TestDir {
    let bench = TestDir::new();
    bench.file("study.toml", STUDY);
    bench.file("ns2.csv", "case,point,seed,goodput_bps\n");
    bench.file(
        "ns3.csv",
        "case,point,seed,goodput_bps\nlossy,64 kbit/s,1,1\nlossy,128 kbit/s,1,1\n",
    );
    let mut rows = "case,point,seed,goodput_bps\n".to_owned();
    let output = bench
        .driftway(&["validate", "lossy", "--study", "study.toml", "--json"])
        .assert()
        .code(1)
        .get_output()
        .stdout
        .clone();
    let document: Value = serde_json::from_slice(&output).unwrap();
    for point in document["cases"][0]["points"].as_array().unwrap() {
        let ours = point["metrics"]["goodput_bps"]["ours"]["mean"].as_f64().unwrap();
        let name = point["name"].as_str().unwrap();
        for (seed, off) in [(1, 0.99), (2, 1.01)] {
            rows += &format!("lossy,{name},{seed},{}\n", ours * theirs * off);
        }
    }
    bench.file("ns3.csv", &rows);
    bench
}

#[test]
fn agreement_is_reported_in_tables_on_a_page_and_as_json() {
    let bench = study_dir(1.02);
    let text = bench.stdout(&["validate", "--study", "study.toml", "--out", "out"]);
    for part in ["Against ns-3's stored numbers.", "Agrees: each ratio within 5 %.", "2 cases"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(names(&bench.path("out")), ["index.html", "results.json"]);
    let page = fs::read_to_string(bench.path("out/index.html")).unwrap();
    assert!(page.contains("A path with losses") && page.contains("class=\"verdict agrees\""));

    let document = bench.document(&["validate", "--study", "study.toml", "--json", "--jobs", "1"]);
    let point = &document["cases"][0]["points"][0];
    let ratio = point["metrics"]["goodput_bps"]["ratio"]["mean"].as_f64().unwrap();
    assert!((ratio * 1.02 - 1.0).abs() < 1e-9, "{ratio}");
    assert_eq!(document["cases"][0]["agrees"], true);
    let held = &document["formulas"][0]["points"][0];
    assert!(held["ratio"]["mean"].as_f64().unwrap() > 0.1 && held["ratio"]["n"] == 2, "{held}");
}

/// Periodic losses, compared with published values; `value` is that of the first point.
fn published(value: &str, judge: &str) -> String {
    format!(
        r#"
title = "Published"
[[figure]]
id = "period"
title = "One packet of ten"
scenario = "period.toml"
y = [{{ metric = "delivered_packets", over = "sent_packets", label = "delivery ratio" }}]
set = {{ duration = "300 s" }}
x = {{ label = "period", points = [
  {{ at = 10, set = {{ "network.link.loss" = {{ every = 10 }} }}, reference = {{ value = {value} }} }},
  {{ at = 4, set = {{ "network.link.loss" = {{ every = 4 }} }}, reference = {{ value = 0.75 }} }},
] }}
[figure.reference]
source = "A. Author, A title, 1999, Table 1"
judge = {judge}
runs = 1
"#
    )
}

/// One hop without errors, and ten packets a second.
const PERIOD: &str = r#"
name = "a period"
duration = "100 s"
[network]
kind = "path"
hops = 1
link = { rate = "1 Mbit/s", delay = "1 ms" }
[[flow]]
from = 0
to = 1
transport = "udp"
application = { cbr = { every = "100 ms", size = "100 B" } }
"#;

#[test]
fn published_values_have_their_source_and_a_verdict() {
    let bench = TestDir::new();
    bench.file("ns2.csv", "case,point,seed,goodput_bps\n");
    bench.file("ns3.csv", "case,point,seed,goodput_bps\n");
    bench.file("period.toml", PERIOD);
    bench.file("p.toml", &published("0.9", "{ within = 0.02 }"));
    let text = bench.stdout(&["validate", "--study", "p.toml", "--out", "pages"]);
    for part in [
        "Source: A. Author, A title, 1999, Table 1.",
        "published",
        "Agrees: each ratio within 2 %.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = fs::read_to_string(bench.path("pages/index.html")).unwrap();
    assert!(
        page.contains("A. Author, A title, 1999, Table 1") && page.contains("published values")
    );
    let document = bench.document(&["validate", "--study", "p.toml", "--json"]);
    let case = &document["published"][0];
    assert_eq!(case["metric"], "delivered_packets/sent_packets");
    let point = &case["points"][0];
    assert_eq!((&point["published"], &point["measured"]["n"]), (&0.9.into(), &1.into()));
    assert!((point["ratio"]["mean"].as_f64().unwrap() - 1.0).abs() < 0.01, "{point}");
    assert!(point["command"].as_str().unwrap().starts_with("driftway run"), "{point}");

    bench.file("p.toml", &published("0.8", "{ within = 0.02 }"));
    let run = bench.driftway(&["validate", "--study", "p.toml"]).assert().code(1);
    run.stderr(predicates::str::contains("period differs by more than the tolerance"));
    for (value, judge, message) in [
        ("\"much\"", "\"reported\"", "p.toml:10:3: a published value is a number `value`"),
        ("0.9", "\"log-ratio\"", "p.toml:15:9: formulas and published values have no runs"),
    ] {
        bench.file("p.toml", &published(value, judge));
        let run = bench.driftway(&["validate", "--study", "p.toml"]).assert().code(2);
        run.stderr(predicates::str::contains(message));
    }
}

/// One case of the study in the sources, in a second or two.
#[test]
fn a_station_of_the_sources_has_the_published_throughput() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/validation/study.toml");
    let document = TestDir::new().document(&["validate", "jun-2003", "--study", study, "--json"]);
    let case = &document["formulas"][0];
    assert!(case["source"].as_str().unwrap().starts_with("J. Jun, "), "{case}");
    assert_eq!((&case["agrees"], &case["judge"]["within"]), (&true.into(), &0.01.into()));
    assert_eq!(case["points"].as_array().unwrap().len(), 16);
}

#[test]
fn a_difference_is_a_failure() {
    let bench = study_dir(1.1);
    bench
        .driftway(&["validate", "lossy", "--study", "study.toml"])
        .assert()
        .code(1)
        .stdout(predicates::str::contains("Differs: not each ratio within 5 %."))
        .stderr(predicates::str::contains("lossy differs by more than the tolerance"));
}

#[test]
fn a_validation_case_is_a_figure_of_a_study() {
    let bench = study_dir(1.0);
    let text = bench.stdout(&["sweep", "study.toml", "--runs", "2", "--figure", "theory"]);
    assert!(text.contains("A path with losses") && text.contains("1 %"), "{text}");
}

#[test]
fn an_error_in_the_study_has_its_place() {
    let bench = TestDir::new();
    for (right, wrong, message) in [
        (
            "simulator = \"ns-3\"",
            "simulators = \"ns-3\"",
            "study.toml:12:1: unknown key `simulators`",
        ),
        ("simulator = \"ns-3\"", "", "study.toml:13:9: a reference has either"),
        (
            "simulator = \"ns-3\"",
            "simulator = \"ns-2\"",
            "study.toml:12:13: the configuration of ns-2",
        ),
        ("loss = 0.01, ", "", "study.toml:24:3: the formula needs a number `loss`"),
        ("within = 0.05", "within = 5", "study.toml:13:9: out of range 0–1"),
        (
            "[figure.reference]\nformula = \"padhye\"\njudge = \"reported\"\nruns = 2\n",
            "",
            "study.toml:24:89: this figure has no reference",
        ),
    ] {
        bench.file("study.toml", &STUDY.replace(right, wrong));
        let run = bench.driftway(&["validate", "--study", "study.toml"]).assert().code(2);
        let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(said.contains(message), "{message}: {said}");
    }
}
