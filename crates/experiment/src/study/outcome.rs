//! Conversion of runs to figures and verdicts.

use super::check::axis_position;
use super::document::{
    ArmResult, Arms, CurveResult, DifferenceResult, Document, FigureResult, LineResult, OpenResult,
    PointResult, RatioResult, ReadingResult, StatementResult, Timing, XAxis, YAxis,
    count_statements,
};
use super::format::{Comparison, Measure};
use super::measure::{self, Sample, mean, read_sample};
use super::plan::Plan;
use super::results::Results;
use super::select::{RecordedVerdicts, Selection};
use super::statement::format::{Peak, Verdict};
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
        let job = self.plan.figures[cell.figure].jobs[cell.arm][cell.x];
        let scenario = &self.plan.jobs[job].scenario;
        let measure = &self.plan.study.figures[cell.figure].y[cell.measure];
        let runs = self.results.results[job].iter();
        runs.map(|run| read_sample(measure, scenario, run)).collect()
    }

    /// The document with all results and `timing`.
    pub fn document(&self, timing: Timing) -> Document {
        let study = &self.plan.study;
        let figures = study.figures.iter().enumerate().filter(|(f, _)| self.is_run(*f));
        let measures = figures.flat_map(|(f, figure)| (0..figure.y.len()).map(move |y| (f, y)));
        let open = study.open.iter().map(|open| OpenResult {
            what: open.what.clone(),
            tried: open.tried.clone(),
            run: open.run.clone(),
            because: open.because.clone(),
            fitted: open.fitted,
            shown_by: open.shown_by.clone(),
        });
        let readings = study.readings.iter().map(|reading| ReadingResult {
            name: reading.name.clone(),
            label: reading.label.clone(),
        });
        let readings: Vec<_> = readings.collect();
        let statements: Vec<_> = self.plan.statements.iter().map(|of| self.statement(of)).collect();
        Document {
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
            open: open.collect(),
            timing,
        }
    }

    fn is_run(&self, figure: usize) -> bool {
        !self.selection.points[figure].is_empty()
    }

    fn figure(&self, number: usize, y: usize) -> FigureResult {
        let figure = &self.plan.study.figures[number];
        let planned = &self.plan.figures[number];
        let Measure { metric, label, .. } = &figure.y[y];
        let this = |of: &Option<String>| match of {
            Some(of) => of == metric,
            None => y == 0,
        };
        let points = &self.selection.points[number];
        let arms = planned.arms.iter().enumerate().map(|(row, &arm)| {
            let point = |&x: &usize| {
                let samples = self.samples(Cell { figure: number, measure: y, arm: row, x });
                let late = samples.iter().filter(|sample| sample.is_censored).count();
                point_result(planned.points[x].value, mean(&samples), late)
            };
            ArmResult {
                arm,
                name: self.plan.study.arms[arm].name.clone(),
                points: points.iter().map(point).collect(),
            }
        });
        let curves = figure.paper.iter().filter(|curve| this(&curve.metric));
        let lines = figure.line.iter().filter(|line| this(&line.metric));
        FigureResult {
            figure: figure.id.clone(),
            title: figure.title.clone(),
            first_seed: figure.first_seed,
            x: figure.x.as_ref().map(|axis| XAxis {
                label: axis.label.clone(),
                keys: axis.key.0.clone(),
                unit: planned.unit,
                names: points
                    .iter()
                    .map(|&x| &planned.points[x])
                    .filter_map(|x| Some((x.value?, x.name.clone()?)))
                    .collect(),
            }),
            y: YAxis {
                metric: metric.clone(),
                label: label.clone(),
                unit: metric_unit(metric).symbol(),
            },
            arms: Arms(arms.collect()),
            differences: self.differences(number, y),
            ratios: self.ratios(number, y),
            paper: curves
                .map(|curve| CurveResult {
                    label: curve.label.clone(),
                    arm: curve.arm.clone(),
                    points: curve
                        .points
                        .iter()
                        .filter_map(|(x, y)| Some((axis_position(x)?.0, *y)))
                        .collect(),
                })
                .collect(),
            lines: lines
                .map(|line| LineResult { label: line.label.clone(), value: line.value })
                .collect(),
            index: (number, y),
        }
    }

    /// Each arm minus the one with which it is compared, if the figure has both.
    fn differences(&self, number: usize, y: usize) -> Vec<DifferenceResult> {
        let compared = self.comparisons(number, y, Comparison::Difference).into_iter();
        compared.map(|(arm, against, points)| DifferenceResult { arm, against, points }).collect()
    }

    /// Each arm divided by the one with which it is compared, if the figure has both.
    fn ratios(&self, number: usize, y: usize) -> Vec<RatioResult> {
        let compared = self.comparisons(number, y, Comparison::Ratio).into_iter();
        compared.map(|(arm, against, points)| RatioResult { arm, against, points }).collect()
    }

    /// The names of arms that are compared, and the results; none if the measure is compared in
    /// another way.
    fn comparisons(
        &self,
        number: usize,
        y: usize,
        by: Comparison,
    ) -> Vec<(String, String, Vec<PointResult>)> {
        if self.plan.study.figures[number].y[y].compare != by {
            return Vec::new();
        }
        let (planned, arms) = (&self.plan.figures[number], &self.plan.study.arms);
        let pairs = planned.arms.iter().enumerate().filter_map(|(row, &arm)| {
            let name = arms[arm].against.as_ref()?;
            let other = planned.arms.iter().position(|&arm| arms[arm].name == *name)?;
            Some((row, other, &arms[arm].name, name))
        });
        pairs
            .map(|(row, other, arm, against)| {
                let point = |&x: &usize| {
                    let read = |arm| self.samples(Cell { figure: number, measure: y, arm, x });
                    let (of, with) = (read(row), read(other));
                    let late = of.iter().zip(&with).filter(|(a, b)| a.is_censored || b.is_censored);
                    let late = late.count();
                    let measured = match by {
                        Comparison::Difference => measure::difference(&[of], &[with]),
                        Comparison::Ratio => measure::ratio(&of, &with),
                    };
                    point_result(planned.points[x].value, measured, late)
                };
                let points = self.selection.points[number].iter().map(point).collect();
                (arm.clone(), against.clone(), points)
            })
            .collect()
    }

    fn statement(&self, planned: &PlannedStatement) -> StatementResult {
        let study = &self.plan.study;
        let statement = &study.statements[planned.statement];
        let (figure, y) = (planned.figure, planned.measure);
        let said = Claim::from_statement(statement);
        let metric = &study.figures[figure].y[y].metric;
        let mut result = StatementResult {
            id: planned.id.clone(),
            figure: study.figures[figure].id.clone(),
            reading: planned.reading.map(|reading| study.readings[reading].name.clone()),
            says: statement.says.clone(),
            kind: planned.kind,
            counted: planned.counted,
            capped: statement.capped.clone(),
            metric: metric.clone(),
            number: statement.number.map(|number| [number.low, number.high]),
            bound: statement.bound,
            band: statement.band,
            measured: None,
            ci90: None,
            n: 0,
            at: None,
            verdict: None,
            expected: self.expected_verdict(planned),
            because: None,
            shown_by: None,
            notes: Vec::new(),
            index: (figure, y),
            x_unit: self.plan.figures[figure].unit,
            is_ratio: statement.ratio.is_some()
                || statement.growth.as_ref().is_some_and(|growth| growth.relative)
                || statement.trend.as_ref().is_some_and(|trend| trend.over.is_some()),
            is_percent: statement.number.is_some_and(|number| number.is_percent()),
        };
        let points = &self.selection.points[figure];
        if points.is_empty() {
            result.notes.push(format!("figure {} was not run", result.figure));
            return result;
        }
        let run = |cell: &Cell| self.selection.points[cell.figure].contains(&cell.x);
        let is_run = |case: &&Case| case.quantity.cells().iter().all(run);
        let cases: Vec<_> = planned.cases.iter().filter(is_run).collect();
        if cases.is_empty() {
            let other = |cell: &Cell| {
                let is_run = !self.selection.points[cell.figure].is_empty();
                (!is_run).then(|| study.figures[cell.figure].id.as_str())
            };
            let cells = planned.cases.iter().flat_map(|case| case.quantity.cells());
            result.notes.push(match cells.collect::<Vec<_>>().iter().find_map(other) {
                Some(other) => format!("figure {other}, with which it is compared, was not run"),
                None => "its point was not run".to_owned(),
            });
            return result;
        }
        if cases.len() < planned.cases.len() {
            let (some, all) = (cases.len(), planned.cases.len());
            result.notes.push(format!("at {some} of its {all} points"));
        }
        let read = |cell| self.samples(cell);
        let mut measured: Vec<_> = cases
            .iter()
            .map(|case| {
                let measured = measure::measure(&case.quantity, read);
                let verdict = measured.as_ref().map(|m| verdict(&said, m));
                (case, measured, verdict)
            })
            .collect();
        if let Some(peak) = statement.ratio.as_ref().and_then(|ratio| ratio.peak) {
            let mean =
                |of: &Option<measure::Measurement>| of.as_ref().map(|measured| measured.mean);
            let means = measured.iter().filter_map(|(_, measured, _)| mean(measured));
            let end = match peak {
                Peak::Highest => means.fold(f64::NEG_INFINITY, f64::max),
                Peak::Lowest => means.fold(f64::INFINITY, f64::min),
            };
            measured.retain(|(_, measured, _)| mean(measured).is_none_or(|mean| mean == end));
        }
        // Unmeasurable cases come first, then disagreements, then those closest to one.
        let worst = measured.iter().max_by(|(_, a, va), (_, b, vb)| {
            let rank = |verdict: &Option<Option<Verdict>>| match verdict {
                None => 3,
                Some(None) => 2,
                Some(Some(Verdict::Differs)) => 1,
                Some(Some(Verdict::Agrees)) => 0,
            };
            let strain = |m: &Option<_>| m.as_ref().map_or(0.0, |m| distance(&said, m));
            rank(va).cmp(&rank(vb)).then(strain(a).total_cmp(&strain(b)))
        });
        let Some((case, Some(worst), found)) = worst else {
            result.verdict = Some(Verdict::Differs);
            result.notes.push(format!("no run has a {metric}"));
            return result;
        };
        let axis = &self.plan.figures[figure].points;
        result.at = case.x.and_then(|x| axis[x].value);
        result.measured = Some(worst.mean);
        result.ci90 = worst.ci90;
        result.n = worst.n;
        result.verdict = found.flatten();
        if result.verdict.is_none() {
            // With several runs of which only one has a value, this is a result.
            result.verdict = (self.selection.seeds.len() > 1).then_some(Verdict::Differs);
            result.notes.push("one run has no interval".to_owned());
        }
        if worst.missing > 0 {
            let seeds = self.selection.seeds.len();
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
            && let Some(differs) = planned.differs.map(|number| &statement.differs[number])
        {
            // One cause may apply to several figures.
            let of_figure = |text: &str| text.replace("{figure}", &result.figure);
            let (because, command) = (of_figure(&differs.because), of_figure(&differs.shown_by));
            (result.because, result.shown_by) = (Some(because), Some(command));
        }
        result
    }

    /// The verdict recorded for these runs.
    fn expected_verdict(&self, planned: &PlannedStatement) -> Verdict {
        let otherwise = self.selection.recorded == RecordedVerdicts::Quick
            && self.plan.study.quick.otherwise.contains(&planned.id);
        match (planned.expected, otherwise) {
            (Verdict::Agrees, false) | (Verdict::Differs, true) => Verdict::Agrees,
            (Verdict::Differs, false) | (Verdict::Agrees, true) => Verdict::Differs,
        }
    }

    /// The arms that did not complete, with their counts.
    fn incomplete_note(&self, cells: &[Cell]) -> String {
        let seeds = self.selection.seeds.len();
        let parts: Vec<String> = cells
            .iter()
            .filter_map(|&cell| {
                let samples = self.samples(cell);
                let late = samples.iter().filter(|sample| sample.is_censored).count();
                let arm = self.plan.figures[cell.figure].arms[cell.arm];
                let name = &self.plan.study.arms[arm].name;
                (late > 0).then(|| format!("{late} of {seeds} transfers of {name}"))
            })
            .collect();
        format!("{} did not complete", parts.join(" and "))
    }
}

/// A point of an arm, or of a difference.
pub fn point_result(
    x: Option<f64>,
    measured: Option<measure::Measurement>,
    incomplete: usize,
) -> PointResult {
    PointResult {
        x,
        mean: measured.map(|m| m.mean),
        ci90: measured.and_then(|m| m.ci90),
        n: measured.map_or(0, |m| m.n),
        incomplete: incomplete as u64,
    }
}
