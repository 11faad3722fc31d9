//! Frames a second that a replay draws in Chromium, with 50 nodes and with 400: at least 30 and 15.
//!
//! Chromium draws without a graphics card here, which is the worst case.

#[path = "../tests/command/chromium.rs"]
mod chromium;

use std::fs;
use std::process::{Command, ExitCode};

use chromium::Chromium;
use serde_json::json;

/// Nodes, the width and height of the plane (m), and frames a second.
const CASES: [(u32, u32, u32, f64); 2] = [(50, 1500, 1000, 30.0), (400, 4000, 3000, 15.0)];

fn scenario(nodes: u32, width: u32, height: u32) -> String {
    let mut text = format!(
        r#"
name = "{nodes} nodes"
duration = "30 s"

[network]
kind = "adhoc"
nodes = {nodes}
area = ["{width} m", "{height} m"]
mobility = {{ model = "random-waypoint", speed = ["9 m/s", "11 m/s"], pause = "0 s" }}
routing = {{ protocol = "aodv" }}
"#
    );
    for flow in 0..10 {
        let (from, to) = (2 * flow, 2 * flow + 1);
        text += &format!(
            "[[flow]]\nfrom = {from}\nto = {to}\napplication = \"ftp\"\ntcp = {{ preset = \"newreno\" }}\n"
        );
    }
    text
}

/// Plays for five seconds, and counts what is drawn.
const PLAY: &str = "new Promise((done) => { const { page } = driftwayReplay; let drawn = 0; \
    const draw = page.draw.bind(page); page.draw = () => { drawn++; draw(); }; \
    const start = performance.now(); page.seek(5e9); page.play(true); \
    setTimeout(() => { page.play(false); done(drawn * 1000 / (performance.now() - start)); }, 5000); })";

fn main() -> ExitCode {
    let Some(mut browser) = Chromium::start() else { return ExitCode::SUCCESS };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut status = ExitCode::SUCCESS;
    for (nodes, width, height, least) in CASES {
        let [file, page] = ["scenario.toml", "replay.html"].map(|name| dir.path().join(name));
        fs::write(&file, scenario(nodes, width, height)).expect("a scenario");
        let mut driftway = Command::new(env!("CARGO_BIN_EXE_driftway"));
        let made = driftway.arg("replay").arg(&file).arg("--out").arg(&page).status();
        assert!(made.expect("driftway").success());
        browser.open(&page, "", (1200, 900), "light");
        browser.press("Home");
        let rate = browser.evaluate(PLAY).as_f64().expect("a number");
        println!("replay of {nodes} nodes: {rate:.1} frames a second, at least {least}");
        if rate < least {
            status = ExitCode::FAILURE;
        }
        // Its events, so that the figure is that of a page that works.
        assert!(browser.evaluate("driftwayReplay.runs[0].rows.count > 1000") == json!(true));
    }
    assert_eq!(browser.complaints(), [""; 0]);
    status
}
