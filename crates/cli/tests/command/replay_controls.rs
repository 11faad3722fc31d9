//! The page of a replay under a person's hands: a typed part, clicks, words of the list of events, labels, and the reason
//! why a window fell.

use driftway_sim::log::{Entry, Event, Layer};
use serde_json::json;

use crate::chromium::Chromium;
use crate::replay::{PATH, events_of};
use crate::*;

/// Clicks once, or twice and quickly, at a place that an expression gives in CSS pixels.
fn click(browser: &mut Chromium, place: &str, times: u32) {
    let place = browser.evaluate(place);
    for count in 1..=times {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": count,
            });
            browser.call("Input.dispatchMouseEvent", event);
        }
    }
    // Shift alone does nothing; what was clicked is drawn.
    browser.press("Shift");
}

/// The plots show a part that is typed in any notation, and a message says what is wrong with another one.
fn assert_reads_a_typed_part(browser: &mut Chromium) {
    let shown = |browser: &mut Chromium, text: &str| {
        browser.evaluate(&format!(
            "(() => {{ const {{ page }} = driftwayReplay; const field = document.getElementById('range'); \
             field.value = '{text}'; field.dispatchEvent(new Event('change')); \
             return [page.plots.range, document.getElementById('rangeMessage').textContent]; }})()"
        ))
    };
    for text in ["2.5–4", "2.5-4 s", "from 2.5 to 4", "2,5 4"] {
        assert_eq!(shown(browser, text), json!([[2.5, 4], ""]), "{text}");
    }
    assert_eq!(shown(browser, "5–100"), json!([[5, 11], ""]), "no more than the run has");
    for (text, message) in [
        ("soon", "two times in seconds, such as 0–5.5"),
        ("3", "two times"),
        ("1 2 3", "two times"),
        ("4–4", "4 s is not before 4 s"),
        ("40–50", "from 0 s to 11 s"),
    ] {
        let found = shown(browser, text);
        assert_eq!(found[0], json!([5, 11]), "{text}");
        assert!(found[1].as_str().unwrap().contains(message), "{found}");
    }
    browser.evaluate("document.getElementById('whole').click()");
    let found = browser
        .evaluate("[driftwayReplay.page.plots.range, document.getElementById('range').value]");
    assert_eq!(found, json!([[0, 11], "0–11"]));
}

/// A double click shows all and leaves the time and the node as they were; a single one moves to its place.
fn assert_double_clicks_show_all_and_no_more(browser: &mut Chromium) {
    let state = "(() => { const { page } = driftwayReplay; \
         return [page.time, page.node, page.plots.range, page.maps[0].view.zoom]; })()";
    let plot = "(() => { const over = document.querySelector('.u-over'); over.scrollIntoView({ block: 'center' }); \
         const { left, top, width } = over.getBoundingClientRect(); \
         return { x: left + width / 2, y: top + 40 }; })()";
    let node = "(() => { scrollTo(0, 0); const { page } = driftwayReplay; const [map] = page.maps; \
         map.view.zoom = 1; map.draw(page.time, page); \
         const { left, top } = map.canvas.getBoundingClientRect(); \
         const { x, y } = map.toScreen(map.places.at(1, page.time)); return { x: left + x, y: top + y }; })()";
    browser.evaluate(
        "(() => { const { page } = driftwayReplay; page.seek(3e9); page.plots.setRange(2, 6); \
         page.maps[0].view.zoom = 2; })()",
    );
    click(browser, plot, 2);
    assert_eq!(browser.evaluate(state), json!([3_000_000_000_u64, null, [0, 11], 2]));
    click(browser, node, 2);
    assert_eq!(browser.evaluate(state), json!([3_000_000_000_u64, null, [0, 11], 1]));
    click(browser, plot, 1);
    click(browser, node, 1);
    let found = browser.evaluate(state);
    assert!((found[0].as_f64().unwrap() - 5.5e9).abs() < 0.1e9, "{found}");
    assert_eq!(found[1], json!(1));
}

/// The words of a row in the list of events find that row.
fn assert_finds_the_words_of_the_list(browser: &mut Chromium, entries: &[Entry]) {
    let mut search = |text: &str| {
        browser.evaluate(&format!(
            "(() => {{ const {{ page }} = driftwayReplay; page.seek(0); \
             document.getElementById('query').value = '{text}'; page.search(1); \
             return [page.time, document.getElementById('message').textContent]; }})()"
        ))
    };
    let first = |is: &dyn Fn(&Entry) -> bool| {
        let found = entries.iter().find(|entry| is(entry)).unwrap();
        json!(found.time_s.as_nanos())
    };
    let read = first(&|of| {
        (of.layer, of.event, of.offset_bytes) == (Layer::Tcp, Event::Delivered, Some(2000))
    });
    // As it is said, and as it is copied with its time.
    for time in ["", "0.830080 "] {
        let text = format!("{time}flow 0: application at node 2 has read up to byte 2000");
        assert_eq!(search(&text)[0], read);
    }
    let fault = first(&|of| (of.layer, of.event) == (Layer::Fault, Event::Begins));
    assert_eq!(search("partition begins")[0], fault);
    // A word that is in no sentence is refused, with the one that is meant.
    for (text, message) in [("zebra", "is no event"), ("next timeuot", "Did you mean “timeout”?")]
    {
        let found = search(text);
        assert!(found[1].as_str().unwrap().contains(message), "{found}");
    }
}

#[test]
fn a_page_answers_to_clicks_and_words() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    let entries = events_of(&bench, "out", PATH);
    bench.stdout(&["replay", "out"]);
    browser.open(&bench.path("replay.html"), "", (1200, 900), "light");
    assert_reads_a_typed_part(&mut browser);
    assert_double_clicks_show_all_and_no_more(&mut browser);
    assert_finds_the_words_of_the_list(&mut browser, &entries);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// ATCP sets the window to a segment while the destination is unreachable: the text of the first probe says so.
#[test]
fn the_text_of_a_probe_says_why_the_window_fell() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    let entries = events_of(&bench, "out", &format!("{PATH}aid = \"atcp\"\n"));
    bench.stdout(&["replay", "out"]);
    browser.open(&bench.path("replay.html"), "", (1200, 900), "light");
    let state = entries.iter().find(|of| of.layer == Layer::Aid && of.reason == "disconnected");
    let state = state.unwrap();
    let sent = |of: &&Entry| matches!(of.event, Event::Sent | Event::Retransmitted);
    let tcp = || entries.iter().filter(|of| of.layer == Layer::Tcp).filter(sent);
    let before = tcp().take_while(|of| of.time_s < state.time_s).last().unwrap().cwnd_bytes;
    let probe = tcp().find(|of| of.time_s > state.time_s).unwrap();
    assert_eq!(probe.cwnd_bytes, Some(500), "a segment");
    let text = browser.evaluate(&format!(
        "(() => {{ const {{ page, runs: [run] }} = driftwayReplay; \
         for (let row = 0; row < run.rows.count; row++) \
           if (run.rows.time[row] === {} && run.layer(row) === 'tcp') {{ page.chooseRow(run, row); break; }} \
         return document.getElementById('meaning').textContent; }})()",
        probe.time_s.as_nanos()
    ));
    let text = text.as_str().unwrap();
    for part in [
        format!("cwnd fell from {} to 500 bytes", before.unwrap()),
        format!("the aid entered “disconnected” at {:.6} s", state.time_s.as_secs_f64()),
        "congestion window of one segment".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Fifty nodes in a heap: no label covers another one, and those that matter are there.
#[test]
fn labels_of_the_map_do_not_cover_each_other() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    let text = include_str!("../../../../scenarios/adhoc-dsr.toml")
        .replace("[\"1500 m\", \"1000 m\"]", "[\"400 m\", \"300 m\"]");
    bench.file("heap.toml", &text);
    bench.stdout(&["run", "heap.toml", "--set", "duration=20 s", "--out", "out", "--events"]);
    bench.stdout(&["replay", "out"]);
    for width in [1200, 500] {
        browser.open(&bench.path("replay.html"), "#t=15", (width, 900), "light");
        let found = browser.evaluate(
            "(() => { const { page } = driftwayReplay; const [map] = page.maps; const taken = []; \
             const context = CanvasRenderingContext2D.prototype; const write = context.fillText; \
             context.fillText = function (text, x, y) { \
               taken.push({ text, left: x, right: x + this.measureText(text).width, top: y - 9, bottom: y }); \
               write.call(this, text, x, y); }; \
             page.draw(); context.fillText = write; let covered = 0; \
             taken.forEach((a, i) => taken.forEach((b, j) => { if (i < j && a.left < b.right && b.left < a.right \
               && a.top < b.bottom && b.top < a.bottom) covered++; })); \
             return [covered, taken.length, taken.filter(({ text }) => /source|destination/.test(text)).length, \
               page.runs[0].nodes.length]; })()",
        );
        let [covered, labels, ends, nodes] =
            [0, 1, 2, 3].map(|index| found[index].as_u64().unwrap());
        assert!(covered == 0 && ends == 2 && labels > nodes / 4, "{width}: {found}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}
