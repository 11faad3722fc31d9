//! The arms, figures and readings of a statement.

use super::format::Study;
use super::reading::Reading;
use super::statement_format::Statement;

impl Statement {
    /// The arms that it names.
    pub fn arms(&self) -> Vec<&str> {
        let several = [
            self.value.as_ref().map(|of| &of.arm),
            self.trend.as_ref().map(|of| &of.arm),
            self.ratio.as_ref().map(|of| &of.arm),
            self.ratio.as_ref().map(|of| &of.to),
        ];
        let several = several.into_iter().flatten().flat_map(|of| &of.0);
        let of_order = self.order.iter().flat_map(|of| of.below.iter().chain(&of.above));
        let several = several.chain(of_order);
        let of_added = self.added.iter().flat_map(|of| [Some(&of.arm), of.than.as_ref()]);
        let of_growth = self.growth.iter().flat_map(|of| [Some(&of.more), Some(&of.less)]);
        several.chain(of_added.chain(of_growth).flatten()).map(String::as_str).collect()
    }

    /// The figures with which it compares its own.
    fn base_figures(&self) -> Vec<&str> {
        let of_ratio = self.ratio.iter().filter_map(|of| of.to_figure.as_deref());
        let of_trend = self.trend.iter().filter_map(|of| of.over.as_deref());
        let of_added = self.added.iter().map(|of| of.base.as_str());
        of_ratio.chain(of_trend).chain(of_added).collect()
    }
}

impl Study {
    /// Returns whether a statement about this figure is judged in this reading.
    pub fn is_judged(&self, statement: &Statement, figure: &str, reading: &Reading) -> bool {
        let about = self.figures.iter().find(|of| of.id == figure);
        let of_figure = about.map_or(&[][..], |of| &of.readings);
        let is_listed = match (&statement.readings[..], of_figure) {
            ([], []) => !statement.ours,
            ([], names) | (names, _) => names.contains(&reading.name),
        };
        is_listed && reading.is_of_figure(figure)
    }

    /// The arms of a figure that statements name in this reading: those about the figure, and those about
    /// another one that they compare with it.
    pub fn arms_judged(&self, figure: &str, reading: &Reading) -> Vec<&str> {
        let is_judged = |statement: &&Statement| {
            let compared = statement.base_figures().contains(&figure);
            let mut about = statement.figure.0.iter();
            about.any(|id| (compared || id == figure) && self.is_judged(statement, id, reading))
        };
        let judged = self.statements.iter().filter(is_judged);
        let mut arms: Vec<&str> = judged.flat_map(Statement::arms).collect();
        arms.sort_unstable();
        arms.dedup();
        arms
    }

    /// The arm and the reading that a name such as `tcp` or `tcp-wire` stands for.
    pub fn arm_and_reading(&self, name: &str) -> Option<(usize, Option<usize>)> {
        let position = |name: &str| self.arms.iter().position(|arm| arm.name == name);
        if let Some(arm) = position(name) {
            return Some((arm, None));
        }
        self.readings.iter().enumerate().find_map(|(number, reading)| {
            let arm = name.strip_suffix(&reading.name)?.strip_suffix('-')?;
            Some((position(arm)?, Some(number)))
        })
    }
}
