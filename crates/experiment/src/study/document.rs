//! What came out, as `driftway paper --json` prints it and the page draws it.

use driftway_scenario::Unit;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::select::RecordedVerdicts;
use super::statement::CountedAs;
use super::statement::format::{Bound, StatementKind, Verdict};

/// Everything that came out. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Document {
    /// What the paper is called; of a study that is no paper's, it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// What the study is called; of a paper, it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// The version of driftway.
    pub version: String,
    /// Its title.
    pub title: String,
    /// Every point has a run with each of these.
    pub seeds: Vec<u64>,
    /// Not all runs, or not at all points.
    pub reduced: bool,
    /// Which recorded verdicts these runs are held to.
    pub recorded: RecordedVerdicts,
    /// One for each figure and each of its metrics.
    pub figures: Vec<FigureResult>,
    /// What the readings are, the literal one first.
    pub readings: Vec<ReadingResult>,
    /// How many statements agree, for each reading, and of ours.
    pub counts: Vec<Counts>,
    /// One a statement, figure and reading.
    pub statements: Vec<StatementResult>,
    /// What the paper leaves open.
    pub open: Vec<OpenResult>,
    /// What it took; no comparison includes it.
    pub timing: Timing,
}

/// One metric of a figure.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FigureResult {
    /// The paper's number of it, or our name.
    pub figure: String,
    /// What it shows.
    pub title: String,
    /// The first of its seeds; absent where that is the study's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seed: Option<u64>,
    /// What varies; `null` where nothing does.
    pub x: Option<XAxis>,
    /// What is measured.
    pub y: YAxis,
    /// What each arm did.
    pub arms: Arms,
    /// What arms do compared with others, seed by seed.
    pub differences: Vec<DifferenceResult>,
    /// What the paper reports.
    pub paper: Vec<CurveResult>,
    /// Lines across.
    pub lines: Vec<LineResult>,
    /// Which figure of the file, and which measure of it.
    #[serde(skip)]
    pub index: (usize, usize),
}

/// What varies.
#[derive(Clone, Debug, serde::Serialize)]
pub struct XAxis {
    /// What it is called.
    pub label: String,
    /// The keys that vary, where each point sets the same ones.
    pub keys: Vec<String>,
    /// What it is measured in: `s`, `bit/s`, `B`, or empty.
    pub unit: &'static str,
    /// What the points are called that have names, and where they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(f64, String)>,
}

impl XAxis {
    /// What the point at `x` is called, if it has a name.
    pub fn name(&self, x: f64) -> Option<&str> {
        let name = self.names.iter().find(|(at, _)| (at - x).abs() <= 1e-9 * x.abs());
        name.map(|(_, name)| name.as_str())
    }
}

/// What is measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct YAxis {
    /// The metric, as in `driftway run --json`.
    pub metric: String,
    /// What it is called.
    pub label: String,
    /// What it is measured in.
    pub unit: &'static str,
}

/// Arms in the paper's order, each name with its points.
#[derive(Clone, Debug)]
pub struct Arms(pub Vec<ArmResult>);

/// What one arm did.
#[derive(Clone, Debug)]
pub struct ArmResult {
    /// Its number among the paper's arms.
    pub arm: usize,
    /// What it is called.
    pub name: String,
    /// Its points.
    pub points: Vec<PointResult>,
}

impl Serialize for Arms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for arm in &self.0 {
            map.serialize_entry(&arm.name, &arm.points)?;
        }
        map.end()
    }
}

/// A mean over the seeds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PointResult {
    /// Where, in base units; `null` where there is no axis.
    pub x: Option<f64>,
    /// The mean; `null` where no run has a value.
    pub mean: Option<f64>,
    /// Its 90 % interval.
    pub ci90: Option<[f64; 2]>,
    /// Runs that it stands on.
    pub n: u64,
    /// Runs whose transfer did not complete. They count with the time that they had: the mean is
    /// that or more.
    pub incomplete: u64,
}

/// One arm less another, paired by seed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct DifferenceResult {
    /// The one,
    pub arm: String,
    /// and the other that is taken away.
    pub against: String,
    /// At each point.
    pub points: Vec<PointResult>,
}

/// What the paper reports.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CurveResult {
    /// What it is called.
    pub label: String,
    /// The arm that it compares with.
    pub arm: String,
    /// (x in base units, value)
    pub points: Vec<(f64, f64)>,
}

/// A line across.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LineResult {
    /// What it is.
    pub label: String,
    /// Where.
    pub value: f64,
}

/// A way to read the paper.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ReadingResult {
    /// What it is called,
    pub name: String,
    /// and what it is.
    pub label: String,
}

/// How many statements of one reading agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Which; `null`: what belongs to no reading.
    pub reading: Option<String>,
    /// The paper's numbers.
    pub numbers: Count,
    /// What the paper says of order, trend, band or difference.
    pub orders: Count,
    /// What was run that no aid could break, whatever came out.
    pub capped: u64,
    /// What we say.
    pub ours: Count,
}

/// Verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Count {
    /// Statements that agree,
    pub agree: u64,
    /// that differ,
    pub differ: u64,
    /// and that were not run.
    pub not_run: u64,
}

impl Count {
    fn add(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(Verdict::Agrees) => self.agree += 1,
            Some(Verdict::Differs) => self.differ += 1,
            None => self.not_run += 1,
        }
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.agree + self.differ + self.not_run
    }
}

/// Counts `statements`, by reading in their order; what belongs to none comes last.
pub fn count_statements(readings: &[ReadingResult], statements: &[StatementResult]) -> Vec<Counts> {
    let readings = readings.iter().map(|reading| Some(reading.name.clone()));
    let counts = readings.chain([None]).map(|reading| {
        let mut counts = Counts { reading, ..Counts::default() };
        for statement in statements.iter().filter(|of| of.reading == counts.reading) {
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
            || of.capped + of.numbers.total() + of.orders.total() + of.ours.total() > 0
    };
    counts.filter(any).collect()
}

/// What came of a statement.
#[derive(Clone, Debug, serde::Serialize)]
pub struct StatementResult {
    /// What it is called.
    pub id: String,
    /// The figure that it is about.
    pub figure: String,
    /// The reading in which it is judged; `null`: none.
    pub reading: Option<String>,
    /// What is said.
    pub says: String,
    /// A number in the prose, or an order, a trend, a band or a difference.
    pub kind: StatementKind,
    /// Where it is counted.
    pub counted: CountedAs,
    /// Why no aid could break it; `null`: one could.
    pub capped: Option<String>,
    /// The metric that it is about.
    pub metric: String,
    /// What the paper says, from and to; `null` for a shape.
    pub number: Option<[f64; 2]>,
    /// Where the number is an end.
    pub bound: Option<Bound>,
    /// What a ratio must lie between; `null` where nothing like that is said.
    pub band: Option<(f64, f64)>,
    /// The mean, the ratio or the paired difference; `null` where nothing was measured.
    pub measured: Option<f64>,
    /// Its 90 % interval.
    pub ci90: Option<[f64; 2]>,
    /// Runs, or pairs of them, that it stands on.
    pub n: u64,
    /// At which x: where it must hold at several, the one that is worst.
    pub at: Option<f64>,
    /// `null`: not run.
    pub verdict: Option<Verdict>,
    /// The verdict that is recorded for so many runs; for other numbers of runs, that of all.
    pub expected: Verdict,
    /// Why it differs; `null` where it agrees, or where the cause is not known yet.
    pub because: Option<String>,
    /// The command whose output shows why.
    pub shown_by: Option<String>,
    /// What else to know: what was not run, what rests on transfers that did not complete.
    pub notes: Vec<String>,
    /// Which figure of the file, and which measure of it.
    #[serde(skip)]
    pub index: (usize, usize),
    /// The unit of `at`.
    #[serde(skip)]
    pub x_unit: &'static str,
    /// It is a ratio.
    #[serde(skip)]
    pub is_ratio: bool,
    /// The paper has a percentage.
    #[serde(skip)]
    pub is_percent: bool,
}

/// What the paper leaves open.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OpenResult {
    /// What.
    pub what: String,
    /// The values that were tried.
    pub tried: Vec<String>,
    /// The one that is run.
    pub run: String,
    /// Why.
    pub because: String,
    /// It was chosen by looking at what came out.
    pub fitted: bool,
    /// The command that shows what others would do.
    pub shown_by: String,
}

/// What it took.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Runs.
    pub runs: u64,
    /// Runs at a time.
    pub jobs: u64,
    /// Events handled in a second of wall-clock time.
    pub events_per_s: Option<f64>,
}

/// A unit's name.
pub const fn unit_name(unit: Unit) -> &'static str {
    unit.symbol()
}

impl Document {
    /// Statements whose verdict is not the recorded one. Of what is capped none is recorded.
    pub fn unexpected(&self) -> Vec<&StatementResult> {
        let differs = |s: &&StatementResult| {
            s.counted != CountedAs::Capped && s.verdict.is_some_and(|found| found != s.expected)
        };
        self.statements.iter().filter(differs).collect()
    }
}
