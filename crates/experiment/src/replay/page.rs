//! The page: HTML with its style, its script and its data.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use super::describe::{Meaning, RunDescription, meanings};
use super::encode::{Encoded, HEADER_COLUMNS, ROW_COLUMNS};

macro_rules! viewer {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../viewer/", $file))
    };
}

const FRAME: &str = viewer!("page.html");
const STYLE: &[&str] = &[viewer!("uplot/uPlot.min.css"), viewer!("page.css")];
const PLOTS: &str =
    concat!("/*\n", viewer!("uplot/LICENSE"), "\n*/\n", viewer!("uplot/uPlot.iife.min.js"));

/// The parts of the script, in the order in which they use each other.
const SCRIPTS: &[&str] = &[
    viewer!("decode.js"),
    viewer!("model.js"),
    viewer!("explain.js"),
    viewer!("layout.js"),
    viewer!("labels.js"),
    viewer!("map.js"),
    viewer!("plots.js"),
    viewer!("events.js"),
    viewer!("wait.js"),
    viewer!("search.js"),
    viewer!("compare.js"),
    viewer!("nodes.js"),
    viewer!("page.js"),
];

/// The data of the page, but for the columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    version: &'static str,
    row_columns: [&'static str; ROW_COLUMNS.len()],
    header_columns: [&'static str; HEADER_COLUMNS.len()],
    meanings: Vec<Meaning>,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    #[serde(flatten)]
    description: &'a RunDescription,
    encoding: &'a Encoded,
}

/// The size of a page without its runs, more or less.
pub fn frame_bytes() -> usize {
    let texts = STYLE.iter().chain(SCRIPTS).chain([&FRAME, &PLOTS]);
    // The meanings of the events and the descriptions of the runs.
    texts.map(|text| text.len()).sum::<usize>() + 40_000
}

/// The size of encoded rows on the page.
pub fn encoded_bytes(encoded: &Encoded) -> io::Result<usize> {
    Ok(encoded.gzip.len().div_ceil(3) * 4 + serde_json::to_string(encoded)?.len())
}

/// The page.
pub fn render(title: &str, runs: &[(RunDescription, Encoded)]) -> io::Result<String> {
    let data = Data {
        version: env!("CARGO_PKG_VERSION"),
        row_columns: ROW_COLUMNS,
        header_columns: HEADER_COLUMNS,
        meanings: meanings(),
        runs: runs.iter().map(|(description, encoding)| Run { description, encoding }).collect(),
    };
    // No text of a scenario can end the script element.
    let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let columns: String = runs
        .iter()
        .enumerate()
        .map(|(index, (_, encoded))| {
            let text = BASE64_STANDARD.encode(&encoded.gzip);
            format!("<script type=\"text/plain\" id=\"columns-{index}\">{text}</script>\n")
        })
        .collect();
    let script = format!("(() => {{\n\"use strict\";\n{}}})();", SCRIPTS.concat());
    let parts = [
        ("title", escaped(title)),
        ("style", STYLE.concat()),
        ("data", data),
        ("columns", columns),
        ("plots", PLOTS.to_owned()),
        ("script", script),
    ];
    let mut page = String::new();
    let mut rest = FRAME;
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page += parts.iter().find(|(part, _)| *part == name).map_or("", |(_, text)| text);
        rest = after;
    }
    Ok(page + rest)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
