//! The page that a command writes, one self-contained HTML file: its frame, figures and charts.

pub mod chart;
pub mod figure;
mod records;

use askama::Template;

use crate::failure::Failure;

/// File name of a page.
pub const PAGE: &str = "index.html";

const STYLE: &str = include_str!("../../templates/report.css");

/// Style sheet of statements and verdicts.
const PAPER_STYLE: &str = include_str!("../../templates/paper.css");

/// The part of a page that surrounds its content. The templates escape text, except style, script and the
/// figures' JSON, which come from this crate.
pub struct Frame<'a> {
    /// Title of the document.
    pub title: String,
    /// Heading.
    pub heading: &'a str,
    /// Kind of the page, such as `report`.
    pub kind: &'static str,
    /// Version of driftway that made the page.
    pub version: &'static str,
    /// Style sheet.
    pub style: String,
    /// Class of the content; empty for none.
    pub class: &'static str,
    /// plotly.js.
    pub library: String,
    /// Script that draws the figures.
    pub script: &'static str,
}

impl<'a> Frame<'a> {
    /// The frame of a report.
    pub fn new(heading: &'a str, kind: &'static str) -> Self {
        Self {
            title: heading.to_owned(),
            heading,
            kind,
            version: env!("CARGO_PKG_VERSION"),
            style: STYLE.to_owned(),
            class: "",
            library: plotly_script(),
            script: include_str!("../../templates/report.js"),
        }
    }

    /// The frame of a page with statements and verdicts.
    pub fn of_paper(heading: &'a str, kind: &'static str) -> Self {
        let style = format!("{STYLE}{PAPER_STYLE}");
        Self { style, class: "paper", ..Self::new(heading, kind) }
    }
}

/// The page as HTML.
pub fn render(page: &impl Template) -> Result<String, Failure> {
    let html = page.render();
    html.map_err(|error| Failure::Failed(format!("cannot render the page: {error}")))
}

/// plotly.js in its basic bundle, version 3.0.1 as the crate `plotly` expects: lines, points and bars are all that the
/// pages draw, in a quarter of the whole.
const PLOTLY: &str = include_str!("../../templates/plotly/plotly-basic.min.js");

/// plotly.js as a script element.
fn plotly_script() -> String {
    format!("<script type=\"text/javascript\">{PLOTLY}</script>")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_script_is_one_element_with_its_licence() {
        let library = plotly_script();
        assert_eq!(
            (library.matches("<script").count(), library.matches("</script").count()),
            (1, 1)
        );
        assert!(library.contains("plotly.js (basic - minified) v3.0.1"));
        assert!(library.contains("Licensed under the MIT license"));
    }
}
