//! Arms of a study, `[[arm]]`.

use serde::Deserialize;

use super::number::Settings;

/// One of the compared configurations, `[[arm]]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an arm")]
pub struct Arm {
    /// Name in figures and statements, such as `"atcp"`.
    pub name: String,
    /// Label for readers, such as `"ATCP"`.
    pub label: String,
    /// Name of its group, if there are groups.
    #[serde(default)]
    pub group: String,
    /// Overrides of a figure's scenario.
    #[serde(default)]
    pub set: Settings,
    /// Scenario file, instead of each figure's.
    pub scenario: Option<String>,
    /// The arm with which it is compared: figures show the paired difference, or ratio.
    pub against: Option<String>,
    /// Keys of its table in the file: those of an arm, or of a product.
    #[serde(skip)]
    pub place: Vec<String>,
    /// Index among the study's arms, which determines its colour.
    #[serde(skip)]
    pub number: usize,
}
