//! Readings of the open questions of a paper, `[[reading]]`: each is a patch of the arms.

use serde::Deserialize;

use super::arm::Arm;
use super::number::Settings;
use super::product::Exception;

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
    /// Words that it adds to the label of an arm.
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
