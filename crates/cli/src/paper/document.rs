//! What came out, as `driftway paper --json` prints it and the page draws it.

use scenario::Unit;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::check::COMPLETION;
use super::format::{Bound, Kind, Measure, Verdict};
use super::measure::{self, Sample, mean, sample};
use super::plan::Plan;
use super::select::Selection;
use super::simulate::Results;
use super::statement::Cell;
use super::verdict::{Said, strain, verdict};

/// Everything that came out. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Document {
    /// What the paper is called.
    pub paper: String,
    /// The version of driftway.
    pub version: String,
    /// Its title.
    pub title: String,
    /// Every point has a run with each of these.
    pub seeds: Vec<u64>,
    /// Not as many runs, or points, as the recorded verdicts stand on.
    pub reduced: bool,
    /// One for each figure and each of its metrics.
    pub figures: Vec<FigureResult>,
    /// One a statement.
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
    pub at: (usize, usize),
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

/// What came of a statement.
#[derive(Clone, Debug, serde::Serialize)]
pub struct StatementResult {
    /// What it is called.
    pub id: String,
    /// The figure that it is about.
    pub figure: String,
    /// What is said.
    pub says: String,
    /// A number in the prose, or a trend.
    pub kind: Kind,
    /// The metric that it is about.
    pub metric: String,
    /// What the paper says, from and to; `null` for a shape.
    pub number: Option<[f64; 2]>,
    /// Where the number is an end.
    pub bound: Option<Bound>,
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
    /// The verdict that is recorded.
    pub expected: Verdict,
    /// Why it differs; `null` where it agrees, or where the cause is not known yet.
    pub because: Option<String>,
    /// The command whose output shows why.
    pub shown_by: Option<String>,
    /// What else to know: what was not run, what rests on transfers that did not complete.
    pub notes: Vec<String>,
    /// Which figure of the file, and which measure of it.
    #[serde(skip)]
    pub of: (usize, usize),
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
    match unit {
        Unit::One => "",
        Unit::Second => "s",
        Unit::BitPerSecond => "bit/s",
        Unit::Byte => "B",
    }
}

/// What came out of the runs.
pub struct Outcome<'a> {
    /// What was planned,
    pub plan: &'a Plan,
    /// what of it was run,
    pub selection: &'a Selection,
    /// and what that gave.
    pub results: &'a Results,
}

impl Outcome<'_> {
    /// The samples of a cell, one a seed.
    pub fn samples(&self, figure: usize, measure: usize, cell: Cell) -> Vec<Sample> {
        let job = self.plan.figures[figure].jobs[cell.arm][cell.x];
        let scenario = &self.plan.jobs[job].scenario;
        let measure = &self.plan.paper.figures[figure].y[measure];
        let runs = self.results.flows[job].iter();
        runs.map(|flows| sample(measure, scenario, flows)).collect()
    }

    /// The document, with `timing`.
    pub fn document(&self, timing: Timing) -> Document {
        let paper = &self.plan.paper;
        let figures = paper.figures.iter().enumerate().filter(|(f, _)| self.is_run(*f));
        let measures = figures.flat_map(|(f, figure)| (0..figure.y.len()).map(move |y| (f, y)));
        let open = paper.open.iter().map(|open| OpenResult {
            what: open.what.clone(),
            tried: open.tried.clone(),
            run: open.run.clone(),
            because: open.because.clone(),
            shown_by: open.shown_by.clone(),
        });
        Document {
            paper: self.plan.source.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: paper.title.clone(),
            seeds: self.selection.seeds.clone(),
            reduced: self.selection.reduced,
            figures: measures.map(|(f, y)| self.figure(f, y)).collect(),
            statements: (0..paper.statements.len()).map(|s| self.statement(s)).collect(),
            open: open.collect(),
            timing,
        }
    }

    fn is_run(&self, figure: usize) -> bool {
        !self.selection.points[figure].is_empty()
    }

    fn figure(&self, number: usize, y: usize) -> FigureResult {
        let figure = &self.plan.paper.figures[number];
        let planned = &self.plan.figures[number];
        let Measure { metric, label, .. } = &figure.y[y];
        let this = |of: &Option<String>| match of {
            Some(of) => of == metric,
            None => y == 0,
        };
        let points = &self.selection.points[number];
        let arms = planned.arms.iter().enumerate().map(|(row, &arm)| {
            let point = |&x: &usize| {
                let samples = self.samples(number, y, Cell { arm: row, x });
                let late = samples.iter().filter(|sample| sample.at_least).count();
                point(planned.xs[x].value, mean(&samples), late)
            };
            ArmResult {
                arm,
                name: self.plan.paper.arms[arm].name.clone(),
                points: points.iter().map(point).collect(),
            }
        });
        let curves = figure.paper.iter().filter(|curve| this(&curve.metric));
        let lines = figure.line.iter().filter(|line| this(&line.metric));
        FigureResult {
            figure: figure.id.clone(),
            title: figure.title.clone(),
            x: figure.x.as_ref().map(|axis| XAxis {
                label: axis.label.clone(),
                keys: axis.key.0.clone(),
                unit: unit_name(planned.unit),
            }),
            y: YAxis {
                metric: metric.clone(),
                label: label.clone(),
                unit: unit_name(super::statement::unit_of(metric)),
            },
            arms: Arms(arms.collect()),
            differences: self.differences(number, y),
            paper: curves
                .map(|curve| CurveResult {
                    label: curve.label.clone(),
                    arm: curve.arm.clone(),
                    points: curve
                        .points
                        .iter()
                        .filter_map(|(x, y)| Some((super::check::place(x)?.0, *y)))
                        .collect(),
                })
                .collect(),
            lines: lines
                .map(|line| LineResult { label: line.label.clone(), value: line.value })
                .collect(),
            at: (number, y),
        }
    }

    /// Each arm less the one that it is compared with, where the figure has both.
    fn differences(&self, number: usize, y: usize) -> Vec<DifferenceResult> {
        let (planned, arms) = (&self.plan.figures[number], &self.plan.paper.arms);
        let pairs = planned.arms.iter().enumerate().filter_map(|(row, &arm)| {
            let name = arms[arm].against.as_ref()?;
            let other = planned.arms.iter().position(|&arm| arms[arm].name == *name)?;
            Some((row, other, &arms[arm].name, name))
        });
        pairs
            .map(|(row, other, arm, against)| {
                let point = |&x: &usize| {
                    let read = |arm| self.samples(number, y, Cell { arm, x });
                    let (of, less) = (read(row), read(other));
                    let late = of.iter().zip(&less).filter(|(a, b)| a.at_least || b.at_least);
                    let late = late.count();
                    point(planned.xs[x].value, measure::difference(&[of], &[less]), late)
                };
                DifferenceResult {
                    arm: arm.clone(),
                    against: against.clone(),
                    points: self.selection.points[number].iter().map(point).collect(),
                }
            })
            .collect()
    }

    fn statement(&self, number: usize) -> StatementResult {
        let statement = &self.plan.paper.statements[number];
        let planned = &self.plan.statements[number];
        let (figure, y) = (planned.figure, planned.measure);
        let said = Said { kind: statement.kind, number: statement.number, bound: statement.bound };
        let metric = &self.plan.paper.figures[figure].y[y].metric;
        let mut result = StatementResult {
            id: statement.id.clone(),
            figure: statement.figure.clone(),
            says: statement.says.clone(),
            kind: statement.kind,
            metric: metric.clone(),
            number: statement.number.map(|number| [number.low, number.high]),
            bound: statement.bound,
            measured: None,
            ci90: None,
            n: 0,
            at: None,
            verdict: None,
            expected: statement.expected,
            because: None,
            shown_by: None,
            notes: Vec::new(),
            of: (figure, y),
            x_unit: unit_name(self.plan.figures[figure].unit),
            is_ratio: statement.ratio.is_some(),
            is_percent: statement.number.is_some_and(|number| number.is_percent()),
        };
        let points = &self.selection.points[figure];
        if points.is_empty() {
            result.notes.push(format!("figure {} was not run", statement.figure));
            return result;
        }
        let run = |x: usize| points.contains(&x);
        let is_run =
            |case: &&super::statement::Case| case.quantity.cells().iter().all(|cell| run(cell.x));
        let cases: Vec<_> = planned.cases.iter().filter(is_run).collect();
        if cases.is_empty() {
            result.notes.push("the point that it is about was not run".to_owned());
            return result;
        }
        if cases.len() < planned.cases.len() {
            let (some, all) = (cases.len(), planned.cases.len());
            result.notes.push(format!("at {some} of its {all} points"));
        }
        let read = |cell| self.samples(figure, y, cell);
        let measured: Vec<_> = cases
            .iter()
            .map(|case| {
                let measured = measure::measure(&case.quantity, read);
                let verdict = measured.as_ref().map(|m| verdict(&said, m));
                (case, measured, verdict)
            })
            .collect();
        // What can't be measured comes first, then what differs, then what is nearest to it.
        let worst = measured.iter().max_by(|(_, a, va), (_, b, vb)| {
            let rank = |verdict: &Option<Option<Verdict>>| match verdict {
                None => 3,
                Some(None) => 2,
                Some(Some(Verdict::Differs)) => 1,
                Some(Some(Verdict::Agrees)) => 0,
            };
            let strain = |m: &Option<_>| m.as_ref().map_or(0.0, |m| strain(&said, m));
            rank(va).cmp(&rank(vb)).then(strain(a).total_cmp(&strain(b)))
        });
        let Some((case, Some(worst), found)) = worst else {
            result.verdict = Some(Verdict::Differs);
            result.notes.push(format!("there is no {metric} to measure"));
            return result;
        };
        let axis = &self.plan.figures[figure].xs;
        result.at = case.x.and_then(|x| axis[x].value);
        result.measured = Some(worst.mean);
        result.ci90 = worst.ci90;
        result.n = worst.n;
        result.verdict = found.flatten();
        if result.verdict.is_none() {
            // Where there were more runs and only one has a value, that is a result.
            result.verdict = (self.selection.seeds.len() > 1).then_some(Verdict::Differs);
            result.notes.push("one run has no interval".to_owned());
        }
        if worst.missing > 0 {
            let seeds = self.selection.seeds.len();
            result.notes.push(format!("{} of {seeds} runs have no {metric}", worst.missing));
        }
        let open = match (worst.open.above, worst.open.below) {
            (false, false) => None,
            (true, false) => Some("this or more"),
            (false, true) => Some("this or less"),
            (true, true) => Some("not bounded on either side"),
        };
        if let Some(open) = open {
            result.notes.push(self.incomplete(figure, y, &case.quantity.cells()) + ": " + open);
        }
        if result.verdict == Some(Verdict::Differs) {
            (result.because, result.shown_by) =
                (statement.because.clone(), statement.shown_by.clone());
        }
        result
    }

    /// Which arms did not complete, and how often.
    fn incomplete(&self, figure: usize, y: usize, cells: &[Cell]) -> String {
        debug_assert_eq!(self.plan.paper.figures[figure].y[y].metric, COMPLETION);
        let seeds = self.selection.seeds.len();
        let parts: Vec<String> = cells
            .iter()
            .filter_map(|&cell| {
                let samples = self.samples(figure, y, cell);
                let late = samples.iter().filter(|sample| sample.at_least).count();
                let arm = self.plan.figures[figure].arms[cell.arm];
                let name = &self.plan.paper.arms[arm].name;
                (late > 0).then(|| format!("{late} of {seeds} transfers of {name}"))
            })
            .collect();
        format!("{} did not complete", parts.join(" and "))
    }
}

fn point(x: Option<f64>, measured: Option<measure::Measured>, incomplete: usize) -> PointResult {
    PointResult {
        x,
        mean: measured.map(|m| m.mean),
        ci90: measured.and_then(|m| m.ci90),
        n: measured.map_or(0, |m| m.n),
        incomplete: incomplete as u64,
    }
}

impl Document {
    /// Statements whose verdict is not the recorded one.
    pub fn unexpected(&self) -> Vec<&StatementResult> {
        let differs = |s: &&StatementResult| s.verdict.is_some_and(|found| found != s.expected);
        self.statements.iter().filter(differs).collect()
    }
}
