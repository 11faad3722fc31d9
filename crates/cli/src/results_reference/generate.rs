//! The text of the reference.

use std::fmt::Write;

use driftway_aid::registry::AIDS;
use driftway_experiment::rows::{TableInfo, table_columns};
use driftway_experiment::study::stored_results::STORED_COLUMNS;
use driftway_experiment::{comparison, study, validation};
use driftway_linux::{DaemonCounts, UnseenCounts};
use driftway_shim::Counts;
use driftway_sim::columns::ColumnInfo;
use driftway_sim::log::{self, COMMON_COLUMNS, EVENTS, EventInfo, Layer, PACKET_COLUMNS, Reasons};
use driftway_sim::samples::{FlowSampleRow, LinkSampleRow};
use driftway_sim::trace::{FLOW_COLUMNS, NETWORK_COLUMNS};
use driftway_sim::{DropReason, results};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use super::markdown::{DocumentSchema, Documents, one_line};
use crate::paper::kernel::counters::COUNTERS;
use crate::paper::kernel::document as kernel;
use crate::paper::print::PaperSummary;
use crate::{bench, emulate, shim};

const HEAD: &str = "\
# Results: every field and every column

This page lists all fields of the JSON documents and all columns of the CSV files that driftway writes. It
is generated from the types that write them.

A name ends with its unit: `_s` is seconds, `_us` microseconds, `_bps` bits per second, `_bytes` bytes, `_m`
metres; a name that ends with `_ratio` has no unit. Other numbers are counts, unless their description states
otherwise. In JSON, `null` means that there is no such value; in CSV, the cell is empty, and in Parquet the
value is null.

Of a simulation, only the fields of `timing` and the CPU times (`user_s`) depend on the machine: the same version,
scenario and seeds give the same bytes in everything else.

| command | output | described in |
|---|---|---|
| `driftway run --json`; `run --out DIR` | standard output; `results.json` | [run](#driftway-run) |
| `driftway run --out DIR` | `trace-seed-N-flow-I.csv` of each flow of TCP, `trace-seed-N-network.csv`; \
of the first seed, or with `--trace` of each | [traces](#trace-of-a-flow) |
| `driftway run --out DIR`, `emulate --out DIR` | `samples-seed-N-links.csv` of a network with wires, \
`samples-seed-N-flows.csv`; of a run with its traces | [samples](#samples-of-links) |
| `driftway run --out DIR --events` | `events-seed-N.csv`, with the traces | [event log](#event-log) |
| `driftway run --pcap FILE` | a capture | [captures.md](captures.md) |
| `driftway run --out DIR`, `emulate --out DIR` | `scenario.toml` | [scenario.md](scenario.md) |
| `driftway sweep --json`, `paper NAME --json`; `--out DIR` | standard output; `results.json` | \
[sweep and paper](#driftway-sweep-and-driftway-paper) |
| `driftway sweep --out DIR`, `paper NAME --out DIR` | `runs.csv`, `flows.csv`, and `steps.csv` if the study has \
`step`; each also as Parquet | [tables of a study](#runscsv) |
| `driftway paper NAME --out DIR` | `trace-figure-F-ARM-seed-N.csv` | [trace of a flow](#trace-of-a-flow) |
| `driftway paper DIR --record` | `results.csv` in the directory of the paper | \
[recorded results](#recorded-results-of-a-paper) |
| `driftway paper NAME --kernel --json`; `--out DIR` | standard output; `results.json` | \
[paper --kernel](#driftway-paper---kernel) |
| `driftway paper list --json` | standard output | [paper list](#driftway-paper-list) |
| `driftway compare --json`; `--out DIR` | standard output; `results.json` | [compare](#driftway-compare) |
| `driftway validate --json`; `--out DIR` | standard output; `results.json` | [validate](#driftway-validate) |
| `driftway validate --kernel --json` | standard output | [validate --kernel](#driftway-validate---kernel) |
| `driftway emulate --json`; `--out DIR` | standard output; `emulation.json` | [emulate](#driftway-emulate) |
| `driftway emulate --out DIR` | `results.json`, `trace-seed-N-network.csv` | [run](#driftway-run) |
| `driftway shim status --json` | standard output | [shim status](#driftway-shim-status) |

In the tables of documents, `[]` stands for each element of an array and `*` for each key of a map.
";

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The names of the fields of a document.
fn fields(schema: &Value) -> Vec<String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flat_map(|fields| fields.keys().cloned()).collect()
}

/// The whole reference.
pub fn reference() -> String {
    let documents = Documents::new(documents());
    let mut out = HEAD.to_owned();
    out += &documents.sections();
    out += "\n## Types used in several places\n";
    out += &documents.shared_types();
    traces(&mut out);
    event_log(&mut out);
    for table in table_columns() {
        study_table(&mut out, &table);
    }
    out += "\n## Recorded results of a paper\n\n`results.csv` in the directory of a paper, with a row for \
            each metric of each figure, arm and point.\n";
    columns(&mut out, &STORED_COLUMNS);
    names(&mut out);
    link_names(&out)
}

/// The documents, each with its command.
fn documents() -> Vec<DocumentSchema> {
    let document =
        |title, about, schema| DocumentSchema { title, about, schema, skipped: Vec::new() };
    let paper = schema::<study::document::StudyDocument>();
    vec![
        document(
            "driftway run",
            "The document of `driftway run --json`, and `results.json` of `run --out`. That of `emulate --out` is of \
             the same form, with `emulated`: its flows are the TCP connections of the nodes' kernels, from the end that \
             has sent more, in the order in which they were seen. Of these `tcp` is `kernel+` with the congestion control, \
             `start_s` is up to 0.02 s late, `rtt_s` is the mean of the smoothed round-trip times every 0.02 s, and a connection \
             that ended with data unacknowledged is `reset`; what a kernel does not say is `null`, `events` is 0 and the \
             fingerprint empty.",
            schema::<results::RunDocument>(),
        ),
        document(
            "driftway sweep and driftway paper",
            "The document of `driftway sweep --json` and `driftway paper NAME --json`, and \
             `results.json` of `--out`. A sweep has no readings and no statements.",
            paper.clone(),
        ),
        DocumentSchema {
            title: "driftway paper --kernel",
            about: "The document of `driftway paper NAME --kernel --json`, and `results.json` of \
                    `--out`: all fields of [`driftway paper`](#driftway-sweep-and-driftway-paper), \
                    with the arms of the kernel among its arms, and these:",
            schema: schema::<kernel::KernelDocument>(),
            skipped: fields(&paper),
        },
        document(
            "driftway paper list",
            "The document of `driftway paper list --json`: an array with an element for each paper.",
            schema::<Vec<PaperSummary>>(),
        ),
        document(
            "driftway compare",
            "The document of `driftway compare --json`, and `results.json` of `--out`.",
            schema::<comparison::document::CompareDocument>(),
        ),
        document(
            "driftway validate",
            "The document of `driftway validate --json`, and `results.json` of `--out`.",
            schema::<validation::document::ValidationDocument>(),
        ),
        document(
            "driftway validate --kernel",
            "The document of `driftway validate --kernel --json`.",
            schema::<validation::kernel::document::KernelValidation>(),
        ),
        document(
            "driftway bench",
            "The document of `driftway bench --json`.",
            schema::<bench::document::BenchDocument>(),
        ),
        document(
            "driftway emulate",
            "The document of `driftway emulate --json`, and `emulation.json` of `--out`.",
            schema::<emulate::document::EmulationDocument>(),
        ),
        document(
            "driftway shim status",
            "The document of `driftway shim status --json`.",
            schema::<shim::document::ShimStatus>(),
        ),
    ]
}

fn traces(out: &mut String) {
    *out += "\n## Trace of a flow\n\n`trace-seed-N-flow-I.csv`, where `I` is the index of the flow in the \
             scenario, and the traces of a paper: a row for each event, in order of time.\n";
    columns(out, &FLOW_COLUMNS);
    *out += "\n## Trace of a network\n\n`trace-seed-N-network.csv`: a row for each beginning and end of a \
             fault of a path.\n";
    columns(out, &NETWORK_COLUMNS);
    *out += "\n## Samples of links\n\n`samples-seed-N-links.csv`: a row for each direction of each hop of a path or wire of a \
             mixed network, every 0.1 s; of long runs, and of many links, the interval is doubled until the rows of both files of \
             samples are at most 20,000.\n";
    columns(out, &ColumnInfo::of_fields::<LinkSampleRow>());
    *out += "\n## Samples of flows\n\n`samples-seed-N-flows.csv`: a row for each flow at the same times.\n";
    columns(out, &ColumnInfo::of_fields::<FlowSampleRow>());
}

fn event_log(out: &mut String) {
    *out += "\n## Event log\n\n`events-seed-N.csv`: a row for each event of a run, in order of time. A path has \
             no layers `air`, `queue` and `mobility`, an ad hoc network no layer `link`. \
             [captures.md](captures.md) explains how to read it.\n";
    columns(out, &log::columns());
    let code = |names: &[&str]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(
        out,
        "\nEvery event has {}, and the other columns that the following tables list. A column of a \
         packet is empty where the packet has no such value.",
        code(&COMMON_COLUMNS)
    );
    let layers = schema::<Layer>();
    let layers = layers.get("oneOf").and_then(Value::as_array);
    for layer in layers.into_iter().flatten() {
        let text = |key| layer.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("const");
        let _ = writeln!(out, "\n### Events of the layer `{name}`\n\n{}", text("description"));
        let _ = writeln!(out, "\n| event | columns | reason | meaning |\n|---|---|---|---|");
        for event in EVENTS.iter().filter(|event| word(event.layer) == name) {
            let packet: &[&str] = if event.packet { &PACKET_COLUMNS } else { &[] };
            let columns = code(&[packet, event.columns].concat());
            let name = word(event.event);
            let (reason, meaning) = (reasons(event), event.meaning);
            let _ = writeln!(out, "| `{name}` | {columns} | {reason} | {meaning} |");
        }
    }
}

/// A word as it is written.
fn word(value: impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

fn reasons(event: &EventInfo) -> String {
    match event.reasons {
        Reasons::None => String::new(),
        Reasons::Drop => "a [reason of dropped packets](#reasons-of-dropped-packets)".to_owned(),
        Reasons::AidState => "the [state of the aid](#states-of-the-aids)".to_owned(),
        Reasons::Fault => "the kind of fault, as the scenario names it".to_owned(),
        Reasons::Words(words) => {
            let words = words.iter().map(|(word, meaning)| match *word {
                "" => format!("empty: {meaning}"),
                word => format!("`{word}`: {meaning}"),
            });
            words.collect::<Vec<_>>().join("<br>")
        }
    }
}

fn study_table(out: &mut String, table: &TableInfo) {
    let name = table.name;
    let _ = writeln!(out, "\n## {name}.csv\n");
    let about = match name {
        "runs" => {
            "One row for each run at each point of each figure. The columns of routing and of the MAC layer are \
             there only if a run has such values, and that of a reason of drops only if one was dropped for it."
        }
        "flows" => {
            "One row for each flow of these runs. The columns whose names begin with `back_` are there only \
             if a flow has a reverse direction."
        }
        _ => {
            "One row for each flow and time step of these runs, if the study has `step` (or `sweep` \
             `--step`)."
        }
    };
    let _ = writeln!(out, "{about} `{name}.parquet` has the same columns.");
    header(out);
    table.first.iter().for_each(|column| row(out, column));
    *out += "| a column for each key that varies | number or text | The value of the key, in base units: \
             `network.link.delay` is `network_link_delay_s`. The name ends with `_s`, `_bps`, `_bytes`, `_m`, \
             `_mps` (m/s) or `_hz` if all values have this unit. |\n";
    table.rest.iter().for_each(|column| row(out, column));
}

fn header(out: &mut String) {
    *out += "\n| column | values | meaning |\n|---|---|---|\n";
}

fn row(out: &mut String, ColumnInfo { name, values, meaning }: &ColumnInfo) {
    // A cell of CSV is neither null nor absent.
    let meaning = one_line(meaning).replace("`null`", "empty").replace("absent", "empty");
    let meaning = meaning.replace('|', "\\|");
    let _ = writeln!(out, "| `{name}` | {} | {meaning} |", values.name());
}

fn columns(out: &mut String, columns: &[ColumnInfo]) {
    header(out);
    columns.iter().for_each(|column| row(out, column));
}

/// The tables of the keys of maps.
fn names(out: &mut String) {
    let mut list = |title: &str, about: &str, names: &mut dyn Iterator<Item = (&str, &str)>| {
        let _ = writeln!(out, "\n## {title}\n\n{about}\n\n| name | meaning |\n|---|---|");
        for (name, meaning) in names {
            let _ = writeln!(out, "| `{name}` | {} |", one_line(meaning));
        }
    };
    list(
        "Reasons of dropped packets",
        "The keys of `drops`, and reasons in event logs.",
        &mut DropReason::ALL.iter().map(|reason| (reason.name(), reason.description())),
    );
    let states = AIDS.iter().flat_map(|aid| aid.states.iter().map(|state| (aid.name, state)));
    let states: Vec<(String, String)> = states
        .map(|(aid, (state, meaning))| ((*state).to_owned(), format!("Of `{aid}`: {meaning}")))
        .collect();
    list(
        "States of the aids",
        "The values of `aid_state`, and reasons in event logs.",
        &mut states.iter().map(|(state, meaning)| (state.as_str(), meaning.as_str())),
    );
    list(
        "Metrics of a validation",
        "The keys of `metrics` of [`driftway validate`](#driftway-validate).",
        &mut validation::run_metrics::METRICS.iter().map(|metric| (metric.name, metric.meaning)),
    );
    list(
        "Counters of the kernel",
        "The keys of `tcp_counts` of [`driftway paper --kernel`](#driftway-paper---kernel), counted by the \
         TCP of the sending kernel.",
        &mut COUNTERS.iter().map(|counter| (counter.name, counter.about)),
    );
    list(
        "Counters of the shim",
        "The keys of `counts` of [`driftway shim status`](#driftway-shim-status), and of `shim_counts` of \
         [`driftway paper --kernel`](#driftway-paper---kernel).",
        &mut Counts::descriptions(),
    );
    list(
        "Counters of the shim's driver",
        "The keys of `driver` of [`driftway shim status`](#driftway-shim-status).",
        &mut DaemonCounts::descriptions(),
    );
    list(
        "Packets that the shim does not see",
        "The keys of `unseen` of [`driftway shim status`](#driftway-shim-status).",
        &mut UnseenCounts::descriptions(),
    );
}

/// Links the fields that are maps, or objects with further keys, to the tables of these keys.
fn link_names(text: &str) -> String {
    let links = [
        ("drops", ", by reason", "reasons-of-dropped-packets"),
        ("metrics", "by metric", "metrics-of-a-validation"),
        ("tcp_counts", "counters", "counters-of-the-kernel"),
        ("shim_counts", "Counters", "counters-of-the-shim"),
        ("counts", "by name", "counters-of-the-shim"),
        ("driver", "by name", "counters-of-the-shims-driver"),
        ("unseen", "by name", "packets-that-the-shim-does-not-see"),
    ];
    let line = |line: &str| {
        let field = ["` | map of ", "` | object | "]
            .iter()
            .find_map(|kind| line.split_once(kind).map(|(field, _)| field));
        let field = field.and_then(|field| field.rsplit(['.', '`']).next());
        let found = links.iter().find(|(name, ..)| Some(*name) == field);
        match found {
            Some((_, words, anchor)) => {
                let bare = words.trim_start_matches(", ");
                let comma = &words[..words.len() - bare.len()];
                line.replacen(words, &format!("{comma}[{bare}](#{anchor})"), 1) + "\n"
            }
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}
