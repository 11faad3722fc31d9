//! Conversion of a predicate to the quantities to measure at each of its points.

use driftway_scenario::{Coordinate, Error, TomlFile, Unit};

use super::format::{
    AddedEffect, GrowthClaim, Order, Ratio, Reading, Statement, Trend, TrendDirection, Value,
};
use super::planned::{Case, Cell, Quantity};
use crate::study::check::{
    axis_position, coordinate_text, figure_names, find_measure, find_name, keys,
};
use crate::study::format::Study;
use crate::study::planned_figure::PlannedFigure;

/// A statement about one figure in one reading.
#[derive(Clone, Copy)]
pub struct CaseBuilder<'a> {
    /// The file, for messages.
    pub file: &'a TomlFile,
    /// Its content.
    pub study: &'a Study,
    /// Its figures, names resolved.
    pub figures: &'a [PlannedFigure],
    /// Index of the figure.
    pub figure: usize,
    /// Index of its measure.
    pub measure: usize,
    /// Index of the statement.
    pub number: usize,
    /// The reading.
    pub reading: Option<&'a Reading>,
    /// It is the figure with which another one is compared: it need not contain the reading's own
    /// arms.
    pub is_base: bool,
}

impl CaseBuilder<'_> {
    /// The cases that must hold for `statement`.
    ///
    /// # Errors
    ///
    /// An unknown arm or point.
    pub fn build(self, statement: &Statement) -> Result<Vec<Case>, Error> {
        if let Some(value) = &statement.value {
            self.value(value)
        } else if let Some(ratio) = &statement.ratio {
            self.ratio(ratio)
        } else if let Some(order) = &statement.order {
            self.order(order)
        } else if let Some(trend) = &statement.trend {
            self.trend(trend)
        } else if let Some(growth) = &statement.growth {
            self.growth(growth)
        } else if let Some(added) = &statement.added {
            self.added(added)
        } else {
            Ok(Vec::new())
        }
    }

    fn value(self, value: &Value) -> Result<Vec<Case>, Error> {
        let arm = self.arm("value", "arm", &value.arm)?;
        self.cases_at_points("value", value.x.as_ref(), |x| Ok(Quantity::Mean(self.cell(arm, x))))
    }

    fn ratio(self, ratio: &Ratio) -> Result<Vec<Case>, Error> {
        let between_points = ratio.x.is_some() && ratio.to_x.is_some();
        if ratio.to.is_none() && ratio.to_figure.is_none() && !between_points {
            let message = "a ratio needs another arm, another x, or another figure as its denominator\n\
                           add `to = …`, `x = …` and `to_x = …`, or `to_figure = …`";
            return Err(self.error("ratio", "arm", message));
        }
        if ratio.peak.is_some() && ratio.x.is_some() {
            let message =
                "a peak is one of several points, but `x` is one point\nremove one of them";
            return Err(self.error("ratio", "peak", message));
        }
        let arm = self.arm("ratio", "arm", &ratio.arm)?;
        let (to_key, to) = match &ratio.to {
            Some(to) => ("to", to),
            None => ("arm", &ratio.arm),
        };
        let below = match &ratio.to_figure {
            Some(name) => self.in_figure("ratio", "to_figure", name)?,
            None => self,
        };
        let to = below.arm("ratio", to_key, to)?;
        let to_x = ratio.to_x.as_ref().map(|x| below.find_point("ratio", "to_x", x)).transpose()?;
        self.cases_at_points("ratio", ratio.x.as_ref(), |x| {
            let to_x = to_x.map_or_else(|| below.matching_point(self, "ratio", x), Ok)?;
            Ok(Quantity::Ratio(self.cell(arm, x), below.cell(to, to_x)))
        })
    }

    fn order(self, order: &Order) -> Result<Vec<Case>, Error> {
        let above = self.arm("order", "above", &order.above)?;
        let below = self.arm("order", "below", &order.below)?;
        self.cases_at_points("order", order.x.as_ref(), |x| {
            let (plus, minus) = (vec![self.cell(above, x)], vec![self.cell(below, x)]);
            Ok(Quantity::Difference { plus, minus })
        })
    }

    fn trend(self, trend: &Trend) -> Result<Vec<Case>, Error> {
        let arm = self.arm("trend", "arm", &trend.arm)?;
        let (from, to) = self.ends("trend", trend.from.as_ref(), trend.to.as_ref())?;
        if let Some(over) = &trend.over {
            let below = self.in_figure("trend", "over", over)?;
            let other = below.arm("trend", "arm", &trend.arm)?;
            let at = |x: usize| -> Result<[Cell; 2], Error> {
                Ok([self.cell(arm, x), below.cell(other, below.matching_point(self, "trend", x)?)])
            };
            let (first, last) = (at(from)?, at(to)?);
            let (higher, lower) = match trend.goes {
                TrendDirection::Up => (last, first),
                TrendDirection::Down => (first, last),
            };
            return Ok(vec![Case {
                x: None,
                quantity: Quantity::RatioDifference { higher, lower },
            }]);
        }
        let (low, high) = (vec![self.cell(arm, from)], vec![self.cell(arm, to)]);
        let (plus, minus) = match trend.goes {
            TrendDirection::Up => (high, low),
            TrendDirection::Down => (low, high),
        };
        Ok(vec![Case { x: None, quantity: Quantity::Difference { plus, minus } }])
    }

    fn growth(self, growth: &GrowthClaim) -> Result<Vec<Case>, Error> {
        let more = self.arm("growth", "more", &growth.more)?;
        let less = self.arm("growth", "less", &growth.less)?;
        let (from, to) = self.ends("growth", growth.from.as_ref(), growth.to.as_ref())?;
        let at = |x| [self.cell(more, x), self.cell(less, x)];
        let ([more_to, less_to], [more_from, less_from]) = (at(to), at(from));
        let quantity = if growth.relative {
            Quantity::RatioDifference { higher: at(to), lower: at(from) }
        } else {
            let (plus, minus) = (vec![more_to, less_from], vec![more_from, less_to]);
            Quantity::Difference { plus, minus }
        };
        Ok(vec![Case { x: None, quantity }])
    }

    fn added(self, added: &AddedEffect) -> Result<Vec<Case>, Error> {
        let base = self.in_figure("added", "base", &added.base)?;
        let with = |cases: Self, key: &str, name: &str| cases.arm("added", key, name);
        let arms = (with(self, "arm", &added.arm)?, with(base, "arm", &added.arm)?);
        let than = match &added.than {
            Some(than) => Some((with(self, "than", than)?, with(base, "than", than)?)),
            None => None,
        };
        self.cases_at_points("added", added.x.as_ref(), |x| {
            let base_x = base.matching_point(self, "added", x)?;
            let mut plus = vec![self.cell(arms.0, x)];
            let mut minus = vec![base.cell(arms.1, base_x)];
            if let Some(than) = than {
                plus.push(base.cell(than.1, base_x));
                minus.push(self.cell(than.0, x));
            }
            Ok(Quantity::Difference { plus, minus })
        })
    }

    const fn cell(self, arm: usize, x: usize) -> Cell {
        Cell { figure: self.figure, measure: self.measure, arm, x }
    }

    fn error(self, predicate: &str, key: &str, message: &str) -> Error {
        self.file.error(&keys!["statement", self.number, predicate, key], message)
    }

    fn planned(&self) -> &PlannedFigure {
        &self.figures[self.figure]
    }

    /// The same statement about another figure with the same measure.
    fn in_figure(self, predicate: &str, key: &str, name: &str) -> Result<Self, Error> {
        let keys = keys!["statement", self.number, predicate, key];
        let figure = find_name(self.file, &keys, "figure", name, &figure_names(self.study))?;
        let metric = self.planned().figure.y[self.measure].name();
        let of = &self.figures[figure].figure;
        let measure = find_measure(self.file, of, &keys, Some(&metric))?;
        Ok(Self { figure, measure, is_base: true, ..self })
    }

    /// The arm that represents `name` in this reading.
    fn arm(self, predicate: &str, key: &str, name: &str) -> Result<usize, Error> {
        let own = self.reading.and_then(|reading| reading.arms.get(name));
        let names = self.planned().arm_names();
        let keys = keys!["statement", self.number, predicate, key];
        let own = own.map(String::as_str).filter(|own| !self.is_base || names.contains(own));
        let name = own.unwrap_or(name);
        let what = match self.reading {
            Some(reading) => {
                let figure = &self.planned().figure.id;
                format!("arm in figure {figure} (reading {})", reading.name)
            }
            None => "arm in this figure".to_owned(),
        };
        find_name(self.file, &keys, &what, name, &names)
    }

    /// Index of a point of the axis.
    fn find_point(self, predicate: &str, key: &str, at: &Coordinate) -> Result<usize, Error> {
        let of = |(value, unit): (f64, Unit)| {
            let found = self.planned().point_at(value);
            found.filter(|_| unit == self.planned().unit)
        };
        axis_position(at)
            .and_then(of)
            .ok_or_else(|| self.no_point(predicate, key, &coordinate_text(at)))
    }

    fn no_point(self, predicate: &str, key: &str, at: &str) -> Error {
        let known: Vec<&str> = self.planned().points.iter().map(|x| x.text.as_str()).collect();
        let help = match self.planned().points[..] {
            [ref only] if only.value.is_none() => "this figure has no axis".to_owned(),
            _ => format!("the points are {}", known.join(", ")),
        };
        self.error(predicate, key, &format!("`{at}` is not a point of the axis\n{help}"))
    }

    /// The point of this figure at the same position as `x` in the figure of `other`.
    fn matching_point(self, other: Self, predicate: &str, x: usize) -> Result<usize, Error> {
        if self.figure == other.figure {
            return Ok(x);
        }
        let there = &other.planned().points[x];
        let found = match there.value {
            Some(value) => self.planned().point_at(value),
            None => Some(0).filter(|_| self.planned().points.len() == 1),
        };
        found.ok_or_else(|| self.no_point(predicate, "x", &there.text))
    }

    /// The named point, or all.
    fn cases_at_points(
        self,
        predicate: &str,
        at: Option<&Coordinate>,
        quantity: impl Fn(usize) -> Result<Quantity, Error>,
    ) -> Result<Vec<Case>, Error> {
        let points = match at {
            None => 0..self.planned().points.len(),
            Some(at) => {
                let x = self.find_point(predicate, "x", at)?;
                x..x + 1
            }
        };
        points.map(|x| Ok(Case { x: Some(x), quantity: quantity(x)? })).collect()
    }

    /// The named points, or the first and the last.
    fn ends(
        self,
        predicate: &str,
        from: Option<&Coordinate>,
        to: Option<&Coordinate>,
    ) -> Result<(usize, usize), Error> {
        let last = self.planned().points.len() - 1;
        let from = from.map_or(Ok(0), |at| self.find_point(predicate, "from", at))?;
        let to = to.map_or(Ok(last), |at| self.find_point(predicate, "to", at))?;
        if from == to {
            let message = "a trend needs two points\nthe figure's axis has two or more";
            return Err(self.error(predicate, "from", message));
        }
        Ok((from, to))
    }
}
