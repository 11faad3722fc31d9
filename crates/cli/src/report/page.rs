//! The page: everything in one file, which asks no network for anything.

use askama::Template;

use super::figure::Figure;
use crate::text::Grid;

/// What the page shows, in order. Text is escaped by the template; what it takes as it is comes
/// from this crate: style, script, and the figures' JSON.
#[derive(Template)]
#[template(path = "report.html")]
pub struct Page {
    /// What was run.
    pub title: String,
    /// What it is about and how much was run, a line each.
    pub subtitle: Vec<String>,
    /// The driftway that draws.
    pub version: &'static str,
    /// What people look at first, with the name of its element.
    pub lead: Option<(String, Figure)>,
    /// What the tables can't say.
    pub sentences: Vec<String>,
    /// The results.
    pub results: Vec<Grid>,
    /// What ± means.
    pub intervals: &'static str,
    /// Figures.
    pub sections: Vec<Section>,
    /// How to run it again.
    pub scenarios: Vec<ScenarioSection>,
    /// plotly.js.
    pub library: String,
    /// How it looks.
    pub style: &'static str,
    /// What draws the figures.
    pub script: &'static str,
}

/// Figures that belong together, each with the name of its element.
pub struct Section {
    /// What they show.
    pub title: String,
    /// The figures.
    pub figures: Vec<(String, Figure)>,
}

/// What was run, and how to run it again.
pub struct ScenarioSection {
    /// The scenario's name.
    pub name: String,
    /// What the scenario says it shows.
    pub description: Option<String>,
    /// Which seeds.
    pub seeds: String,
    /// The driftway that ran it.
    pub version: String,
    /// In what it differs from the others.
    pub differs: String,
    /// The command.
    pub command: String,
    /// What did not complete.
    pub sentences: Vec<String>,
    /// Each flow, where the results above report all as one.
    pub flows: Option<Grid>,
    /// What was dropped, where the results above don't tell.
    pub drops: Option<Grid>,
    /// The resolved scenario.
    pub scenario: String,
}

/// The style sheet.
pub const STYLE: &str = include_str!("../../templates/report.css");
/// The script.
pub const SCRIPT: &str = include_str!("../../templates/report.js");

/// plotly.js, without the MathJax that the plotly crate puts behind it: no label has formulas, and
/// it is two megabytes.
pub fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let end = "</script>";
    sources.split_once(end).map_or_else(String::new, |(plotly, _)| format!("{plotly}{end}"))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_library_is_plotly_and_nothing_else() {
        let library = plotly_script();
        assert_eq!(library.matches("<script").count(), 1);
        assert!(library.contains("plotly.js v"));
        assert!(!library.contains("MathJax = ") && library.len() < 5_000_000, "{}", library.len());
    }
}
