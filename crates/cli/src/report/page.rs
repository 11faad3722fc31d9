//! The content of the report page.

use askama::Template;

use crate::page::Frame;
use crate::page::figure::Figure;
use crate::text::Grid;

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "report.html")]
pub struct Page<'a> {
    /// The frame, whose heading is the title of the set or scenario.
    pub frame: Frame<'a>,
    /// Description and number of runs, a line each.
    pub subtitle: Vec<String>,
    /// Main figure, with the id of its element.
    pub lead: Option<(String, Figure)>,
    /// Remarks on the tables.
    pub sentences: Vec<String>,
    /// Tables of results.
    pub results: Vec<Grid>,
    /// Explanation of ±.
    pub intervals: &'static str,
    /// A sentence about what the commands of the scenarios reproduce.
    pub reproduces: &'static str,
    /// Other figures.
    pub sections: Vec<Section>,
    /// File name of the replay beside the page, if there is an event log.
    pub replay: Option<&'static str>,
    /// Scenarios, with the commands that reproduce their results.
    pub scenarios: Vec<ScenarioSection>,
}

/// A section of figures, each with the id of its element.
pub struct Section {
    /// Title of the section.
    pub title: String,
    /// Figures of the section.
    pub figures: Vec<(String, Figure)>,
}

/// A scenario's section, with the command that reproduces its results.
pub struct ScenarioSection {
    /// Name of the scenario.
    pub name: String,
    /// Description of the scenario.
    pub description: Option<String>,
    /// Number of runs, and their seeds.
    pub seeds: String,
    /// Version of driftway that ran it.
    pub version: String,
    /// Difference from the other scenarios.
    pub differs: String,
    /// Command that reproduces the results.
    pub command: String,
    /// Transfers that did not complete.
    pub sentences: Vec<String>,
    /// Table of the flows, if the results above aggregate them.
    pub flows: Option<Grid>,
    /// Table of drops, if the results above have none.
    pub drops: Option<Grid>,
    /// Scenario with all defaults.
    pub scenario: String,
}
