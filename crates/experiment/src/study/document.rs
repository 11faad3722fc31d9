//! Results of a study, as `driftway paper --json` prints them and the page shows them.

use driftway_scenario::Unit;
use driftway_sim::results::Estimate;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::format::{Arm, OpenQuestion};
use super::select::RecordedVerdicts;
use super::statement::CountedAs;
use super::statement::format::{Bound, StatementKind, Verdict};

/// The schema version of [`StudyDocument`]. It increases when a reader of the old form would misread the new
/// one.
pub const SCHEMA: u32 = 3;

/// All results. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct StudyDocument {
    /// The version of this form.
    pub schema: u32,
    /// Name of the paper; absent for other studies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// Name of the study; absent for papers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// Version of driftway.
    pub version: String,
    /// Title of the study.
    pub title: String,
    /// Seeds of the runs of each point.
    pub seeds: Vec<u64>,
    /// True if not all runs, or not all points, were run.
    pub reduced: bool,
    /// The recorded verdicts with which these results are compared.
    pub recorded: RecordedVerdicts,
    /// One entry per figure and metric.
    pub figures: Vec<FigureResult>,
    /// The readings, the literal one first.
    pub readings: Vec<ReadingResult>,
    /// Numbers of statements by verdict, for each reading and for those outside all readings.
    pub counts: Vec<Counts>,
    /// One entry per statement, figure and reading.
    pub statements: Vec<StatementResult>,
    /// Questions that the paper leaves open.
    pub open: Vec<OpenQuestion>,
    /// Cost of the runs; never compared.
    pub timing: Timing,
}

/// One metric of a figure.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct FigureResult {
    /// The paper's number of the figure, or a name of ours.
    pub figure: String,
    /// Title of the figure.
    pub title: String,
    /// The first of its seeds; absent if it is the study's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seed: Option<u64>,
    /// Its number of runs; absent if it is that of the study's seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Independent variable; `null` without an axis.
    pub x: Option<XAxis>,
    /// Measured metric.
    pub y: YAxis,
    /// Results of the arms, by the names of the arms: one entry per point.
    pub arms: Arms,
    /// Differences between arms, paired by seed.
    pub differences: Vec<DifferenceResult>,
    /// Ratios of arms, paired by seed, where the study compares by ratios; else absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<RatioResult>,
    /// Values that the paper reports.
    pub paper: Vec<CurveResult>,
    /// Horizontal lines.
    pub lines: Vec<LineResult>,
}

/// Independent variable.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct XAxis {
    /// Label of the axis.
    pub label: String,
    /// The keys that vary, if each point sets the same ones.
    pub keys: Vec<String>,
    /// Unit: `s`, `bit/s`, `B`, `m`, `m/s`, `Hz`, or empty.
    #[serde(serialize_with = "unit_symbol")]
    #[schemars(with = "&'static str")]
    pub unit: Unit,
    /// Positions and names of the points that have a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(f64, String)>,
}

impl XAxis {
    /// Name of the point at `x`, if it has one.
    pub fn name(&self, x: f64) -> Option<&str> {
        let name = self.names.iter().find(|(at, _)| (at - x).abs() <= 1e-9 * x.abs());
        name.map(|(_, name)| name.as_str())
    }
}

/// Measured metric.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct YAxis {
    /// The metric, as in `driftway run --json`; of a ratio both, as in
    /// `delivered_packets/sent_packets`.
    pub metric: String,
    /// Label of the axis.
    pub label: String,
    /// Unit: `s`, `bit/s`, `B`, `m`, `m/s`, `Hz`, or empty.
    pub unit: &'static str,
}

/// Arms in the paper's order, each name with its points.
#[derive(Clone, Debug)]
pub struct Arms(pub Vec<ArmResult>);

/// Results of one arm.
#[derive(Clone, Debug)]
pub struct ArmResult {
    /// The arm.
    pub arm: Arm,
    /// Points.
    pub points: Vec<PointResult>,
}

impl schemars::JsonSchema for Arms {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Arms".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<std::collections::BTreeMap<String, Vec<PointResult>>>()
    }
}

impl Serialize for Arms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for arm in &self.0 {
            map.serialize_entry(&arm.arm.name, &arm.points)?;
        }
        map.end()
    }
}

/// A mean over the seeds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct PointResult {
    /// Position in base units; `null` without an axis.
    pub x: Option<f64>,
    /// Mean; `null` if no run has a value.
    pub mean: Option<f64>,
    /// Lower and upper end of the 90 % confidence interval; `null` for one value.
    pub ci90: Option<[f64; 2]>,
    /// Lower and upper end of the 95 % confidence interval; `null` for one value.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs.
    pub n: u64,
    /// Number of runs whose transfer did not complete. They count with the time that they had, so
    /// that the mean is a lower bound.
    pub incomplete: u64,
}

impl PointResult {
    /// The mean with its intervals.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(Estimate { mean: self.mean?, ci90: self.ci90, ci95: self.ci95, n: self.n })
    }
}

/// Difference between two arms, paired by seed.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct DifferenceResult {
    /// The arm.
    pub arm: String,
    /// The arm that is subtracted.
    pub against: String,
    /// The mean differences, one entry per point.
    pub points: Vec<PointResult>,
}

/// Ratio of two arms, paired by seed.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct RatioResult {
    /// The arm.
    pub arm: String,
    /// The arm by which it is divided.
    pub against: String,
    /// The ratios of the means, one entry per point; no unit.
    pub points: Vec<PointResult>,
}

/// Values that the paper reports.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CurveResult {
    /// Label of the curve.
    pub label: String,
    /// The arm with which they are compared.
    pub arm: String,
    /// The points: x in base units, and the value.
    pub points: Vec<(f64, f64)>,
}

/// A horizontal line.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct LineResult {
    /// Label of the line.
    pub label: String,
    /// Value on the metric's axis, in its base unit.
    pub value: f64,
}

/// A reading of the paper.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ReadingResult {
    /// Name of the reading.
    pub name: String,
    /// Label of the reading.
    pub label: String,
    /// True if it is a variant of ours, and no reading of the paper.
    pub ours: bool,
}

/// Numbers of statements of one reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Name of the reading; `null`: statements outside all readings.
    pub reading: Option<String>,
    /// The paper's numbers.
    pub numbers: Count,
    /// The paper's statements of order, trend, band or difference.
    pub orders: Count,
    /// Statements that were run but that no aid could violate, with any verdict.
    pub capped: u64,
    /// Our own statements.
    pub ours: Count,
    /// Statements whose runs are those of an earlier reading, with any verdict: they are not counted again; absent
    /// if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub repeated: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Numbers of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Count {
    /// Statements that agree.
    pub agree: u64,
    /// Statements that differ.
    pub differ: u64,
    /// Statements that are undecided: more runs are needed.
    pub undecided: u64,
    /// Statements that were not run.
    pub not_run: u64,
}

impl Count {
    fn add(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(Verdict::Agrees) => self.agree += 1,
            Some(Verdict::Differs) => self.differ += 1,
            Some(Verdict::Undecided) => self.undecided += 1,
            None => self.not_run += 1,
        }
    }

    /// Number of all statements.
    pub const fn total(&self) -> u64 {
        self.agree + self.differ + self.undecided + self.not_run
    }
}

/// Counts `statements` by reading, in the order of the readings; those outside all readings come
/// last.
pub fn count_statements(readings: &[ReadingResult], statements: &[StatementResult]) -> Vec<Counts> {
    let readings = readings.iter().map(|reading| Some(reading.name.clone()));
    let counts = readings.chain([None]).map(|reading| {
        let mut counts = Counts { reading, ..Counts::default() };
        for statement in statements.iter().filter(|of| of.reading == counts.reading) {
            if statement.same_as.is_some() {
                counts.repeated += 1;
                continue;
            }
            match statement.counted {
                CountedAs::Number => counts.numbers.add(statement.verdict),
                CountedAs::Order => counts.orders.add(statement.verdict),
                CountedAs::Capped => counts.capped += u64::from(statement.verdict.is_some()),
                CountedAs::Ours => counts.ours.add(statement.verdict),
            }
        }
        counts
    });
    let any = |of: &Counts| {
        of.reading.is_some()
            || of.repeated + of.capped + of.numbers.total() + of.orders.total() + of.ours.total()
                > 0
    };
    counts.filter(any).collect()
}

/// Result of a statement.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct StatementResult {
    /// Name of the statement.
    pub id: String,
    /// Its figure.
    pub figure: String,
    /// The reading in which it is judged; `null`: none.
    pub reading: Option<String>,
    /// The statement in words.
    pub says: String,
    /// A number in the prose, or an order, a trend, a band or a difference.
    pub kind: StatementKind,
    /// Category in which it is counted.
    pub counted: CountedAs,
    /// Reason why no aid could violate it; `null`: one could.
    pub capped: Option<String>,
    /// An earlier reading in which the runs of its arms are the same, event by event, so that it is not counted
    /// again; `null`: there is none.
    pub same_as: Option<String>,
    /// Its metric.
    pub metric: String,
    /// The paper's number, from and to; `null` for a shape.
    pub number: Option<[f64; 2]>,
    /// Kind of bound, if the number is one; `null`: it is not.
    pub bound: Option<Bound>,
    /// Range of a ratio, from and to; `null` without one.
    pub band: Option<(f64, f64)>,
    /// The mean, the ratio or the paired difference; `null` without measurements.
    pub measured: Option<f64>,
    /// Lower and upper end of the 90 % confidence interval; `null` for one value.
    pub ci90: Option<[f64; 2]>,
    /// Lower and upper end of the 95 % confidence interval; `null` for one value. Verdicts depend on the
    /// 90 % interval alone.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs, or of pairs of runs.
    pub n: u64,
    /// Its x in base units; if it must hold at several, the worst one; `null` without one.
    pub at: Option<f64>,
    /// Agreement of the measurement; `null`: not run.
    pub verdict: Option<Verdict>,
    /// The recorded verdict for this number of runs; for other numbers, that of all runs; `null` if none is
    /// recorded.
    pub expected: Option<Verdict>,
    /// Name of the cause of a disagreement; `null` as `because`.
    pub cause: Option<String>,
    /// Cause of a disagreement; `null` if it does not differ, or if the cause is not known.
    pub because: Option<String>,
    /// The command whose output shows the cause; `null` if none is recorded.
    pub shown_by: Option<String>,
    /// Notes: parts that were not run, or results that depend on incomplete transfers.
    pub notes: Vec<String>,
    /// Unit of `at`.
    #[serde(skip)]
    pub x_unit: Unit,
    /// It is a ratio.
    #[serde(skip)]
    pub is_ratio: bool,
    /// The paper gives a percentage.
    #[serde(skip)]
    pub is_percent: bool,
}

impl StatementResult {
    /// True if an aid could violate it, and no earlier reading has the same runs.
    pub fn is_counted(&self) -> bool {
        self.counted != CountedAs::Capped && self.same_as.is_none()
    }

    /// True if the verdict differs from the recorded one, which capped statements do not have.
    pub fn is_unexpected(&self) -> bool {
        let expected = self.expected.filter(|_| self.counted != CountedAs::Capped);
        expected.zip(self.verdict).is_some_and(|(expected, found)| found != expected)
    }
}

/// Cost of the runs.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs in parallel.
    pub jobs: u64,
    /// Events per second of wall-clock time; `null` if it is not known.
    pub events_per_s: Option<f64>,
}

fn unit_symbol<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.symbol())
}

impl StudyDocument {
    /// The results of a figure, one for each measure.
    pub fn measures<'a>(&'a self, figure: &'a str) -> impl Iterator<Item = &'a FigureResult> {
        self.figures.iter().filter(move |of| of.figure == figure)
    }

    /// The statements about a figure.
    pub fn about<'a>(&'a self, figure: &'a str) -> impl Iterator<Item = &'a StatementResult> {
        self.statements.iter().filter(move |of| of.figure == figure)
    }

    /// Statements whose verdict differs from the recorded one. Capped statements have no recorded
    /// verdict.
    pub fn unexpected(&self) -> Vec<&StatementResult> {
        self.statements.iter().filter(|of| of.is_unexpected()).collect()
    }

    /// Statements without a recorded verdict.
    pub fn unrecorded(&self) -> Vec<&StatementResult> {
        let is_new = |of: &&StatementResult| {
            of.counted != CountedAs::Capped && of.verdict.is_some() && of.expected.is_none()
        };
        self.statements.iter().filter(is_new).collect()
    }
}
