//! What holding the lab against others tells.

use crate::*;

const CASES: &str = r#"
[[case]]
name = "lossy"
title = "Two lossy hops"
scenario = "s.toml"
axis = "rate"
seeds = 3
against = "ns-3"
judge = { within = 0.05 }
points = [{ name = "64" }, { name = "128" }]
[case.set]
"network.link.rate" = "{name} kbit/s"
"flow.0.application" = "ftp"
"duration" = "100 s"

[[formula]]
name = "theory"
title = "A path with losses"
formula = "padhye"
scenario = "s.toml"
seeds = 2
judge = "told"
points = [{ name = "1 %", loss = "0.01", delay_ms = "80", errors = "2.3e-6" }]
[formula.set]
"network.link.bit_error_rate" = "{errors}"
"flow.0.aid" = "none"
"flow.0.application" = "ftp"
"#;

/// A folder of cases whose stored numbers are `theirs` times our own.
fn bench(theirs: f64) -> Bench {
    let bench = Bench::new();
    bench.file("cases.toml", CASES);
    bench.file("ns2.csv", "case,point,seed,goodput_bps\n");
    bench.file("ns3.csv", "case,point,seed,goodput_bps\nlossy,64,1,1\nlossy,128,1,1\n");
    let mut rows = "case,point,seed,goodput_bps\n".to_owned();
    let output = bench
        .driftway(&["validate", "lossy", "--cases", ".", "--json"])
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
fn what_agrees_is_told_in_tables_on_a_page_and_as_a_document() {
    let bench = bench(1.02);
    let text = bench.stdout(&["validate", "--cases", ".", "--out", "out"]);
    for part in ["Against ns-3's stored numbers.", "Agrees: each ratio within 5 %.", "2 cases"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(names(&bench.path("out")), ["index.html", "results.json"]);
    let page = fs::read_to_string(bench.path("out/index.html")).unwrap();
    assert!(page.contains("A path with losses") && page.contains("class=\"verdict agrees\""));

    let document = bench.document(&["validate", "--cases", ".", "--json", "--jobs", "1"]);
    let point = &document["cases"][0]["points"][0];
    let ratio = point["metrics"]["goodput_bps"]["ratio"]["mean"].as_f64().unwrap();
    assert!((ratio * 1.02 - 1.0).abs() < 1e-9, "{ratio}");
    assert_eq!(document["cases"][0]["agrees"], true);
    let held = &document["formulas"][0]["points"][0];
    assert!(held["ratio"]["mean"].as_f64().unwrap() > 0.1 && held["ratio"]["n"] == 2, "{held}");
}

#[test]
fn what_differs_is_a_failure() {
    let bench = bench(1.1);
    bench
        .driftway(&["validate", "lossy", "--cases", "."])
        .assert()
        .code(1)
        .stdout(predicates::str::contains("Differs: not each ratio within 5 %."))
        .stderr(predicates::str::contains("lossy differs by more than is allowed"));
}

#[test]
fn a_mistake_in_the_cases_has_its_place() {
    let bench = Bench::new();
    bench.file("cases.toml", &CASES.replace("axis = \"rate\"", "axes = \"rate\""));
    bench.file("ns2.csv", "case,point,seed\n");
    bench.file("ns3.csv", "case,point,seed\n");
    let run = bench.driftway(&["validate", "--cases", "."]).assert().code(2);
    run.stderr(predicates::str::contains("cases.toml:6:1: unknown key `axes`"));
}
