//! Readings of the open questions of a paper, `[[reading]]`: each is a patch of the arms.

use serde::Deserialize;

use super::format::{Arm, Study};
use super::number::Settings;
use super::product::Exception;
use super::statement_format::Statement;

/// A reading of the open questions of a paper, `[[reading]]`. Each statement of the paper is judged and
/// counted in each reading; the first reading is the literal one.
///
/// Its overrides are applied to each arm that a statement names, key by key, where the scenario with this
/// arm has the key. The arm is then called `ARM-READING`. Where nothing changes, nothing is counted again.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reading")]
pub struct Reading {
    /// Name in statements, such as `"text"`.
    pub name: String,
    /// Label for readers, such as `"as the text says"`.
    pub label: String,
    /// What it adds to the label of an arm.
    #[schemars(extend("x-default" = "its name"))]
    pub suffix: Option<String>,
    /// Overrides of the arms, which take precedence over those of an arm.
    #[serde(default)]
    pub set: Settings,
    /// Arms that have other overrides in this reading, or none (`omit = true`).
    #[serde(default)]
    pub except: Vec<Exception>,
    /// Figures in which statements are judged in this reading.
    #[serde(default)]
    #[schemars(extend("x-default" = "all"))]
    pub figures: Vec<String>,
    /// It is a variant of ours, and no reading of the paper: its score is shown apart.
    #[serde(default)]
    #[schemars(extend("x-default" = "false"))]
    pub ours: bool,
}

impl Reading {
    /// Returns whether statements about a figure are judged in it.
    pub fn is_of_figure(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|of| of == figure)
    }

    /// The overrides of an arm.
    pub fn settings_of(&self, arm: &str) -> Settings {
        match self.except.iter().find(|of| of.is_about(arm)) {
            Some(Exception { omit: true, .. }) => Settings::new(),
            Some(other) => other.set.clone(),
            None => self.set.clone(),
        }
    }

    /// Name of the arm that represents the arm `name`.
    pub fn name_of(&self, arm: &str) -> String {
        format!("{arm}-{}", self.name)
    }

    /// The arm with these overrides; `number` determines its colour.
    pub fn derived(&self, arm: &Arm, set: Settings, number: usize) -> Arm {
        let suffix = self.suffix.as_ref().unwrap_or(&self.name);
        let mut derived = Arm {
            name: self.name_of(&arm.name),
            label: format!("{}, {suffix}", arm.label),
            group: self.name.clone(),
            number,
            ..arm.clone()
        };
        derived.set.extend(set);
        derived
    }
}

impl Statement {
    /// Returns whether it is judged in this reading of a figure.
    pub fn is_judged_in(&self, reading: &Reading, figure: &str) -> bool {
        let is_listed = match self.readings.is_empty() {
            true => !self.ours,
            false => self.readings.contains(&reading.name),
        };
        is_listed && reading.is_of_figure(figure)
    }

    /// The arms that it names.
    pub fn arms(&self) -> Vec<&str> {
        let several = [
            self.value.as_ref().map(|of| &of.arm),
            self.trend.as_ref().map(|of| &of.arm),
            self.ratio.as_ref().map(|of| &of.arm),
            self.ratio.as_ref().map(|of| &of.to),
            self.order.as_ref().map(|of| &of.below),
            self.order.as_ref().map(|of| &of.above),
        ];
        let several = several.into_iter().flatten().flat_map(|of| &of.0);
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
    /// The arms of a figure that statements name in this reading: those about the figure, and those about
    /// another one that they compare with it.
    pub fn arms_judged(&self, figure: &str, reading: &Reading) -> Vec<&str> {
        let is_judged = |statement: &&Statement| {
            let compared = statement.base_figures().contains(&figure);
            let mut about = statement.figure.0.iter();
            about.any(|id| (compared || id == figure) && statement.is_judged_in(reading, id))
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
