//! Pages in a narrow window and on paper.

use std::process::Command;

use crate::chromium::Chromium;
use crate::*;

/// All plots of a page are drawn.
const DRAWN: &str = "document.readyState === 'complete' && [...document.querySelectorAll('.plot')].every((plot) => plot.layout)";

/// Directories with a page each: of a run with an outage, of a set, and of a study with eight arms.
fn pages(bench: &TestDir) -> [&'static str; 3] {
    let fault = "\n[[network.fault]]\nkind = \"partition\"\nhop = 1\nfirst = \"3 s\"\nlasts = \"2 s\"\ncount = 1\n\n[[flow]]";
    bench.file("cut.toml", &SCENARIO.replacen("[[flow]]", fault.trim_start(), 1));
    bench.stdout(&["run", "cut.toml", "--out", "run"]);
    bench.stdout(&["report", "run"]);
    for rate in ["1e-5", "2e-5"] {
        let (out, rate) = (format!("set/{rate}"), format!("network.link.bit_error_rate={rate}"));
        bench.stdout(&["run", "s.toml", "--runs", "2", "--out", &out, "--set", &rate]);
    }
    bench.stdout(&["report", "set"]);
    let aids = "flow.0.aid=none,atcp,elfn,epln,tcp-f,freeze-tcp,cwnd-limit,carry";
    let rates = "network.link.bit_error_rate=1e-5,2e-5";
    let sweep =
        ["sweep", "s.toml", "--vary", aids, "--vary", rates, "--runs", "2", "--out", "study"];
    bench.stdout(&sweep);
    ["run", "set", "study"]
}

#[test]
fn a_narrow_page_does_not_scroll_sideways_and_arms_differ() {
    let bench = TestDir::new();
    let dirs = pages(&bench);
    for dir in dirs {
        let path = bench.path(dir).join("index.html");
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.len() < 2_000_000, "{dir}: {}", page.len());
        let own = page.split("plotly.js (basic").next().unwrap();
        for zero in ["-0.00 ", "-0.00<", "−0.00 ", "−0.00<", "-0 ±", "-0<"] {
            assert!(!own.contains(zero), "{dir}: {zero}");
        }
    }
    let Some(mut browser) = Chromium::start() else { return };
    for dir in dirs {
        let path = bench.path(dir).join("index.html");
        browser.open_until(&path, "", ((500, 900), "light"), DRAWN);
        browser.evaluate("document.querySelectorAll('details').forEach((of) => of.open = true)");
        let width = browser.evaluate("document.scrollingElement.scrollWidth").as_f64().unwrap();
        assert!(width <= 500.0, "{dir}: {width}");
        assert_eq!(browser.complaints(), [""; 0], "{dir}");
    }
    // The last page is that of the study.
    let symbols = browser.evaluate(
        "document.querySelector('.plot').data.filter((trace) => trace.marker).map((trace) => trace.marker.symbol)",
    );
    let mut symbols: Vec<String> =
        symbols.as_array().unwrap().iter().map(|symbol| symbol.to_string()).collect();
    assert_eq!(symbols.len(), 8, "{symbols:?}");
    symbols.sort();
    symbols.dedup();
    assert_eq!(symbols.len(), 8, "{symbols:?}");
    // The outage is in view when the page opens.
    browser.open_until(&bench.path("run/index.html"), "", ((900, 900), "light"), DRAWN);
    let view = browser.evaluate("document.querySelector('.plot').layout.xaxis.range");
    let [from, to] = [0, 1].map(|end| view[end].as_f64().unwrap());
    assert!(from < 3.0 && to > 5.0, "{view}");
}

/// Pages of a printed page as text, by poppler; `None` if it or the browser is not installed.
fn printed(page: &Path, to: &Path) -> Option<Vec<String>> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let print = format!("--print-to-pdf={}", to.display());
    let options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"];
    let address = format!("file://{}", page.display());
    let run = |name: &&str| Command::new(name).args(options).args([&print, &address]).output().ok();
    names.iter().find_map(run)?;
    let text = Command::new("pdftotext").arg("-layout").args([to, Path::new("-")]).output().ok()?;
    assert!(text.status.success(), "{text:?}");
    let text = String::from_utf8(text.stdout).unwrap();
    Some(text.split('\u{c}').map(str::to_owned).filter(|page| !page.trim().is_empty()).collect())
}

#[test]
fn a_printed_page_has_no_heading_at_its_end_and_no_navigation() {
    let bench = TestDir::new();
    for dir in pages(&bench) {
        let path = bench.path(dir).join("index.html");
        let html = fs::read_to_string(&path).unwrap();
        let html = html.split("plotly.js (basic").next().unwrap();
        let heading = |part: &str| part.split("</h").next().map(|text| text.trim().to_owned());
        let headings: Vec<String> = ["<h2>", "<h3>"]
            .iter()
            .flat_map(|tag| html.split(tag).skip(1).filter_map(heading))
            .collect();
        assert!(headings.len() > 2, "{headings:?}");
        let Some(printed) = printed(&path, &bench.path("printed.pdf")) else {
            let needed = ["DRIFTWAY_NEED_CHROMIUM", "DRIFTWAY_NEED_POPPLER"];
            assert!(needed.iter().all(|name| std::env::var_os(name).is_none()), "not installed");
            eprintln!("SKIPPED: chromium or pdftotext is not installed");
            return;
        };
        for page in &printed {
            let last = page.trim_end().lines().next_back().unwrap_or_default().trim();
            let is_heading = headings.iter().any(|heading| heading == last);
            assert!(!is_heading && !last.starts_with("Against "), "{dir}: {last}");
        }
        let all = printed.join("\n");
        assert!(
            all.contains("Each command reproduces") || all.contains("this command gives"),
            "{all}"
        );
        let is_navigation =
            |line: &str| line.contains("Figure 1 ") && line.contains("Reproduction");
        assert!(!all.lines().any(is_navigation), "{all}");
    }
}
