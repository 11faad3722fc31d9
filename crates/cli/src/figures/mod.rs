//! Figures for print: vector graphics in the width of a column or of a page, in black and white as clear as in colour.

mod axes;
mod canvas;
pub mod curves;
pub mod dots;
pub mod drawing;
mod font;
pub mod heat_map;
mod legend;
pub mod options;
mod pdf;
mod scale;
pub mod style;
mod svg;
pub mod traces;

use canvas::{Canvas, Width};
use drawing::Drawing;
use font::Font;
use options::{FigureOptions, Format, Intervals};

use crate::failure::Failure;
use crate::files::Staging;

/// Folder of the figures.
const FOLDER: &str = "figures";

/// A figure for print.
#[derive(Clone, Debug)]
pub struct PrintFigure {
    /// Name of its files.
    pub id: String,
    /// Title for readers that do not see it; a paper has captions of its own.
    pub title: String,
    /// Content.
    pub content: Content,
}

/// Kinds of figures.
#[derive(Clone, Debug)]
pub enum Content {
    /// Curves against an axis.
    Curves(curves::CurveChart),
    /// Means beside names.
    Dots(dots::DotPlot),
    /// A table of ratios, with colours.
    HeatMap(heat_map::HeatMap),
    /// One run over time.
    Trace(traces::TraceChart),
}

impl PrintFigure {
    /// The drawing in a width; in that of a page if its labels do not fit in a column.
    fn draw(&self, width: Width, intervals: Intervals, font: &Font) -> Drawing {
        let (column, page) = (Canvas::of(width), Canvas::of(Width::Page));
        let canvas = if self.content.fits(column, font) { column } else { page };
        match &self.content {
            Content::Curves(chart) => chart.draw(&self.title, canvas, intervals, font),
            Content::Dots(plot) => plot.draw(&self.title, canvas, font),
            Content::HeatMap(map) => map.draw(&self.title, canvas, font),
            Content::Trace(chart) => chart.draw(&self.title, canvas, font),
        }
    }
}

impl Content {
    fn fits(&self, canvas: Canvas, font: &Font) -> bool {
        match self {
            Self::Curves(chart) => chart.fits(canvas, font),
            Self::Dots(plot) => plot.fits(canvas, font),
            Self::HeatMap(map) => map.fits(canvas, font),
            Self::Trace(chart) => chart.fits(canvas, font),
        }
    }
}

/// Adds the figures to a set of files: `figures/ID.svg` and `figures/ID.pdf`, as requested.
///
/// # Errors
/// A file that cannot be written.
pub fn write(
    staging: &mut Staging,
    figures: &[PrintFigure],
    options: &FigureOptions,
) -> Result<(), Failure> {
    let font = Font::new();
    for (figure, id) in figures.iter().zip(file_names(figures)) {
        let drawing = figure.draw(options.width(), options.intervals(), &font);
        for format in options.formats() {
            let (name, bytes) = match format {
                Format::Svg => {
                    (format!("{FOLDER}/{id}.svg"), svg::svg(&drawing, &font).into_bytes())
                }
                Format::Pdf => (format!("{FOLDER}/{id}.pdf"), pdf::pdf(&drawing, &font)),
            };
            staging.write(&name, |out| out.write_all(&bytes))?;
        }
    }
    Ok(())
}

/// Names of files without their ends: portable, and each only once.
fn file_names(figures: &[PrintFigure]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in figures {
        let plain = file_name(&figure.id);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered);
        names.extend(free.find(|name| !names.contains(name)));
    }
    names
}

/// Letters and digits of a name, also `.` and `_` between them; dashes in the place of all else.
pub fn file_name(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let kept: String = name.chars().map(|c| if is_kept(c) { c } else { '-' }).collect();
    let parts: Vec<&str> = kept.split('-').filter(|part| !part.is_empty()).collect();
    let joined = parts.join("-");
    let name = joined.trim_start_matches('.');
    if name.is_empty() { "figure".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod test;
