//! What a statement measures: every predicate comes down to a mean, a ratio of means, or a sum of
//! paired differences that is said to be above zero.

use scenario::{Coordinate, Error, File, Unit};

use super::check::{figure_names, keys, measure_of, one_of, place, written};
use super::format::{Bound, Goes, Kind, Statement, Study, Verdict};
use super::number::{Number, NumberUnit};
use super::plan::PlannedFigure;

/// A statement, its names resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Which figure of the paper.
    pub figure: usize,
    /// Which of its measures.
    pub measure: usize,
    /// What must hold, for each point that is meant.
    pub cases: Vec<Case>,
}

/// What must hold at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The point, where it is one.
    pub x: Option<usize>,
    /// What is measured.
    pub quantity: Quantity,
}

/// One arm at one point: its place among the figure's arms, and the point's on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which arm.
    pub arm: usize,
    /// Which point.
    pub x: usize,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A mean.
    Mean(Cell),
    /// The first's mean over the second's.
    Ratio(Cell, Cell),
    /// The sum of what is added less the sum of what is taken away, run by run: said to be above 0.
    Difference {
        /// Added.
        plus: Vec<Cell>,
        /// Taken away.
        minus: Vec<Cell>,
    },
    /// The first ratio less the second, run by run: said to be above 0.
    Ratios {
        /// Above and below the line of the ratio that is said to be higher.
        higher: [Cell; 2],
        /// Of the one that is said to be lower.
        lower: [Cell; 2],
    },
}

impl Quantity {
    /// Every cell that it needs.
    pub fn cells(&self) -> Vec<Cell> {
        match self {
            Self::Mean(cell) => vec![*cell],
            Self::Ratio(above, below) => vec![*above, *below],
            Self::Difference { plus, minus } => plus.iter().chain(minus).copied().collect(),
            Self::Ratios { higher, lower } => [*higher, *lower].concat(),
        }
    }
}

/// Resolves the statement of this number.
///
/// # Errors
/// What is wrong first, and where.
pub fn plan(
    file: &File,
    study: &Study,
    figures: &[PlannedFigure],
    number: usize,
) -> Result<Planned, Error> {
    let statement = &study.statements[number];
    let key = |key: &str| keys!["statement", number, key];
    let figure = one_of(file, &key("figure"), "figure", &statement.figure, &figure_names(study))?;
    let measure =
        measure_of(file, &study.figures[figure], &key("metric"), statement.metric.as_deref())?;
    let metric = &study.figures[figure].y[measure].metric;
    recorded(file, statement, number)?;
    numbered(file, statement, number, metric)?;
    let planner = Planner { file, study, figure: &figures[figure], number };
    Ok(Planned { figure, measure, cases: planner.cases(statement)? })
}

/// A verdict that is not the paper's own has a cause, and a command that shows it.
fn recorded(file: &File, statement: &Statement, number: usize) -> Result<(), Error> {
    let missing = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    if statement.expected == Verdict::Agrees {
        return Ok(());
    }
    for (key, text) in [("because", &statement.because), ("shown_by", &statement.shown_by)] {
        if missing(text) {
            let message = "a statement that differs says why, and the command that shows it\n\
                           add `because = …` and `shown_by = \"driftway …\"`";
            return Err(file.error(&keys!["statement", number, key], message));
        }
    }
    Ok(())
}

/// A text has a number in the unit of what is measured; a shape has none.
fn numbered(file: &File, statement: &Statement, number: usize, metric: &str) -> Result<(), Error> {
    let wrong =
        |key: &str, message: &str| Err(file.error(&keys!["statement", number, key], message));
    let written: Vec<(&str, Kind)> = [
        ("value", Kind::Text, statement.value.is_some()),
        ("ratio", Kind::Text, statement.ratio.is_some()),
        ("order", Kind::Shape, statement.order.is_some()),
        ("trend", Kind::Shape, statement.trend.is_some()),
        ("growth", Kind::Shape, statement.growth.is_some()),
    ]
    .into_iter()
    .filter(|(_, _, there)| *there)
    .map(|(key, kind, _)| (key, kind))
    .collect();
    let [(key, kind)] = written[..] else {
        let message = "a statement has exactly one predicate\n\
                       it is one of value, ratio, order, trend, growth";
        return wrong(written.last().map_or("id", |(key, _)| key), message);
    };
    if kind != statement.kind {
        let message = "the kind and the predicate do not go together\n\
                       value and ratio are of kind text; order, trend and growth of kind shape";
        return wrong(key, message);
    }
    match (kind, statement.number) {
        (Kind::Shape, None) if statement.bound.is_none() => Ok(()),
        (Kind::Shape, _) => wrong(key, "a shape has no number\nleave `number` and `bound` out"),
        (Kind::Text, None) => wrong(key, "a text has the paper's number\nadd `number = …`"),
        (Kind::Text, Some(said)) => {
            let unit = if statement.ratio.is_some() { Unit::One } else { unit_of(metric) };
            let fits = match said.unit {
                None => true,
                Some(NumberUnit::Percent) => unit == Unit::One,
                Some(NumberUnit::Of(of)) => of == unit,
            };
            if !fits {
                return wrong("number", &format!("this is not in the unit of {metric}"));
            }
            let none = Number { unit: None, low: 0.0, high: 0.0 };
            if statement.bound == Some(Bound::AtLeast) && said == none {
                return wrong("bound", "at least nothing is always so");
            }
            Ok(())
        }
    }
}

/// The base unit that a metric's name ends with.
pub fn unit_of(metric: &str) -> Unit {
    match metric.rsplit('_').next() {
        Some("s") => Unit::Second,
        Some("bps") => Unit::BitPerSecond,
        Some("bytes") => Unit::Byte,
        _ => Unit::One,
    }
}

struct Planner<'a> {
    file: &'a File,
    study: &'a Study,
    figure: &'a PlannedFigure,
    number: usize,
}

impl Planner<'_> {
    fn cases(&self, statement: &Statement) -> Result<Vec<Case>, Error> {
        let case = |x, quantity| Case { x, quantity };
        let cases = if let Some(value) = &statement.value {
            let arm = self.arm("value", "arm", &value.arm)?;
            self.each("value", value.x.as_ref())?
                .into_iter()
                .map(|x| case(Some(x), Quantity::Mean(Cell { arm, x })))
                .collect()
        } else if let Some(ratio) = &statement.ratio {
            if ratio.to.is_none() && (ratio.x.is_none() || ratio.to_x.is_none()) {
                let message = "a ratio has another arm below the line, or another x\n\
                               add `to = …`, or `x = …` and `to_x = …`";
                return Err(self.error("ratio", "arm", message));
            }
            let arm = self.arm("ratio", "arm", &ratio.arm)?;
            let to = ratio.to.as_ref().map_or(Ok(arm), |to| self.arm("ratio", "to", to))?;
            let to_x = ratio.to_x.as_ref().map(|x| self.x("ratio", "to_x", x)).transpose()?;
            self.each("ratio", ratio.x.as_ref())?
                .into_iter()
                .map(|x| {
                    let below = Cell { arm: to, x: to_x.unwrap_or(x) };
                    case(Some(x), Quantity::Ratio(Cell { arm, x }, below))
                })
                .collect()
        } else if let Some(order) = &statement.order {
            let above = self.arm("order", "above", &order.above)?;
            let below = self.arm("order", "below", &order.below)?;
            self.each("order", order.x.as_ref())?
                .into_iter()
                .map(|x| {
                    let plus = vec![Cell { arm: above, x }];
                    let minus = vec![Cell { arm: below, x }];
                    case(Some(x), Quantity::Difference { plus, minus })
                })
                .collect()
        } else if let Some(trend) = &statement.trend {
            let arm = self.arm("trend", "arm", &trend.arm)?;
            let (from, to) = self.ends("trend", trend.from.as_ref(), trend.to.as_ref())?;
            let (low, high) = (vec![Cell { arm, x: from }], vec![Cell { arm, x: to }]);
            let (plus, minus) = match trend.goes {
                Goes::Up => (high, low),
                Goes::Down => (low, high),
            };
            vec![case(None, Quantity::Difference { plus, minus })]
        } else if let Some(growth) = &statement.growth {
            let more = self.arm("growth", "more", &growth.more)?;
            let less = self.arm("growth", "less", &growth.less)?;
            let (from, to) = self.ends("growth", growth.from.as_ref(), growth.to.as_ref())?;
            let at = |x| [Cell { arm: more, x }, Cell { arm: less, x }];
            let ([more_to, less_to], [more_from, less_from]) = (at(to), at(from));
            let quantity = if growth.relative {
                Quantity::Ratios { higher: at(to), lower: at(from) }
            } else {
                let (plus, minus) = (vec![more_to, less_from], vec![more_from, less_to]);
                Quantity::Difference { plus, minus }
            };
            vec![case(None, quantity)]
        } else {
            Vec::new()
        };
        Ok(cases)
    }

    fn error(&self, predicate: &str, key: &str, message: &str) -> Error {
        self.file.error(&keys!["statement", self.number, predicate, key], message)
    }

    fn arm(&self, predicate: &str, key: &str, name: &str) -> Result<usize, Error> {
        let arms = &self.figure.arms;
        let names: Vec<&str> = arms.iter().map(|&arm| self.study.arms[arm].name.as_str()).collect();
        let keys = keys!["statement", self.number, predicate, key];
        one_of(self.file, &keys, "arm in this figure", name, &names)
    }

    /// The number of a point of the axis.
    fn x(&self, predicate: &str, key: &str, at: &Coordinate) -> Result<usize, Error> {
        let of = |(value, unit): (f64, Unit)| {
            let here = |x: &Option<f64>| x.is_some_and(|x| (x - value).abs() <= 1e-9 * value.abs());
            let found = self.figure.xs.iter().position(|x| here(&x.value));
            found.filter(|_| unit == self.figure.unit)
        };
        place(at).and_then(of).ok_or_else(|| {
            let known: Vec<&str> = self.figure.xs.iter().map(|x| x.text.as_str()).collect();
            let help = match self.figure.xs[..] {
                [ref only] if only.value.is_none() => "this figure has no axis".to_owned(),
                _ => format!("the points are {}", known.join(", ")),
            };
            let message = format!("`{}` is no point of the axis\n{help}", written(at));
            self.error(predicate, key, &message)
        })
    }

    /// The point that is named, else all.
    fn each(&self, predicate: &str, at: Option<&Coordinate>) -> Result<Vec<usize>, Error> {
        at.map_or_else(
            || Ok((0..self.figure.xs.len()).collect()),
            |at| Ok(vec![self.x(predicate, "x", at)?]),
        )
    }

    /// The points that are named, else the first and the last.
    fn ends(
        &self,
        predicate: &str,
        from: Option<&Coordinate>,
        to: Option<&Coordinate>,
    ) -> Result<(usize, usize), Error> {
        let last = self.figure.xs.len() - 1;
        let from = from.map_or(Ok(0), |at| self.x(predicate, "from", at))?;
        let to = to.map_or(Ok(last), |at| self.x(predicate, "to", at))?;
        if from == to {
            let message = "nothing rises or falls at one point\nthe figure's axis has two or more";
            return Err(self.error(predicate, "from", message));
        }
        Ok((from, to))
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::plan::X;

    const PAPER: &str = r#"
        title = "t"
        authors = ["a"]
        source = "s"
        runs = 2
        quick = { runs = 2 }
        group = [{ name = "g", label = "l" }]
        arm = [
            { name = "tcp", label = "TCP", group = "g" },
            { name = "atcp", label = "ATCP", group = "g" },
        ]
        [[figure]]
        id = "8"
        title = "t"
        scenario = "s.toml"
        x = { key = "k", values = ["10 ms", "30 ms", "50 ms"], label = "delay" }
        y = [{ metric = "completion_s", label = "time" }]
        [[statement]]
        id = "s"
        figure = "8"
        says = "something"
        expected = "agrees"
    "#;

    /// What becomes of a predicate, on a figure of three points.
    fn planned(predicate: &str) -> Result<Vec<Case>, String> {
        let text = format!("{PAPER}\n{predicate}");
        let file = File::parse("p.toml", text).unwrap();
        let study: Study = file.read().map_err(|error| error.to_string())?;
        let point = |value, text: &str| X { value: Some(value), text: text.to_owned(), name: None };
        let figure = PlannedFigure {
            arms: vec![0, 1],
            xs: vec![point(0.01, "10 ms"), point(0.03, "30 ms"), point(0.05, "50 ms")],
            unit: Unit::Second,
            jobs: vec![vec![0, 1, 2], vec![3, 4, 5]],
        };
        let planned = plan(&file, &study, &[figure], 0).map_err(|error| error.to_string())?;
        assert_eq!((planned.figure, planned.measure), (0, 0));
        Ok(planned.cases)
    }

    const fn tcp(x: usize) -> Cell {
        Cell { arm: 0, x }
    }

    const fn atcp(x: usize) -> Cell {
        Cell { arm: 1, x }
    }

    fn difference(plus: &[Cell], minus: &[Cell]) -> Quantity {
        Quantity::Difference { plus: plus.to_vec(), minus: minus.to_vec() }
    }

    #[test]
    fn every_predicate_comes_down_to_cells() {
        let text = |predicate: &str| format!("kind = 'text'\nnumber = 1\n{predicate}");
        let shape = |predicate: &str| format!("kind = 'shape'\n{predicate}");
        for (predicate, x, quantity) in [
            (text("value = { arm = 'atcp', x = '30 ms' }"), Some(1), Quantity::Mean(atcp(1))),
            (
                text("ratio = { arm = 'tcp', to = 'atcp', x = '50 ms' }"),
                Some(2),
                Quantity::Ratio(tcp(2), atcp(2)),
            ),
            // Flat: the last over the first.
            (
                text("ratio = { arm = 'atcp', x = '0.05 s', to_x = '10 ms' }"),
                Some(2),
                Quantity::Ratio(atcp(2), atcp(0)),
            ),
            (
                shape("order = { below = 'atcp', above = 'tcp', x = '10 ms' }"),
                Some(0),
                difference(&[tcp(0)], &[atcp(0)]),
            ),
            (shape("trend = { arm = 'tcp', goes = 'up' }"), None, difference(&[tcp(2)], &[tcp(0)])),
            (
                shape("trend = { arm = 'tcp', goes = 'down', from = '30 ms' }"),
                None,
                difference(&[tcp(1)], &[tcp(2)]),
            ),
            (
                shape("growth = { more = 'tcp', less = 'atcp' }"),
                None,
                difference(&[tcp(2), atcp(0)], &[tcp(0), atcp(2)]),
            ),
        ] {
            assert_eq!(planned(&predicate), Ok(vec![Case { x, quantity }]), "{predicate}");
        }
    }

    #[test]
    fn without_an_x_it_must_hold_at_each() {
        let cases = planned("kind = 'shape'\norder = { below = 'atcp', above = 'tcp' }").unwrap();
        let expected =
            (0..3).map(|x| Case { x: Some(x), quantity: difference(&[tcp(x)], &[atcp(x)]) });
        assert_eq!(cases, expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for (predicate, told) in [
            ("kind = 'text'\nnumber = 1\nratio = { arm = 'tcp' }", "another arm below the line"),
            ("kind = 'shape'\ntrend = { arm = 'tcp', goes = 'up', to = '10 ms' }", "at one point"),
            ("kind = 'shape'\nnumber = 1\ntrend = { arm = 'tcp', goes = 'up' }", "has no number"),
            (
                "kind = 'text'\nnumber = 0\nbound = 'at-least'\nvalue = { arm = 'tcp' }",
                "at least nothing is always so",
            ),
            ("kind = 'text'\nnumber = '3 %'\nvalue = { arm = 'tcp' }", "not in the unit"),
            ("kind = 'shape'\ntrend = { arm = 'tcp', goes = 'sideways' }", "known are up, down"),
        ] {
            let error = planned(predicate).unwrap_err();
            assert!(error.contains(told) && error.starts_with("p.toml:"), "{error}");
        }
    }
}
