//! `driftway report`.

use crate::*;

#[test]
fn results_are_complete_and_the_page_is_self_contained() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--runs", "3", "--out", "results"]);
    let files = [
        "results.json",
        "samples-seed-1-flows.csv",
        "samples-seed-1-links.csv",
        "scenario.toml",
        "trace-seed-1-flow-0.csv",
        "trace-seed-1-network.csv",
    ];
    assert_eq!(names(&bench.path("results")), files);
    let trace = fs::read_to_string(bench.path("results/trace-seed-1-flow-0.csv")).unwrap();
    assert!(trace.starts_with("time_s,event,offset_bytes,"), "{}", &trace[..100]);
    assert!(trace.contains(",delivered,40000,"));

    let text = bench.stdout(&["report", "results"]);
    assert!(text.contains("Two lossy hops") && text.contains("results/index.html"), "{text}");
    let page = fs::read_to_string(bench.path("results/index.html")).unwrap();
    assert!(page.contains("Time–sequence") && page.contains("Congestion window"));
    for curve in ["capacity, hop", "throughput, 0", "round trip, 0", "queue, hop", "cwnd, 0"] {
        assert!(page.contains(curve), "{curve}");
    }
    assert_eq!(page.matches("plotly.js (basic").count(), 1);
    for asks in ["src=\"http", "src='http", "<link", "@import", "<iframe"] {
        let own = page.split("plotly.js (basic").next().unwrap();
        assert!(!own.contains(asks), "{asks}");
    }
    assert!(page.contains("default-src 'none'"));

    bench.stdout(&["run", "s.toml", "--runs", "2", "--out", "results", "--trace"]);
    let traces = names(&bench.path("results")).into_iter().filter(|name| name.ends_with(".csv"));
    assert_eq!(traces.count(), 8);
}

#[test]
fn a_set_is_plotted_against_the_varying_key_with_reported_points() {
    let bench = TestDir::new();
    for aid in ["none", "atcp"] {
        for rate in ["1e-5", "2e-5", "4e-5"] {
            let out = format!("set/{aid}-{rate}");
            let aid = format!("flow.0.aid={aid}");
            let rate = format!("network.link.bit_error_rate={rate}");
            let run =
                ["run", "s.toml", "--runs", "3", "--out", &out, "--set", &aid, "--set", &rate];
            bench.stdout(&run);
        }
    }
    let text = bench.stdout(&["report", "set"]);
    assert!(
        text.starts_with("Two lossy hops\n6 scenarios, 18 runs against bit error rate\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = fs::read_to_string(bench.path("set/index.html")).unwrap();
    let reported = "\"name\":\"somebody-2001, figure 8: ATCP\"";
    assert_eq!(page.matches(reported).count(), 1);
    assert!(page.find("Completion time against").unwrap() < page.find("<h2>Results").unwrap());
    // Throughput is left out, because all transfers complete.
    assert!(!text.contains("throughput") && !page.contains("Throughput against"), "{text}");
    assert!(page.contains("no aid, bit error rate 2e-5, seed 1"));
}

#[test]
fn a_table_has_no_empty_or_redundant_columns() {
    let bench = TestDir::new();
    let table = |set: &str, changed: &str| {
        for hops in ["1", "2"] {
            let (out, to) = (format!("{set}/{hops}"), format!("flow.0.to={hops}"));
            let hops = format!("network.hops={hops}");
            let run = ["run", "s.toml", "--out", &out, "--set", &hops, "--set", &to];
            bench.stdout(&[&run[..], &["--set", changed]].concat());
        }
        let text = bench.stdout(&["report", set]);
        text.lines().find(|line| line.starts_with(" arm")).unwrap().to_owned()
    };
    let header = table("late", "duration=5 s");
    for (says, column) in
        [(true, "throughput"), (true, "complete"), (false, "completion"), (true, "retransmitted")]
    {
        assert_eq!(header.contains(column), says, "{header}");
    }
    let header = table("endless", "flow.0.application=ftp");
    for (says, column) in [(true, "throughput"), (false, "comple"), (true, "timeouts")] {
        assert_eq!(header.contains(column), says, "{header}");
    }
}

#[test]
fn the_title_of_a_set_is_common_to_its_scenarios() {
    let bench = TestDir::new();
    for name in ["figure 8, TCP", "figure 8, ATCP"] {
        let changed = format!("name={name}");
        bench.stdout(&["run", "s.toml", "--out", &format!("set/{name}"), "--set", &changed]);
    }
    assert!(bench.stdout(&["report", "set"]).starts_with("Figure 8\n"));
    let page = fs::read_to_string(bench.path("set/index.html")).unwrap();
    assert!(page.contains("<h1>Figure 8</h1>"));
    bench.stdout(&["run", "s.toml", "--out", "set/c", "--set", "name=another"]);
    assert!(bench.stdout(&["report", "set"]).starts_with("Set\n"));
}

#[test]
fn arms_are_named_by_their_protocols_and_the_title_by_none() {
    let bench = TestDir::new();
    let chain = captures::CHAIN.replacen("name = \"", "name = \"AODV, ", 1);
    bench.file("chain.toml", &chain);
    for protocol in ["aodv", "dsr"] {
        for window in ["4", "8"] {
            let out = format!("set/{protocol}-{window}");
            let protocol = format!("network.routing.protocol={protocol}");
            let window = format!("flow.0.tcp.window={window}");
            let changes = ["--set", &protocol, "--set", &window];
            bench.stdout(&[&["run", "chain.toml", "--out", &out][..], &changes].concat());
        }
    }
    let text = bench.stdout(&["report", "set"]);
    assert!(!text.contains("AODV,") && text.contains("against window\n"), "{text}");
    assert!(!text.contains("also differ"), "{text}");
    let cells = |line: &str| {
        line.split("  ")
            .filter(|c| !c.is_empty())
            .map(|c| c.trim().to_owned())
            .take(2)
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with(' ')).map(cells).collect();
    assert_eq!(
        rows,
        [["arm", "window (segments)"], ["AODV", "4"], ["AODV", "8"], ["DSR", "4"], ["DSR", "8"]],
        "{text}"
    );
    let page = fs::read_to_string(bench.path("set/index.html")).unwrap();
    let own = page.split("plotly.js (basic").next().unwrap();
    assert!(own.contains("against window</h3>"));
    for says in ["<h3>AODV, window 4 segments</h3>", "<h3>DSR, window 8 segments</h3>"] {
        assert!(own.contains(says), "{says}");
    }
    // The scenario's name has AODV; for DSR only the whole file shows it.
    let dsr = own.split("<h3>DSR, window 4 segments</h3>").nth(1).unwrap();
    assert!(!dsr.split("<details>").next().unwrap().contains("AODV"), "{dsr}");
}

#[test]
fn many_flows_are_first_aggregated() {
    let bench = TestDir::new();
    for hops in ["1", "2"] {
        let (to, out) = (format!("flow.0.to={hops}"), format!("set/{hops}"));
        let hops = format!("network.hops={hops}");
        let run = ["run", "s.toml", "--runs", "3", "--set", "flow.0.copies=6", "--set", &hops];
        let text = bench.stdout(&[&run[..], &["--set", &to, "--out", &out]].concat());
        let sum = text.find("6 flows together").unwrap();
        let each: Vec<_> = text.match_indices("\n 0 → ").map(|(at, _)| at).collect();
        assert_eq!(each.len(), 6, "{text}");
        assert!(sum < each[0], "{text}");
        assert!(text.contains("throughput and counts are summed"), "{text}");
        // 40 kB each, all delivered.
        let delivered = text.lines().find(|line| line.starts_with(" delivered")).unwrap();
        assert!(delivered.ends_with("240 ± 0 kB"), "{delivered}");
    }
    let text = bench.stdout(&["report", "set"]);
    let rows = text.lines().filter(|line| line.contains("6 flows together"));
    assert_eq!(rows.filter(|row| row.contains("18 of 18")).count(), 2, "{text}");
    assert!(!text.contains("→"), "{text}");
    let page = fs::read_to_string(bench.path("set/index.html")).unwrap();
    assert_eq!(page.matches("<summary>Each flow</summary>").count(), 2);
    assert_eq!(page.matches("<td>0 → 2 Reno, ATCP</td>").count(), 6);
}
