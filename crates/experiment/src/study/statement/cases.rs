//! Conversion of a predicate to the quantities to measure at each of its points.

use driftway_scenario::{Coordinate, Error, TomlFile, Unit};

use super::format::{AddedEffect, GrowthClaim, Ratio, Statement, Trend, TrendDirection, Value};
use super::planned::{Case, Cell, Quantity};
use crate::study::check::{
    axis_position, coordinate_text, figure_names, find_measure, find_name, keys,
};
use crate::study::format::Study;
use crate::study::order::Order;
use crate::study::planned_figure::PlannedFigure;
use crate::study::reading::Reading;

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
        let mut all = Vec::new();
        for arm in &value.arm.0 {
            let arm = self.arm("value", "arm", arm)?;
            all.extend(self.cases_at_points("value", value.x.as_ref(), |x| {
                Ok(Quantity::Mean(self.cell(arm, x)))
            })?);
        }
        Ok(all)
    }

    fn ratio(self, ratio: &Ratio) -> Result<Vec<Case>, Error> {
        let has_points = ratio.x.is_some() || !self.study.statements[self.number].at.is_empty();
        let between_points = has_points && ratio.to_x.is_some();
        if ratio.to.0.is_empty() && ratio.to_figure.is_none() && !between_points {
            let message = "a ratio needs another arm, another x, or another figure as its denominator\n\
                           add `to = …`, `x = …` and `to_x = …`, or `to_figure = …`";
            return Err(self.error("ratio", "arm", message));
        }
        if ratio.peak.is_some() && ratio.x.is_some() {
            let message =
                "a peak is one of several points, but `x` is one point\nremove one of them";
            return Err(self.error("ratio", "peak", message));
        }
        let below = match &ratio.to_figure {
            Some(name) => self.in_figure("ratio", "to_figure", name)?,
            None => self,
        };
        let to_x = ratio.to_x.as_ref().map(|x| below.find_point("ratio", "to_x", x)).transpose()?;
        let to = if ratio.to.0.is_empty() { &ratio.arm } else { &ratio.to };
        let mut all = Vec::new();
        for (arm, to) in self.pairs("ratio", "to", &ratio.arm.0, &to.0)? {
            let arm = self.arm("ratio", "arm", arm)?;
            let to = below.arm("ratio", "to", to)?;
            all.extend(self.cases_at_points("ratio", ratio.x.as_ref(), |x| {
                let to_x = to_x.map_or_else(|| below.matching_point(self, "ratio", x), Ok)?;
                Ok(Quantity::Ratio(self.cell(arm, x), below.cell(to, to_x)))
            })?);
        }
        Ok(all)
    }

    fn order(self, order: &Order) -> Result<Vec<Case>, Error> {
        let mut all = Vec::new();
        for (below, above) in self.pairs("order", "above", &order.below, &order.above)? {
            let above = self.arm("order", "above", above)?;
            let below = self.arm("order", "below", below)?;
            all.extend(self.cases_at_points("order", order.x.as_ref(), |x| {
                let (plus, minus) = (vec![self.cell(above, x)], vec![self.cell(below, x)]);
                Ok(Quantity::Difference { plus, minus })
            })?);
        }
        Ok(all)
    }

    /// The pairs of two lists of arms: one by one, or each with the only one of the other list.
    fn pairs<'n>(
        self,
        predicate: &str,
        key: &str,
        first: &'n [String],
        second: &'n [String],
    ) -> Result<Vec<(&'n String, &'n String)>, Error> {
        match (first, second) {
            ([one], all) => Ok(all.iter().map(|other| (one, other)).collect()),
            (all, [one]) => Ok(all.iter().map(|arm| (arm, one)).collect()),
            _ if first.len() == second.len() => Ok(first.iter().zip(second).collect()),
            _ => {
                let (some, others) = (first.len(), second.len());
                let message = format!(
                    "{some} arms cannot be compared with {others}\nlist one arm, or as many as on the other side"
                );
                Err(self.error(predicate, key, &message))
            }
        }
    }

    fn trend(self, trend: &Trend) -> Result<Vec<Case>, Error> {
        let (from, to) = self.ends("trend", trend.from.as_ref(), trend.to.as_ref())?;
        let below = trend.over.as_ref().map(|over| self.in_figure("trend", "over", over));
        let below = below.transpose()?;
        let each = |name: &String| {
            let arm = self.arm("trend", "arm", name)?;
            let quantity = match below {
                None => self.change(arm, from, to, trend.goes),
                Some(below) => {
                    let other = below.arm("trend", "arm", name)?;
                    let at = |x: usize| -> Result<[Cell; 2], Error> {
                        let matching = below.matching_point(self, "trend", x)?;
                        Ok([self.cell(arm, x), below.cell(other, matching)])
                    };
                    let (first, last) = (at(from)?, at(to)?);
                    let (higher, lower) = match trend.goes {
                        TrendDirection::Up => (last, first),
                        TrendDirection::Down => (first, last),
                    };
                    Quantity::RatioDifference { higher, lower }
                }
            };
            Ok(Case { x: None, quantity })
        };
        trend.arm.0.iter().map(each).collect()
    }

    /// The change of an arm between two points, in this direction.
    fn change(self, arm: usize, from: usize, to: usize, goes: TrendDirection) -> Quantity {
        let (low, high) = (vec![self.cell(arm, from)], vec![self.cell(arm, to)]);
        let (plus, minus) = match goes {
            TrendDirection::Up => (high, low),
            TrendDirection::Down => (low, high),
        };
        Quantity::Difference { plus, minus }
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
        Ok(Self { figure, measure, ..self })
    }

    /// The arm that represents `name` in this reading.
    fn arm(self, predicate: &str, key: &str, name: &str) -> Result<usize, Error> {
        let planned = self.planned();
        let own = planned.arm_in(self.reading.map(|of| of.name.as_str()), name);
        let found = own.and_then(|own| planned.arms.iter().position(|of| std::ptr::eq(of, own)));
        found.map_or_else(
            || {
                let keys = keys!["statement", self.number, predicate, key];
                find_name(self.file, &keys, "arm in this figure", name, &planned.arm_names())
            },
            Ok,
        )
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
        let listed = &self.study.statements[self.number].at;
        let points: Vec<usize> = match (at, &listed[..]) {
            (Some(_), [_, ..]) => {
                let message =
                    "`at` lists the points at which the statement must hold\nleave `x` out";
                return Err(self.error(predicate, "x", message));
            }
            (Some(at), []) => vec![self.find_point(predicate, "x", at)?],
            (None, []) => (0..self.planned().points.len()).collect(),
            (None, listed) => {
                let find = |at| self.find_point(predicate, "at", at);
                listed.iter().map(find).collect::<Result<_, _>>()?
            }
        };
        let case = |x| Ok(Case { x: Some(x), quantity: quantity(x)? });
        points.into_iter().map(case).collect()
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
