//! User CPU time and memory compared with ns-2.35, on the validation cases with mobile nodes.

use std::fmt::Write;
use std::path::Path;

use super::document::{BenchRow, RunCosts};
use super::measured_run::{megabytes, run_in_process};
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::text::{Grid, count, wrapped};
use driftway_experiment::study::reference::Ns2Config;
use driftway_experiment::summary::estimate;
use driftway_experiment::validation::cases::{Point, SimulatorCase, ValidationCases};
use driftway_experiment::validation::compare::within;
use driftway_experiment::validation::ns2::{Ns2Simulator, ResourceUsage};
use driftway_experiment::validation::run_metrics::{RunMetrics, StoredRuns};
use driftway_experiment::validation::simulate::flow_seconds;

/// The cases whose speed is compared.
const CASES: [&str; 2] = ["mobile-aodv", "mobile-dsr"];

/// Tolerance on the ratio of the work that both simulators did, for a row to count.
const WORK_TOLERANCE: f64 = 0.1;

/// Cost and work of one simulator's runs, means over the seeds.
#[derive(Clone, Copy, Debug, Default)]
struct SimulatorCost {
    user_s: f64,
    max_rss_bytes: f64,
    goodput_bps: f64,
    hops: f64,
}

/// A run's record and its resource usage.
type MeasuredRun = (RunMetrics, ResourceUsage);

impl SimulatorCost {
    fn of(runs: &[MeasuredRun]) -> Option<Self> {
        let mean = |read: fn(&MeasuredRun) -> Option<f64>| -> Option<f64> {
            Some(estimate(&runs.iter().map(read).collect::<Option<Vec<f64>>>()?)?.mean)
        };
        Some(Self {
            user_s: mean(|(_, used)| Some(used.user_s))?,
            max_rss_bytes: mean(|(_, used)| Some(used.max_rss_bytes as f64))?,
            goodput_bps: mean(|(run, _)| run.get("goodput_bps"))?,
            hops: mean(|(run, _)| Some(run.get("data_hops")? + run.get("ack_hops")?))?,
        })
    }
}

/// Both simulators on one movement file under one routing protocol.
struct Row {
    name: String,
    ours: SimulatorCost,
    theirs: SimulatorCost,
}

impl Row {
    /// Returns true if both simulators did the same work within [`WORK_TOLERANCE`].
    fn is_comparable(&self) -> bool {
        within(self.ours.goodput_bps / self.theirs.goodput_bps, WORK_TOLERANCE)
            && within(self.ours.hops / self.theirs.hops, WORK_TOLERANCE)
    }
}

/// A table for each case, or a message that ns-2.35 is not installed.
///
/// # Errors
/// A failed run, or, with `--ns2`, a missing ns-2.35.
pub fn ns2_tables(args: &BenchArgs) -> Result<String, Failure> {
    let cases = ValidationCases::load(&args.study, &CASES.map(str::to_owned))?;
    let stored = StoredRuns::load(&cases.dir.join("ns2.csv"))?;
    let ns2 = match Ns2Simulator::find(&cases.dir) {
        Ok(ns2) => ns2,
        Err(_) if !args.ns2 => {
            return Ok(
                "ns-2.35 is not installed (Debian: apt-get install ns2): there is no comparison \
                 with it.\n"
                    .to_owned(),
            );
        }
        Err(error) => return Err(error.into()),
    };
    let mut text = wrapped(
        "User CPU time and peak memory of a run, compared with ns-2.35 without traces. Each run is \
         a process of its own, one at a time. Means over the seeds.",
        0,
    );
    for case in &cases.cases {
        let mut rows = Vec::new();
        for point in &case.about.points {
            rows.push(row(args, case, point, (&ns2, &stored))?);
        }
        rows.push(overall_row(&rows));
        let _ =
            write!(text, "\n{}\n{}{}", case.about.title, cost_table(&rows), excluded_note(&rows));
    }
    Ok(text)
}

/// A row for each point of each case; without ns-2.35 those of driftway alone.
///
/// # Errors
/// A failed run, or, with `--ns2`, a missing ns-2.35.
pub fn rows(args: &BenchArgs) -> Result<Vec<BenchRow>, Failure> {
    let cases = ValidationCases::load(&args.study, &CASES.map(str::to_owned))?;
    let ns2 = Ns2Simulator::find(&cases.dir);
    let ns2 = if args.ns2 { Some(ns2?) } else { ns2.ok() };
    let mut rows = Vec::new();
    for case in &cases.cases {
        for point in &case.about.points {
            let ours = costs(&own_runs(args, point)?)?;
            let theirs = ns2.as_ref().map(|ns2| costs(&ns2_runs(args, case, point, ns2)?));
            let name = format!("{}/{}", case.about.name, point.name);
            let theirs = theirs.transpose()?;
            rows.push(BenchRow::new(name, &point.job.scenario, &ours, theirs.as_ref()));
        }
    }
    Ok(rows)
}

/// CPU time and goodput of each run.
fn costs(runs: &[MeasuredRun]) -> Result<RunCosts, Failure> {
    let cost = |(run, used): &MeasuredRun| Some((used.user_s, run.get("goodput_bps")?));
    let missing = || Failure::Failed("a run without a goodput".to_owned());
    runs.iter().map(cost).collect::<Option<_>>().ok_or_else(missing)
}

/// Runs of driftway, one for each seed.
fn own_runs(args: &BenchArgs, point: &Point) -> Result<Vec<MeasuredRun>, Failure> {
    let lasts = flow_seconds(&point.job.scenario);
    let run = |seed| {
        let (result, used) = run_in_process(Path::new(&point.job.file), &point.job.set, seed)?;
        Ok((RunMetrics::of_run(&result, lasts), used))
    };
    (1..=args.runs.get()).map(run).collect()
}

/// Runs of ns-2.35 without traces, one for each seed.
fn ns2_runs(
    args: &BenchArgs,
    case: &SimulatorCase,
    point: &Point,
    ns2: &Ns2Simulator,
) -> Result<Vec<MeasuredRun>, Failure> {
    let missing =
        || Failure::Failed(format!("{} {}: nothing to compare", case.about.name, point.name));
    let of: &Ns2Config = case.ns2.as_ref().ok_or_else(missing)?;
    (1..=args.runs.get()).map(|seed| Ok(ns2.run((case, of, point), seed, "none")?)).collect()
}

fn row(
    args: &BenchArgs,
    case: &SimulatorCase,
    point: &Point,
    (ns2, stored): (&Ns2Simulator, &StoredRuns),
) -> Result<Row, Failure> {
    let ours = own_runs(args, point)?;
    let name = &case.about.name;
    let missing = || Failure::Failed(format!("{name} {}: nothing to compare", point.name));
    let of: &Ns2Config = case.ns2.as_ref().ok_or_else(missing)?;
    let mut theirs = Vec::new();
    for (seed, (record, used)) in (1..).zip(ns2_runs(args, case, point, ns2)?) {
        // Only the trace has the number of hops. A seed gives the same run with and without a
        // trace, so if the stored run is the same, its number of hops is used.
        let kept = stored.runs(name, &point.name).iter().find(|(of, kept)| {
            let same = |name: &str| kept.get(name) == record.get(name);
            *of == seed && same("segments_sent") && same("retransmissions") && same("timeouts")
        });
        let record = match kept {
            Some((_, kept)) => kept.clone(),
            None => ns2.run((case, of, point), seed, &of.trace)?.0,
        };
        theirs.push((record, used));
    }
    let (ours, theirs) = (SimulatorCost::of(&ours), SimulatorCost::of(&theirs));
    let (ours, theirs) = ours.zip(theirs).ok_or_else(missing)?;
    Ok(Row { name: point.name.clone(), ours, theirs })
}

fn cost_table(rows: &[Row]) -> Grid {
    let header =
        ["file", "CPU (s)", "ns-2 (s)", "faster", "per hop", "goodput", "hops", "MB", "ns-2"];
    let rows = rows.iter().map(|row| {
        let (ours, theirs) = (&row.ours, &row.theirs);
        let faster = theirs.user_s / ours.user_s;
        let mark = if row.is_comparable() { "" } else { " –" };
        vec![
            row.name.clone(),
            format!("{:.2}", ours.user_s),
            format!("{:.2}", theirs.user_s),
            format!("{faster:.1}{mark}"),
            format!("{:.1}", faster * ours.hops / theirs.hops),
            format!("{:.3}", ours.goodput_bps / theirs.goodput_bps),
            format!("{:.3}", ours.hops / theirs.hops),
            megabytes(ours.max_rss_bytes),
            megabytes(theirs.max_rss_bytes),
        ]
    });
    Grid { header: header.map(str::to_owned).to_vec(), rows: rows.collect() }
}

/// The mean over all files. Single runs of DSR differ by a factor of two between seeds, so the
/// values of one file may differ by chance.
fn overall_row(rows: &[Row]) -> Row {
    let mean = |side: fn(&Row) -> &SimulatorCost| {
        let mean = |read: fn(&SimulatorCost) -> f64| {
            rows.iter().map(|row| read(side(row))).sum::<f64>() / rows.len() as f64
        };
        SimulatorCost {
            user_s: mean(|side| side.user_s),
            max_rss_bytes: mean(|side| side.max_rss_bytes),
            goodput_bps: mean(|side| side.goodput_bps),
            hops: mean(|side| side.hops),
        }
    };
    Row { name: "all".to_owned(), ours: mean(|row| &row.ours), theirs: mean(|row| &row.theirs) }
}

/// The number of rows that do not count, with the reason; empty if all do.
fn excluded_note(rows: &[Row]) -> String {
    let left_out = rows.iter().filter(|row| !row.is_comparable()).count();
    if left_out == 0 {
        return String::new();
    }
    wrapped(
        &format!(
            "{} (–) not counted: goodput or hop transmissions differ by more than 10 %.",
            count(left_out as u64, "row")
        ),
        0,
    )
}
