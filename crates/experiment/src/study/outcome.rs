//! Conversion of runs to figures and verdicts.

use super::check::axis_position;
use super::document::{
    ArmResult, Arms, CurveResult, DifferenceResult, FigureResult, LineResult, PointResult,
    RatioResult, ReadingResult, StatementResult, StudyDocument, Timing, XAxis, YAxis,
    count_statements,
};
use super::format::{Comparison, Measure, PaperCurve};
use super::measure::{self, Measurement, Sample, mean, read_sample};
use super::plan::{Plan, PlannedArm, PlannedFigure};
use super::results::Results;
use super::select::Selection;
use super::statement::format::{Peak, Statement, Verdict};
use super::statement::{Case, Cell, PlannedStatement};
use super::verdict::{Claim, distance, verdict};
use crate::units::metric_unit;

/// The results of the runs of a study.
pub struct StudyOutcome<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The part that was run.
    pub selection: &'a Selection,
    /// The results.
    pub results: &'a Results,
}

impl StudyOutcome<'_> {
    /// The samples of a cell, one per seed.
    pub fn samples(&self, cell: Cell) -> Vec<Sample> {
        let planned = &self.plan.figures[cell.figure];
        let job = planned.arms[cell.arm].jobs[cell.x];
        let scenario = &self.plan.jobs[job].scenario;
        let measure = &planned.figure.y[cell.measure];
        let runs = self.results.runs(job).iter();
        runs.map(|run| read_sample(measure, scenario, &run.result)).collect()
    }

    /// The document with all results and `timing`.
    pub fn document(&self, timing: Timing) -> StudyDocument {
        let study = &self.plan.study;
        let figures = self.plan.figures.iter().enumerate();
        let run = figures.filter(|(_, planned)| !self.selection.points(planned).is_empty());
        let measures = run.flat_map(|(f, of)| (0..of.figure.y.len()).map(move |y| (f, y)));
        let readings = study.readings.iter().map(|reading| ReadingResult {
            name: reading.name.clone(),
            label: reading.label.clone(),
            ours: reading.ours,
        });
        let readings: Vec<_> = readings.collect();
        let statements = self.statements();
        StudyDocument {
            schema: super::document::SCHEMA,
            paper: study.is_paper().then(|| self.plan.source.name.clone()),
            study: (!study.is_paper()).then(|| self.plan.source.name.clone()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: study.title.clone(),
            seeds: self.selection.seeds.clone(),
            reduced: self.selection.reduced,
            recorded: self.selection.recorded,
            figures: measures.map(|(f, y)| self.figure(f, y)).collect(),
            counts: count_statements(&readings, &statements),
            readings,
            statements,
            open: study.open.clone(),
            timing,
        }
    }

    fn figure(&self, number: usize, y: usize) -> FigureResult {
        let planned = &self.plan.figures[number];
        let figure = &planned.figure;
        let measure = &figure.y[y];
        let (Measure { label, compare, .. }, metric) = (measure, measure.name());
        let this = |of: &Option<String>| of.as_ref().map_or(y == 0, |of| *of == metric);
        let points = self.selection.points(planned);
        let arms = planned.arms.iter().enumerate().map(|(row, PlannedArm { arm, .. })| {
            let point = |&x: &usize| {
                let samples = self.samples(Cell { figure: number, measure: y, arm: row, x });
                point_result(planned.points[x].value, mean(&samples), censored(&samples))
            };
            ArmResult { arm: arm.clone(), points: points.iter().map(point).collect() }
        });
        let curve = |curve: &PaperCurve| CurveResult {
            label: curve.label.clone(),
            arm: curve.arm.clone(),
            points: curve
                .points
                .iter()
                .filter_map(|(x, y)| Some((axis_position(x)?.0, *y)))
                .collect(),
        };
        let lines = figure.line.iter().filter(|line| this(&line.metric));
        let compared = |by: Comparison| {
            let compared = (*compare == by).then(|| self.comparisons(number, y, by));
            compared.into_iter().flatten()
        };
        FigureResult {
            figure: figure.id.clone(),
            title: figure.title.clone(),
            first_seed: figure.first_seed,
            runs: self.selection.fewer_runs(self.plan, planned),
            x: figure.x.as_ref().map(|axis| XAxis {
                label: axis.label.clone(),
                keys: axis.keys().cloned().collect(),
                unit: planned.unit,
                names: points
                    .iter()
                    .map(|&x| &planned.points[x])
                    .filter_map(|x| Some((x.value?, x.name.clone()?)))
                    .collect(),
            }),
            y: YAxis {
                label: label.clone(),
                unit: metric_unit(&metric).symbol(),
                metric: metric.to_string(),
            },
            arms: Arms(arms.collect()),
            differences: compared(Comparison::Difference)
                .map(|(arm, against, points)| DifferenceResult { arm, against, points })
                .collect(),
            ratios: compared(Comparison::Ratio)
                .map(|(arm, against, points)| RatioResult { arm, against, points })
                .collect(),
            paper: figure.paper.iter().filter(|of| this(&of.metric)).map(curve).collect(),
            lines: lines
                .map(|line| LineResult { label: line.label.clone(), value: line.value })
                .collect(),
        }
    }

    /// The names of the arms of a figure that are compared, and the results.
    pub fn comparisons(
        &self,
        figure: usize,
        measure: usize,
        by: Comparison,
    ) -> Vec<(String, String, Vec<PointResult>)> {
        let planned = &self.plan.figures[figure];
        let compare = |row: usize| {
            let other = planned.against(row)?;
            let point = |&x: &usize| {
                let read = |arm| self.samples(Cell { figure, measure, arm, x });
                let (of, with) = (read(row), read(other));
                let late = of.iter().zip(&with).filter(|(a, b)| a.is_censored || b.is_censored);
                let late = late.count();
                let measured = match by {
                    Comparison::Difference => measure::difference(&[of], &[with]),
                    Comparison::Ratio => measure::ratio(&of, &with),
                };
                point_result(planned.points[x].value, measured, late)
            };
            let points = self.selection.points(planned).iter().map(point).collect();
            let [arm, against] = [row, other].map(|row| planned.arms[row].arm.name.clone());
            Some((arm, against, points))
        };
        (0..planned.arms.len()).filter_map(compare).collect()
    }

    /// The results of all statements.
    pub fn statements(&self) -> Vec<StatementResult> {
        let planned = &self.plan.statements;
        let mut all: Vec<StatementResult> = planned.iter().map(|of| self.statement(of)).collect();
        for (at, result) in all.iter_mut().enumerate() {
            if let Some(reading) = self.repeated(&planned[..at], &planned[at]) {
                let note =
                    format!("the runs are those of the reading {reading}: not counted again");
                result.notes.push(note);
                result.same_as = Some(reading);
            }
        }
        all
    }

    /// The first reading in which this statement was judged by the same runs.
    fn repeated(&self, earlier: &[PlannedStatement], own: &PlannedStatement) -> Option<String> {
        let runs = self.fingerprints(own);
        let is_same = |of: &&PlannedStatement| {
            of.figure == own.figure
                && of.statement.id == own.statement.id
                && self.fingerprints(of) == runs
        };
        earlier.iter().find(is_same).filter(|_| !runs.is_empty())?.reading.clone()
    }

    /// The fingerprints of all runs of a statement.
    fn fingerprints(&self, of: &PlannedStatement) -> Vec<&str> {
        let cells = of.cases.iter().flat_map(|case| case.quantity.cells());
        let runs = cells.flat_map(|cell| {
            let job = self.plan.figures[cell.figure].arms[cell.arm].jobs[cell.x];
            self.results.runs(job)
        });
        runs.map(|run| run.result.fingerprint.as_str()).collect()
    }

    /// The verdict on a statement: that of its worst case.
    fn statement(&self, planned: &PlannedStatement) -> StatementResult {
        let mut result = self.not_run(planned);
        match self.cases_run(planned) {
            Ok(cases) => self.judge(planned, &cases, &mut result),
            Err(why) => result.notes.push(why),
        }
        result
    }

    /// The result of a statement of which no case was run.
    fn not_run(&self, planned: &PlannedStatement) -> StatementResult {
        let PlannedFigure { figure, unit, .. } = &self.plan.figures[planned.figure];
        let statement = &planned.statement;
        StatementResult {
            id: planned.id.clone(),
            figure: figure.id.clone(),
            reading: planned.reading.clone(),
            says: statement.says.clone(),
            kind: planned.kind,
            counted: planned.counted,
            capped: statement.capped.clone(),
            same_as: None,
            metric: figure.y[planned.measure].name().into_owned(),
            number: statement.number.map(|number| [number.low, number.high]),
            bound: statement.bound,
            band: statement.band,
            measured: None,
            ci90: None,
            ci95: None,
            n: 0,
            at: None,
            verdict: None,
            expected: planned.recorded.of(self.selection.recorded),
            because: None,
            cause: None,
            shown_by: None,
            notes: Vec::new(),
            x_unit: *unit,
            is_ratio: statement.ratio.is_some()
                || statement.growth.as_ref().is_some_and(|growth| growth.relative)
                || statement.trend.as_ref().is_some_and(|trend| trend.over.is_some()),
            is_percent: statement.number.is_some_and(|number| number.is_percent()),
        }
    }

    /// The cases of a statement of which all cells were run, or why there are none.
    fn cases_run<'p>(&self, planned: &'p PlannedStatement) -> Result<Vec<&'p Case>, String> {
        let figure = |cell: &Cell| &self.plan.figures[cell.figure];
        let points = |cell: &Cell| self.selection.points(figure(cell));
        let own = &self.plan.figures[planned.figure];
        if self.selection.points(own).is_empty() {
            return Err(format!("figure {} was not run", own.figure.id));
        }
        let is_run =
            |case: &&Case| case.quantity.cells().iter().all(|cell| points(cell).contains(&cell.x));
        let cases: Vec<_> = planned.cases.iter().filter(is_run).collect();
        if !cases.is_empty() {
            return Ok(cases);
        }
        let mut cells = planned.cases.iter().flat_map(|case| case.quantity.cells());
        Err(match cells.find(|cell| points(cell).is_empty()).as_ref().map(figure) {
            Some(PlannedFigure { figure, .. }) => {
                format!("figure {}, with which it is compared, was not run", figure.id)
            }
            None => "its point was not run".to_owned(),
        })
    }

    /// Adds the verdict on the worst of these cases.
    fn judge(&self, planned: &PlannedStatement, cases: &[&Case], result: &mut StatementResult) {
        if cases.len() < planned.cases.len() {
            let (some, all) = (cases.len(), planned.cases.len());
            result.notes.push(format!("at {some} of its {all} points"));
        }
        let Some((case, worst, found)) = self.worst_case(&planned.statement, cases) else {
            result.verdict = Some(Verdict::Differs);
            result.notes.push(format!("no run has a {}", result.metric));
            return;
        };
        let seeds = worst.n + worst.missing;
        result.at = case.x.and_then(|x| self.plan.figures[planned.figure].points[x].value);
        result.measured = Some(worst.mean);
        result.ci90 = worst.ci90;
        result.ci95 = worst.ci95;
        result.n = worst.n;
        result.verdict = found;
        if found.is_none() {
            // With several runs of which only one has a value, more are needed.
            result.verdict = (seeds > 1).then_some(Verdict::Undecided);
            result.notes.push("one run has no interval".to_owned());
        }
        if worst.missing > 0 {
            let metric = &result.metric;
            result.notes.push(format!("{} of {seeds} runs have no {metric}", worst.missing));
        }
        let open = match (worst.censoring.above, worst.censoring.below) {
            (false, false) => None,
            (true, false) => Some("a lower bound"),
            (false, true) => Some("an upper bound"),
            (true, true) => Some("bounded on neither side"),
        };
        if let Some(open) = open {
            result.notes.push(self.incomplete_note(&case.quantity.cells()) + ": " + open);
        }
        if result.verdict == Some(Verdict::Differs)
            && let Some(cause) = &planned.cause
        {
            result.cause = Some(cause.name.clone());
            result.because = Some(cause.text.clone());
            result.shown_by = Some(cause.shown_by.clone());
        }
    }

    /// The worst of these cases, its measurement and its verdict; `None` if one has no measurement.
    fn worst_case<'p>(
        &self,
        statement: &Statement,
        cases: &[&'p Case],
    ) -> Option<(&'p Case, Measurement, Option<Verdict>)> {
        let said = Claim::from_statement(statement);
        let measured = cases.iter().map(|case| {
            let measured = measure::measure(&case.quantity, |cell| self.samples(cell))?;
            Some((*case, measured, verdict(&said, &measured)))
        });
        let measured: Vec<_> = measured.collect::<Option<_>>()?;
        let means = measured.iter().map(|(_, measured, _)| measured.mean);
        let peak = match statement.ratio.as_ref().and_then(|ratio| ratio.peak) {
            Some(Peak::Highest) => means.reduce(f64::max),
            Some(Peak::Lowest) => means.reduce(f64::min),
            None => None,
        };
        let is_claimed = |measured: &Measurement| peak.is_none_or(|peak| measured.mean == peak);
        let claimed = measured.into_iter().filter(|(_, measured, _)| is_claimed(measured));
        let rank = |verdict: Option<Verdict>| match verdict {
            None => 3,
            Some(Verdict::Differs) => 2,
            Some(Verdict::Undecided) => 1,
            Some(Verdict::Agrees) => 0,
        };
        // Cases without interval come first, then disagreements, then those closest to one.
        claimed.max_by(|(_, a, of_a), (_, b, of_b)| {
            let by_distance = || distance(&said, a).total_cmp(&distance(&said, b));
            rank(*of_a).cmp(&rank(*of_b)).then_with(by_distance)
        })
    }

    /// The arms that did not complete, with their counts.
    fn incomplete_note(&self, cells: &[Cell]) -> String {
        let parts: Vec<String> = cells
            .iter()
            .filter_map(|&cell| {
                let samples = self.samples(cell);
                let late = censored(&samples);
                let name = &self.plan.figures[cell.figure].arms[cell.arm].arm.name;
                let all = samples.len();
                (late > 0).then(|| format!("{late} of {all} transfers of {name}"))
            })
            .collect();
        format!("{} did not complete", parts.join(" and "))
    }
}

/// Number of samples that are bounds, because a transfer did not complete.
pub fn censored(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| sample.is_censored).count()
}

/// A point of an arm, or of a difference.
pub fn point_result(
    x: Option<f64>,
    measured: Option<Measurement>,
    incomplete: usize,
) -> PointResult {
    PointResult {
        x,
        mean: measured.map(|m| m.mean),
        ci90: measured.and_then(|m| m.ci90),
        ci95: measured.and_then(|m| m.ci95),
        n: measured.map_or(0, |m| m.n),
        incomplete: incomplete as u64,
    }
}
