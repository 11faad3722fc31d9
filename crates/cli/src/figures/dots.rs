//! Chart of means beside names, with intervals: a row for each name, and in it a point for each series.

use super::axes::{HorizontalAxis, LABEL_SIZE, LINE_HEIGHT, draw_name};
use super::canvas::{Canvas, EDGE, MARKER_SIZE};
use super::drawing::{Area, Drawing, INK, Item, PALE, Pen, at, pen};
use super::font::Font;
use super::legend::{Entry, Legend, Sample};
use super::scale::AxisScale;
use super::style::ArmStyle;

/// Distance between the points of a row.
const DODGE: f64 = 4.0;

/// Space above and below the points of a row.
const ROW_SPACE: f64 = 4.0;

/// Part of the width that names may have.
const NAMES_PART: f64 = 0.42;

/// Space between names and the plot.
const GAP: f64 = 4.0;

/// Width of the line of an interval.
const BAR_WIDTH: f64 = 0.7;

/// A mean with its interval, in the unit of the axis.
pub type Mean = (f64, Option<[f64; 2]>);

/// A series of means.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Style, of which the line is not drawn.
    pub style: ArmStyle,
    /// One mean for each row, `None` where there is none.
    pub means: Vec<Option<Mean>>,
}

/// Chart of means beside names.
#[derive(Clone, Debug)]
pub struct DotPlot {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Title of the axis with its unit.
    pub title: String,
    /// The series.
    pub series: Vec<Series>,
    /// Vertical lines with their names; a line without a name is not in the legend.
    pub lines: Vec<(String, f64)>,
}

impl DotPlot {
    /// Returns true if no word of a name is wider than the part of the width that names may have.
    pub fn fits(&self, canvas: Canvas, font: &Font) -> bool {
        let words = self.rows.iter().flat_map(|name| name.split_whitespace());
        words
            .map(|word| font.width(word, LABEL_SIZE))
            .all(|width| width <= canvas.width * NAMES_PART)
    }

    /// Draws the chart.
    pub fn draw(&self, title: &str, canvas: Canvas, font: &Font) -> Drawing {
        let room = canvas.width * NAMES_PART;
        let names: Vec<Vec<String>> =
            self.rows.iter().map(|name| font.lines(name, LABEL_SIZE, room)).collect();
        let widths = names.iter().flatten().map(|line| font.width(line, LABEL_SIZE));
        let names_width = widths.fold(0.0, f64::max);
        let left = canvas.margin + names_width + GAP;
        let plot_width = canvas.width - left - canvas.margin - EDGE;
        let scale = self.scale(plot_width);
        let axis = HorizontalAxis::new(&scale, &self.title, font, (plot_width, EDGE));
        let entries = self.entries();
        let legend = Legend::new(&entries, font, canvas.width - 2.0 * canvas.margin);

        let own = self.series.len().max(1) as f64 * DODGE + ROW_SPACE;
        let heights: Vec<f64> =
            names.iter().map(|lines| own.max(lines.len() as f64 * LINE_HEIGHT + 2.0)).collect();
        let top = canvas.margin + legend.height() + 2.0;
        let plot = Area { left, top, width: plot_width, height: heights.iter().sum() };
        let height = plot.bottom() + axis.height() + canvas.margin;
        let title = title.to_owned();
        let mut drawing = Drawing { title, width: canvas.width, height, items: Vec::new() };
        legend.draw(&mut drawing, canvas.margin, canvas.margin);
        axis.grid(&mut drawing, plot, 0.0);
        for (index, (_, value)) in self.lines.iter().enumerate() {
            let x = plot.left + scale.place(*value).clamp(0.0, 1.0) * plot.width;
            drawing.line(at(x, plot.top), at(x, plot.bottom()), line_pen(index));
        }
        let mut middle = plot.top;
        for (row, (lines, height)) in names.iter().zip(&heights).enumerate() {
            if row > 0 {
                drawing.line(at(plot.left, middle), at(plot.right(), middle), pen(PALE, 0.3));
            }
            let area = Area { top: middle, height: *height, ..plot };
            draw_name(&mut drawing, lines, area, GAP);
            self.draw_row(&mut drawing, row, area, &scale);
            middle += height;
        }
        axis.draw(&mut drawing, plot, 0.0);
        drawing
    }

    fn draw_row(&self, drawing: &mut Drawing, row: usize, area: Area, scale: &AxisScale) {
        let x = |value: f64| area.left + scale.place(value).clamp(0.0, 1.0) * area.width;
        let half = (self.series.len() as f64 - 1.0) / 2.0;
        for (index, series) in self.series.iter().enumerate() {
            let Some((mean, interval)) = series.means.get(row).copied().flatten() else { continue };
            let y = area.top + area.height / 2.0 + (index as f64 - half) * DODGE;
            if let Some(ends) = interval.filter(|[low, high]| low < high) {
                let mut strokes = vec![ends.map(|end| at(x(end), y)).to_vec()];
                for end in ends.into_iter().filter(|end| scale.place(*end) >= 0.0) {
                    strokes.push(vec![at(x(end), y - 1.2), at(x(end), y + 1.2)]);
                }
                drawing.items.push(Item::Strokes(strokes, pen(series.style.colour, BAR_WIDTH)));
            }
            drawing.items.push(series.style.marker(at(x(mean), y), MARKER_SIZE));
        }
    }

    fn scale(&self, plot_width: f64) -> AxisScale {
        let means = || self.series.iter().flat_map(|series| &series.means).flatten();
        let lines = self.lines.iter().map(|(_, value)| *value);
        let values: Vec<f64> = means().map(|(mean, _)| *mean).chain(lines).collect();
        let ends: Vec<f64> = means().filter_map(|(_, interval)| *interval).flatten().collect();
        AxisScale::of_values(&values, &ends, (plot_width / 30.0) as usize)
    }

    fn entries(&self) -> Vec<Entry> {
        let series = self.series.iter().map(|series| Entry {
            sample: Sample::Marker(series.style),
            name: series.name.clone(),
        });
        let lines = self.lines.iter().enumerate().map(|(index, (name, _))| Entry {
            sample: Sample::Line(line_pen(index)),
            name: name.clone(),
        });
        series.chain(lines).filter(|entry| !entry.name.is_empty()).collect()
    }
}

fn line_pen(index: usize) -> Pen {
    let dash: &[f64] = if index.is_multiple_of(2) { &[1.0, 2.0] } else { &[6.0, 2.0, 1.0, 2.0] };
    Pen { dash, ..pen(INK, 0.7) }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::figures::canvas::{Width, outside};

    #[test]
    fn each_name_has_a_row_and_each_series_a_place_in_it() {
        let series = |index: usize| Series {
            name: format!("series {index}"),
            style: ArmStyle::of_arm(index),
            means: vec![Some((1.0, Some([-0.5, 2.5]))), None, Some((2.0, None))],
        };
        let rows = ["ATCP", "a longer name that needs several lines of the column", "no aid"];
        let plot = DotPlot {
            rows: rows.map(str::to_owned).to_vec(),
            title: "throughput (kbit/s)".into(),
            series: (0..6).map(series).collect(),
            lines: vec![("the same".into(), 1.0)],
        };
        for width in [Width::Column, Width::Page] {
            let font = Font::new();
            let drawing = plot.draw("", Canvas::of(width), &font);
            assert_eq!(outside(&drawing, &font), [""; 0]);
            let bars = drawing.items.iter().filter_map(|item| match item {
                Item::Strokes(strokes, pen) if pen.colour != INK && pen.colour != PALE => {
                    strokes.first()
                }
                _ => None,
            });
            let mut heights: Vec<f64> =
                bars.filter(|bar| bar[0].y == bar[1].y).map(|bar| bar[0].y).collect();
            assert_eq!(heights.len(), 6);
            heights.dedup();
            assert!(heights.windows(2).all(|pair| (pair[1] - pair[0] - DODGE).abs() < 1e-9));
            let texts = drawing.texts();
            assert!(!texts.iter().any(|text| text.words.starts_with('−')));
            let words = |name: &str| texts.iter().any(|text| text.words == name);
            assert!(words("ATCP") && words("no aid") && words("series 5") && words("the same"));
        }
    }
}
