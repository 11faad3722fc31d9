//! The report page, one self-contained file.

use askama::Template;

use super::figure::Figure;
use crate::text::Grid;

/// Content of the page, in order. The template escapes text, except style, script and the figures'
/// JSON, which come from this crate.
#[derive(Template)]
#[template(path = "report.html")]
pub struct Page {
    /// Title of the set or scenario.
    pub title: String,
    /// Description and number of runs, a line each.
    pub subtitle: Vec<String>,
    /// Version of driftway that made the page.
    pub version: &'static str,
    /// Main figure, with the id of its element.
    pub lead: Option<(String, Figure)>,
    /// Remarks on the tables.
    pub sentences: Vec<String>,
    /// Tables of results.
    pub results: Vec<Grid>,
    /// Explanation of ±.
    pub intervals: &'static str,
    /// Other figures.
    pub sections: Vec<Section>,
    /// Scenarios, with the commands that reproduce their results.
    pub scenarios: Vec<ScenarioSection>,
    /// plotly.js.
    pub library: String,
    /// Style sheet.
    pub style: &'static str,
    /// Script that draws the figures.
    pub script: &'static str,
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

/// Style sheet.
pub const STYLE: &str = include_str!("../../templates/report.css");
/// Script that draws the figures.
pub const SCRIPT: &str = include_str!("../../templates/report.js");

/// plotly.js, without the MathJax that the plotly crate appends: no label has formulas, and it has
/// two megabytes.
pub fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let end = "</script>";
    sources.split_once(end).map_or_else(String::new, |(plotly, _)| format!("{plotly}{end}"))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_script_is_plotly_without_mathjax() {
        let library = plotly_script();
        assert_eq!(library.matches("<script").count(), 1);
        assert!(library.contains("plotly.js v"));
        assert!(!library.contains("MathJax = ") && library.len() < 5_000_000, "{}", library.len());
    }
}
