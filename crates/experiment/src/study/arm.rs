//! Arms of a study, `[[arm]]`.

use super::number::Settings;
use super::table::table;

table! {
    /// One of the compared configurations, `[[arm]]`.
    #[derive(Default)]
    pub struct Arm expecting "a table with the keys of an arm" {
        /// Name in figures and statements, such as `"atcp"`.
        name: String,
        /// Label for readers, such as `"ATCP"`.
        label: String,
        /// Name of its group, if there are groups.
        group: String = default,
        /// Overrides of a figure's scenario.
        set: Settings = default,
        /// Scenario file, instead of each figure's.
        scenario: Option<String>,
        /// The arm with which it is compared: figures show the paired difference, or ratio.
        against: Option<String>,
        /// Keys of its table in the file: those of an arm, or of a product.
        #[serde(skip)]
        place: Vec<String>,
        /// Index among the study's arms, which determines its colour.
        #[serde(skip)]
        number: usize,
    }
}
