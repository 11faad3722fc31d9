//! Results of a study as tidy tables: one row per run, one row per flow, one row per flow and time
//! step.
//!
//! Each row has the figure, the arm and the point of the axis (`x`, in base units), the keys that
//! vary between the study's jobs, and the seed. The same table is written as CSV and, with the feature
//! `parquet`, as Parquet; column names end with their unit, as in `driftway run --json`.
//! [`tables_of_runs`] gives the same tables of runs that belong to no study.

mod columns;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod table;
mod varied;

use driftway_base::Duration;
use driftway_scenario::{Time, Transport};
use driftway_sim::columns::{ColumnInfo, Values as Kind};
use driftway_sim::results::{
    FLOW_METRICS, FlowMetricReader, FlowOutcome, FlowResult, RunResult, is_optional_metric,
};
use driftway_sim::{is_count, network_metric, network_metrics};

pub use columns::{TableInfo, table_columns};
pub use table::{Column, Table, Values};

use crate::runner::Samples;
use crate::study::plan::{Plan, PlannedArm};
use crate::study::results::Results;
use crate::study::select::Selection;
use columns::{FIRST, FLOW_FIELDS, LAST, RUN, SEED, STEP, named};
use table::column_name;
use varied::VariedColumns;

/// The result tables: `runs`, `flows`, and `steps` if the study requests samples.
pub fn tables(plan: &Plan, selection: &Selection, results: &Results) -> Vec<Table> {
    let places = run_indices(plan, selection);
    let varied = VariedColumns::new(plan, selection);
    let about = |rows: &[RunIndex]| CommonColumns { plan, results, varied: &varied }.columns(rows);
    let mut tables = Vec::new();

    let of_run = |place: &RunIndex| &results.runs(place.job)[place.seed].result;
    let runs: Vec<&RunResult> = places.iter().map(of_run).collect();
    tables.push(Table::new("runs", [about(&places), run_columns(&runs)].concat()));

    let (mut rows, mut flows) = (Vec::new(), Vec::new());
    for (place, run) in places.iter().zip(&runs) {
        rows.extend(std::iter::repeat_n(*place, run.flows.len()));
        flows.extend(run.flows.iter().enumerate());
    }
    tables.push(Table::new("flows", [about(&rows), flow_columns(&flows)].concat()));

    if let Some(Time(step)) = plan.study.step {
        let samples = |place: &RunIndex| results.runs(place.job)[place.seed].samples.as_ref();
        let (mut rows, mut kept) = (Vec::new(), Vec::new());
        for place in &places {
            if let Some(samples) = samples(place) {
                rows.extend(std::iter::repeat_n(*place, samples.rows()));
                kept.push(samples);
            }
        }
        let columns = step_columns(&kept, step.as_secs_f64());
        tables.push(Table::new("steps", [about(&rows), columns].concat()));
    }
    tables
}

/// The tables `runs` and `flows` of runs that belong to no study: the first column is the seed, the others
/// are those of the results.
///
/// ```
/// use driftway_experiment::rows::{Values, tables_of_runs};
/// # let text = r#"
/// #     name = "one hop"
/// #     duration = "5 s"
/// #     [network]
/// #     kind = "path"
/// #     hops = 1
/// #     link = { rate = "1 Mbit/s", delay = "20 ms" }
/// #     [[flow]]
/// #     from = 0
/// #     to = 1
/// #     application = "ftp"
/// # "#;
/// let scenario = driftway_scenario::Scenario::parse("one.toml", text, &[])?;
/// let run = |seed| driftway_sim::run(&scenario, seed, None);
/// let [runs, flows] = tables_of_runs(&[run(1)?, run(2)?]);
/// assert_eq!((runs.rows(), flows.rows()), (2, 2));
/// let delivered = flows.column("delivered_bytes").ok_or("a column of flows")?;
/// assert!(matches!(&delivered.values, Values::Int(bytes) if bytes.len() == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tables_of_runs(runs: &[RunResult]) -> [Table; 2] {
    let seed = |run: &RunResult| Some(run.seed as i64);
    let seeds = runs.iter().map(seed).collect();
    let seeds_of_flows =
        runs.iter().flat_map(|run| std::iter::repeat_n(seed(run), run.flows.len())).collect();
    let flows: Vec<_> = runs.iter().flat_map(|run| run.flows.iter().enumerate()).collect();
    let runs: Vec<_> = runs.iter().collect();
    let table = |name, seeds, columns: Vec<Column>| {
        Table::new(name, [named(&SEED, [Values::Int(seeds)]), columns].concat())
    };
    [table("runs", seeds, run_columns(&runs)), table("flows", seeds_of_flows, flow_columns(&flows))]
}

/// The table `steps` of runs that belong to no study, of which each has its seed; `step` is the time between the
/// rows of a flow.
pub fn steps_of_runs(runs: &[(u64, &Samples)], step: Duration) -> Table {
    let seed =
        |(seed, samples): &(u64, &Samples)| std::iter::repeat_n(Some(*seed as i64), samples.rows());
    let seeds = runs.iter().flat_map(seed).collect();
    let kept: Vec<&Samples> = runs.iter().map(|(_, samples)| *samples).collect();
    let columns = step_columns(&kept, step.as_secs_f64());
    Table::new("steps", [named(&SEED, [Values::Int(seeds)]), columns].concat())
}

/// A run and the figure, arm and point to which it belongs.
#[derive(Clone, Copy, Debug)]
struct RunIndex {
    figure: usize,
    /// Index among the figure's arms.
    row: usize,
    x: usize,
    job: usize,
    /// Index among the selection's seeds.
    seed: usize,
}

fn run_indices(plan: &Plan, selection: &Selection) -> Vec<RunIndex> {
    let mut places = Vec::new();
    for (figure, planned) in plan.figures.iter().enumerate() {
        for (row, PlannedArm { jobs, .. }) in planned.arms.iter().enumerate() {
            for &x in selection.points(planned) {
                let job = jobs[x];
                let seeds = 0..selection.runs_of(&plan.jobs[job]) as usize;
                places.extend(seeds.map(|seed| RunIndex { figure, row, x, job, seed }));
            }
        }
    }
    places
}

struct CommonColumns<'a> {
    plan: &'a Plan,
    results: &'a Results,
    varied: &'a VariedColumns,
}

impl CommonColumns<'_> {
    /// The first columns of every table.
    fn columns(&self, rows: &[RunIndex]) -> Vec<Column> {
        let figure = |place: &RunIndex| &self.plan.figures[place.figure];
        let text = |read: &dyn Fn(&RunIndex) -> String| {
            Values::Text(rows.iter().map(|place| Some(read(place))).collect())
        };
        let x = |place: &RunIndex| figure(place).points[place.x].value;
        let run = |place: &RunIndex| &self.results.runs(place.job)[place.seed].result;
        let first = [
            text(&|place| figure(place).figure.id.clone()),
            text(&|place| figure(place).arms[place.row].arm.name.clone()),
            Values::Float(rows.iter().map(x).collect()),
        ];
        let last = [
            Values::Int(rows.iter().map(|place| Some(run(place).seed as i64)).collect()),
            text(&|place| self.plan.jobs[place.job].digest.clone()),
        ];
        let varied = self.varied.columns(rows.iter().map(|place| place.job));
        [named(&FIRST, first), varied, named(&LAST, last)].concat()
    }
}

fn run_columns(runs: &[&RunResult]) -> Vec<Column> {
    let float = |read: &dyn Fn(&RunResult) -> Option<f64>| {
        Values::Float(runs.iter().map(|run| read(run)).collect())
    };
    let int = |read: &dyn Fn(&RunResult) -> Option<u64>| {
        let value = |run: &&RunResult| read(run).map(|value| value as i64);
        Values::Int(runs.iter().map(value).collect())
    };
    let fingerprints = runs.iter().map(|run| Some(run.fingerprint.clone())).collect();
    let complete = |flow: &&FlowResult| flow.outcome == FlowOutcome::Complete;
    let values = [
        Values::Text(fingerprints),
        float(&|run| Some(run.duration_s)),
        int(&|run| Some(run.events)),
        int(&|run| Some(run.flows.len() as u64)),
        int(&|run| Some(run.flows.iter().filter(complete).count() as u64)),
        int(&|run| Some(run.flows.iter().map(|f| f.delivered_bytes).sum())),
        float(&|run| Some(run.flows.iter().filter_map(|flow| flow.throughput_bps).sum())),
    ];
    let mut columns = named(&RUN, values);
    for name in network_metrics() {
        let read = |run: &RunResult| network_metric(&name, run)?;
        let values = if is_count(&name) {
            int(&|run| read(run).map(|value| value as u64))
        } else {
            float(&read)
        };
        let column = Column::new(&column_name(&name), values);
        // A drop reason that did not occur, or a part that this network does not have.
        if !column.is_blank(name.starts_with("drops.")) {
            columns.push(column);
        }
    }
    columns
}

fn flow_columns(flows: &[(usize, &FlowResult)]) -> Vec<Column> {
    let text = |read: &dyn Fn(&FlowResult) -> Option<String>| {
        Values::Text(flows.iter().map(|(_, flow)| read(flow)).collect())
    };
    let int = |read: &dyn Fn(&FlowResult) -> i64| {
        Values::Int(flows.iter().map(|(_, flow)| Some(read(flow))).collect())
    };
    let float = |read: &dyn Fn(&FlowResult) -> Option<f64>| {
        Values::Float(flows.iter().map(|(_, flow)| read(flow)).collect())
    };
    let numbers = flows.iter().map(|(number, _)| Some(*number as i64)).collect();
    let fields = [
        int(&|flow| flow.source.into()),
        int(&|flow| flow.destination.into()),
        text(&|flow| flow.name.clone()),
        text(&|flow| Some(transport_name(flow.transport).to_owned())),
        text(&|flow| flow.tcp.clone()),
        text(&|flow| Some(flow.aid.clone().unwrap_or_else(|| "none".to_owned()))),
        text(&|flow| Some(flow.outcome.name().to_owned())),
        float(&|flow| Some(flow.start_s)),
        float(&|flow| Some(flow.end_s)),
    ];
    let mut columns = named(&columns::FLOW, [Values::Int(numbers)]);
    let fields = FLOW_FIELDS.iter().zip(fields);
    columns.extend(fields.map(|(name, values)| Column::new(name, values)));
    columns.retain(|column| column.name != "name" || !column.is_blank(false));
    let documented = ColumnInfo::of_fields::<FlowResult>();
    let is_count = |name: &str| {
        let is_integer = |of: &ColumnInfo| of.name == name && of.values == Kind::Integer;
        documented.iter().any(is_integer)
    };
    let count = |read: &FlowMetricReader| {
        Values::Int(flows.iter().map(|(_, flow)| read(flow).map(|n| n as i64)).collect())
    };
    let metrics = FLOW_METRICS.iter().map(|(name, read)| {
        Column::new(name, if is_count(name) { count(read) } else { float(read) })
    });
    columns.extend(
        metrics.filter(|column| !is_optional_metric(&column.name) || !column.is_blank(false)),
    );
    columns
}

const fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

/// `step` is the time between the rows of a flow (s).
fn step_columns(kept: &[&Samples], step: f64) -> Vec<Column> {
    fn int<T: Copy + Into<i64>>(kept: &[&Samples], read: fn(&Samples) -> &[Option<T>]) -> Values {
        let values = kept.iter().flat_map(|of| read(of));
        Values::Int(values.map(|value| value.map(Into::into)).collect())
    }
    fn count(kept: &[&Samples], read: fn(&Samples) -> &[Option<u64>]) -> Values {
        let values = kept.iter().flat_map(|of| read(of));
        Values::Int(values.map(|value| value.map(|count| count as i64)).collect())
    }
    fn float(kept: &[&Samples], read: fn(&Samples) -> &[Option<f64>]) -> Values {
        Values::Float(kept.iter().flat_map(|of| read(of)).copied().collect())
    }
    let whole = |read: fn(&Samples) -> Vec<i64>| {
        Values::Int(kept.iter().flat_map(|of| read(of)).map(Some).collect())
    };
    let times = kept.iter().flat_map(|of| &of.time_s).map(|time| Some(*time)).collect();
    let states = kept.iter().flat_map(|of| of.aid_state.iter().cloned()).collect();
    let values = [
        Values::Float(times),
        whole(|of| of.flow.iter().map(|flow| (*flow).into()).collect()),
        whole(|of| of.delivered_bytes.iter().map(|n| *n as i64).collect()),
        Values::Float(kept.iter().flat_map(|of| rates(of, step)).collect()),
        whole(|of| of.queue_length.iter().map(|n| (*n).into()).collect()),
        int(kept, |of| &of.hops),
        count(kept, |of| &of.segments_sent),
        count(kept, |of| &of.retransmissions),
        count(kept, |of| &of.timeouts),
        int(kept, |of| &of.cwnd_bytes),
        int(kept, |of| &of.ssthresh_bytes),
        float(kept, |of| &of.srtt_s),
        float(kept, |of| &of.rto_s),
        Values::Text(states),
    ];
    let columns = STEP.iter().zip(values);
    columns.map(|(name, values)| Column::new(name, values)).collect()
}

/// Throughput of each row's flow since its previous row (bit/s).
fn rates(samples: &Samples, step: f64) -> Vec<Option<f64>> {
    let mut last: Vec<(f64, u64)> = Vec::new();
    let rows = samples.time_s.iter().zip(&samples.flow).zip(&samples.delivered_bytes);
    rows.map(|((&time, &flow), &delivered)| {
        let flow = flow as usize;
        if last.len() <= flow {
            last.resize(flow + 1, (0.0, 0));
        }
        let (from, before) = std::mem::replace(&mut last[flow], (time, delivered));
        let took = time - from;
        // The remainder of a run may have no duration.
        (took > step * 1e-9).then(|| (delivered - before) as f64 * 8.0 / took)
    })
    .collect()
}
