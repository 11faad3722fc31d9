//! Frames a second that a replay draws in Chromium, with 50 nodes and with 400: at least 30 and 15.
//!
//! Chromium draws without a graphics card here, which is the worst case. What counts is the processor time of all of
//! its processes for a frame, which other programs on the machine change little: a second of it has to suffice for
//! that many frames. The frames that were seen, at most 60 a second, stand beside it.

#[path = "../tests/command/chromium.rs"]
mod chromium;

use std::collections::BTreeMap;
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

/// Plays for five seconds, and at least a hundred frames: how many were drawn, and the time (ms).
const PLAY: &str = "new Promise((done) => { const { page } = driftwayReplay; let drawn = 0; \
    const draw = page.draw.bind(page); page.draw = () => { drawn++; draw(); }; \
    const start = performance.now(); page.seek(5e9); page.play(true); \
    const look = () => { const took = performance.now() - start; \
    if (took < 5000 || (drawn < 100 && took < 60000)) return setTimeout(look, 50); \
    page.play(false); done([drawn, took]); }; look(); })";

/// Processor time of the processes that this one has started, and of theirs (s).
fn processor_time() -> f64 {
    // The unit of /proc, on all architectures.
    const TICKS: f64 = 100.0;
    let mut children: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process may have ended meanwhile.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<u64> = rest.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        let (parent, ticks) = (fields[1] as u32, fields[11] + fields[12]);
        children.entry(parent).or_default().push((id, ticks));
    }
    let (mut total, mut open) = (0, vec![std::process::id()]);
    while let Some(parent) = open.pop() {
        for (id, ticks) in children.get(&parent).into_iter().flatten() {
            total += ticks;
            open.push(*id);
        }
    }
    total as f64 / TICKS
}

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
        let before = processor_time();
        let played = browser.evaluate(PLAY);
        let processor = processor_time() - before;
        let [drawn, took] = [0, 1].map(|index| played[index].as_f64().expect("a number"));
        let (rate, seen) = (drawn / processor, drawn * 1000.0 / took);
        println!(
            "replay of {nodes} nodes: {:.1} ms of processor a frame, {rate:.0} frames in a second of it, at least \
             {least}; {seen:.1} a second were seen",
            processor * 1000.0 / drawn
        );
        if rate < least {
            status = ExitCode::FAILURE;
        }
        // Its events, so that the figure is that of a page that works.
        assert!(browser.evaluate("driftwayReplay.runs[0].rows.count > 1000") == json!(true));
    }
    assert_eq!(browser.complaints(), [""; 0]);
    status
}
