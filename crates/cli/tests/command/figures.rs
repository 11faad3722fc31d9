//! Figures for print: `--figures` of `sweep`, `report` and `compare`.

use std::io::Write;

use predicates::str::contains;

use crate::*;

/// Two aids over three rates of errors.
const VARY: [&str; 6] = [
    "sweep",
    "s.toml",
    "--vary",
    "flow.0.aid=none,atcp",
    "--vary",
    "network.link.bit_error_rate=1e-5,2e-5,4e-5",
];

/// The fonts of a document and its text, as poppler reads them; `None` if it is not installed, which is a failure if
/// `DRIFTWAY_NEED_POPPLER` is set.
fn read_by_poppler(path: &Path) -> Option<(String, String)> {
    let output = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).output().ok()?;
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let path = path.to_str().unwrap();
    let read = output("pdffonts", &[path]).zip(output("pdftotext", &["-layout", path, "-"]));
    if read.is_none() {
        let needed = std::env::var_os("DRIFTWAY_NEED_POPPLER").is_some();
        assert!(!needed, "DRIFTWAY_NEED_POPPLER is set, but pdffonts is not installed");
        let _ = writeln!(std::io::stderr(), "SKIPPED: pdffonts is not installed");
    }
    read
}

#[test]
fn a_sweep_writes_figures_beside_its_page() {
    let bench = TestDir::new();
    let sweep = |out: &str, more: &[&str]| {
        bench.stdout(&[&VARY[..], &["--runs", "3", "--out", out], more].concat());
        bench.path(out).join("figures")
    };
    let folder = sweep("a", &["--figures", "pdf,svg,svg"]);
    let files = names(&folder);
    assert!(
        files.contains(&"1.svg".to_owned()) && files.contains(&"1.pdf".to_owned()),
        "{files:?}"
    );
    let again = sweep("b", &["--figures", "svg,pdf"]);
    for name in &files {
        assert!(
            fs::read(folder.join(name)).unwrap() == fs::read(again.join(name)).unwrap(),
            "{name}"
        );
    }
    let text = fs::read_to_string(folder.join("1.svg")).unwrap();
    assert!(text.starts_with("<svg xmlns=") && text.contains("width=\"84mm\""), "{text}");
    for label in ["no aid", "ATCP", "Bit error rate"] {
        assert!(text.contains(&format!("aria-label=\"{label}\"")), "{label}");
    }
    if let Some((fonts, words)) = read_by_poppler(&folder.join("1.pdf")) {
        let font = fonts.lines().find(|line| line.contains("+Arimo")).unwrap();
        assert!(font.contains("CID TrueType") && font.contains("yes yes yes"), "{font}");
        for label in ["no aid", "ATCP", "Bit error rate"] {
            assert!(words.contains(label), "{label}: {words}");
        }
    }
    // Other intervals and another width are another figure; without the option there is none.
    let text = |folder: &Path| fs::read_to_string(folder.join("1.svg")).unwrap();
    let wider = sweep("b", &["--figures", "svg", "--band", "95"]);
    assert!(text(&wider) != text(&folder) && !wider.join("1.pdf").exists());
    let page = sweep("b", &["--figures", "svg", "--figure-width", "174"]);
    assert!(text(&page).contains("width=\"174mm\""));
    assert!(!sweep("b", &[]).exists());
}

#[test]
fn a_report_has_figures_of_runs_and_of_sets() {
    let bench = TestDir::new();
    for aid in ["none", "atcp"] {
        for rate in ["1e-5", "2e-5"] {
            let (out, aid) = (format!("set/{aid}-{rate}"), format!("flow.0.aid={aid}"));
            let rate = format!("network.link.bit_error_rate={rate}");
            bench.stdout(&[
                "run", "s.toml", "--runs", "2", "--out", &out, "--set", &aid, "--set", &rate,
            ]);
        }
    }
    bench.stdout(&["report", "set", "--figures", "svg"]);
    let files = names(&bench.path("set/figures"));
    assert!(files.contains(&"completion-time.svg".to_owned()), "{files:?}");
    let text = fs::read_to_string(bench.path("set/figures/completion-time.svg")).unwrap();
    assert!(text.contains("aria-label=\"somebody-2001, figure 8: ATCP\""), "{text}");

    bench.stdout(&["report", "set/atcp-1e-5", "--figures", "pdf,svg"]);
    let folder = bench.path("set/atcp-1e-5/figures");
    let files = ["congestion-window-1.pdf", "congestion-window-1.svg"];
    let sequence = ["time-sequence-1.pdf", "time-sequence-1.svg"];
    assert_eq!(names(&folder), [files, sequence].concat());
    let text = fs::read_to_string(folder.join("time-sequence-1.svg")).unwrap();
    for label in ["sent", "acknowledged", "Stream offset (kB)", "Time (s)"] {
        assert!(text.contains(&format!("aria-label=\"{label}\"")), "{label}");
    }
    if let Some((_, words)) = read_by_poppler(&folder.join("time-sequence-1.pdf")) {
        assert!(words.contains("acknowledged") && words.contains("Stream offset (kB)"), "{words}");
    }
}

#[test]
fn a_wrong_format_width_or_band_is_refused() {
    let bench = TestDir::new();
    let refused = |more: &[&str], says: &str| {
        let mut command = bench.driftway(&[&VARY[..], more].concat());
        command.assert().code(2).stderr(contains(says));
        assert!(!bench.path("o").exists());
    };
    refused(&["--out", "o", "--figures", "png"], "[possible values: svg, pdf]");
    refused(&["--out", "o", "--figures", ""], "[possible values: svg, pdf]");
    refused(
        &["--out", "o", "--figures", "svg", "--figure-width", "90"],
        "[possible values: 84, 174]",
    );
    refused(&["--out", "o", "--figures", "svg", "--band", "99"], "[possible values: 90, 95]");
    refused(&["--out", "o", "--band", "95"], "--figures");
    refused(&["--figures", "svg"], "--figures: they are written to DIR/figures");
    refused(&["--out", "o", "--shard", "1/2", "--figures", "svg"], "cannot be used with");
    for command in [&["compare", "--quick"][..], &["paper", "liu-singh-2001"]] {
        let mut command = bench.driftway(&[command, &["--figures", "svg"]].concat());
        command.assert().code(2).stderr(contains("add --out DIR"));
    }
}
