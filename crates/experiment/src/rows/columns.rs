//! The columns of the result tables, with their descriptions.

use driftway_sim::columns::{ColumnInfo, Values};
use driftway_sim::network_metric_columns;
use driftway_sim::results::{FLOW_METRICS, FlowResult};

use super::table::{self, column_name};
use crate::runner::Samples;

/// The first columns of each table, before those of the keys that vary.
pub(super) static FIRST: [ColumnInfo; 3] = [
    ColumnInfo::new("figure", Values::Text, "The figure, by its name in the study."),
    ColumnInfo::new("arm", Values::Text, "The arm."),
    ColumnInfo::new(
        "x",
        Values::Number,
        "The point of the axis, in base units; empty without an axis.",
    ),
];

/// The first column of runs that belong to no study.
pub(super) static SEED: [ColumnInfo; 1] =
    [ColumnInfo::new("seed", Values::Integer, "The seed of the run.")];

/// The columns after those of the keys that vary.
pub(super) static LAST: [ColumnInfo; 2] = [
    ColumnInfo::new("seed", Values::Integer, "The seed of the run."),
    ColumnInfo::new(
        "scenario",
        Values::Text,
        "A digest of the scenario, in hexadecimal: equal for equal scenarios.",
    ),
];

/// The columns of a run, before the metrics of its network.
pub(super) static RUN: [ColumnInfo; 7] = [
    ColumnInfo::new(
        "fingerprint",
        Values::Text,
        "A digest of every event of the run, in hexadecimal: equal for equal runs.",
    ),
    ColumnInfo::new("duration_s", Values::Number, "Simulated time (s)."),
    ColumnInfo::new("events", Values::Integer, "Events that the simulator handled."),
    ColumnInfo::new("flows", Values::Integer, "The number of flows."),
    ColumnInfo::new("flows_complete", Values::Integer, "Flows whose transfer completed."),
    ColumnInfo::new(
        "delivered_bytes",
        Values::Integer,
        "Payload delivered in order, over all flows (bytes).",
    ),
    ColumnInfo::new(
        "throughput_bps",
        Values::Number,
        "The sum of the throughputs of all flows (bit/s).",
    ),
];

/// The first column of a flow.
pub(super) static FLOW: [ColumnInfo; 1] =
    [ColumnInfo::new("flow", Values::Integer, "The index of the flow in the scenario, from 0.")];

/// The fields of [`FlowResult`] that are columns of a flow, before its metrics.
pub(super) const FLOW_FIELDS: [&str; 9] =
    ["source", "destination", "name", "transport", "tcp", "aid", "outcome", "start_s", "end_s"];

/// The column of [`STEP`] that is not a field of [`Samples`].
static STEP_THROUGHPUT: ColumnInfo = ColumnInfo::new(
    "throughput_bps",
    Values::Number,
    "Throughput since the flow's previous row (bit/s); empty if no time passed since.",
);

/// The columns of a time step: fields of [`Samples`], and the throughput.
pub(super) const STEP: [&str; 14] = [
    "time_s",
    "flow",
    "delivered_bytes",
    "throughput_bps",
    "queue_length",
    "hops",
    "segments_sent",
    "retransmissions",
    "timeouts",
    "cwnd_bytes",
    "ssthresh_bytes",
    "srtt_s",
    "rto_s",
    "aid_state",
];

/// Columns with these names.
pub(super) fn named<const N: usize>(
    columns: &[ColumnInfo; N],
    values: [table::Values; N],
) -> Vec<table::Column> {
    let columns = columns.iter().zip(values);
    columns.map(|(column, values)| table::Column::new(&column.name, values)).collect()
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The name of the table: `runs`, `flows` or `steps`.
    pub name: &'static str,
    /// The columns before those of the keys that vary.
    pub first: Vec<ColumnInfo>,
    /// The columns after those of the keys that vary.
    pub rest: Vec<ColumnInfo>,
}

/// The columns of each table, some of which are absent if no row has a value.
pub fn table_columns() -> [TableInfo; 3] {
    let of_flow = ColumnInfo::of_fields::<FlowResult>();
    let of_sample = ColumnInfo::of_fields::<Samples>();
    let find = |fields: &[ColumnInfo], name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        field.unwrap_or(&STEP_THROUGHPUT).clone()
    };
    let network = network_metric_columns().into_iter();
    let network =
        network.map(|column| ColumnInfo { name: column_name(&column.name).into(), ..column });
    let fields = FLOW_FIELDS.into_iter().chain(FLOW_METRICS.map(|(name, _)| name));
    let fields = fields.map(|name| find(&of_flow, name));
    let steps = STEP.map(|name| find(&of_sample, name)).to_vec();
    let table = |name, own: Vec<ColumnInfo>| TableInfo {
        name,
        first: FIRST.to_vec(),
        rest: [LAST.to_vec(), own].concat(),
    };
    [
        table("runs", RUN.iter().cloned().chain(network).collect()),
        table("flows", FLOW.iter().cloned().chain(fields).collect()),
        table("steps", steps),
    ]
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_column_is_a_documented_field() {
        let names =
            |fields: Vec<ColumnInfo>| fields.into_iter().map(|field| field.name.to_string());
        let flow: Vec<String> = names(ColumnInfo::of_fields::<FlowResult>()).collect();
        assert!(FLOW_FIELDS.iter().all(|name| flow.iter().any(|field| field == name)));
        let sample: Vec<String> = names(ColumnInfo::of_fields::<Samples>()).collect();
        let known =
            |name: &&str| sample.iter().any(|field| field == name) || *name == STEP_THROUGHPUT.name;
        assert!(STEP.iter().all(known), "{sample:?}");
        for table in table_columns() {
            for column in table.first.iter().chain(&table.rest) {
                assert!(!column.meaning.is_empty(), "{} of {}", column.name, table.name);
            }
        }
    }
}
