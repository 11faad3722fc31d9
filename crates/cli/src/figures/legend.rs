//! Legend of a figure, above the plot, so that it covers no data.

use super::axes::{LABEL_SIZE, LINE_HEIGHT};
use super::drawing::{Align, Area, Colour, Drawing, Item, Pen, at};
use super::font::Font;
use super::style::ArmStyle;

/// Length of the sample before a name.
const SAMPLE: f64 = 20.0;

/// Space between a sample and its name, and after a name.
const SPACE: f64 = 4.0;

/// Largest number of columns.
const MAX_COLUMNS: usize = 4;

/// Sample before a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A line with a marker.
    Arm(ArmStyle),
    /// A marker alone.
    Marker(ArmStyle),
    /// A line.
    Line(Pen),
    /// A filled area.
    Fill(Colour),
}

/// A name in a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Sample of the thing that is named.
    pub sample: Sample,
    /// The name.
    pub name: String,
}

/// A legend, measured before it is drawn.
pub struct Legend<'a> {
    entries: &'a [Entry],
    lines: Vec<Vec<String>>,
    columns: usize,
    column_width: f64,
}

impl<'a> Legend<'a> {
    /// The legend in this width: as many columns as fit, and names on several lines if one column is too narrow.
    pub fn new(entries: &'a [Entry], font: &Font, width: f64) -> Self {
        let names = || entries.iter().map(|entry| entry.name.as_str());
        let longest = names().map(|name| font.width(name, LABEL_SIZE)).fold(0.0, f64::max);
        let own = SAMPLE + SPACE + longest + 2.0 * SPACE;
        let columns = ((width / own) as usize).clamp(1, MAX_COLUMNS.min(entries.len().max(1)));
        let column_width = if columns > 1 { own } else { width };
        let room = column_width - SAMPLE - SPACE;
        let lines = names().map(|name| font.lines(name, LABEL_SIZE, room)).collect();
        Self { entries, lines, columns, column_width }
    }

    /// Numbers of lines in the rows of entries.
    fn rows(&self) -> Vec<usize> {
        let most = |row: &[Vec<String>]| row.iter().map(Vec::len).max().unwrap_or(0).max(1);
        self.lines.chunks(self.columns).map(most).collect()
    }

    /// Height with the space below it; 0 without entries.
    pub fn height(&self) -> f64 {
        let lines: usize = self.rows().iter().sum();
        if lines == 0 { 0.0 } else { lines as f64 * LINE_HEIGHT + 5.0 }
    }

    /// Draws the legend with its upper left corner at the given place.
    pub fn draw(&self, drawing: &mut Drawing, left: f64, top: f64) {
        let mut y = top;
        let rows = self.entries.chunks(self.columns).zip(self.lines.chunks(self.columns));
        for ((entries, lines), count) in rows.zip(self.rows()) {
            for (column, (entry, lines)) in entries.iter().zip(lines).enumerate() {
                let x = left + column as f64 * self.column_width;
                sample(drawing, &entry.sample, x, y + LINE_HEIGHT / 2.0);
                for (index, line) in lines.iter().enumerate() {
                    let below = LINE_HEIGHT / 2.0 + LABEL_SIZE * 0.35 + index as f64 * LINE_HEIGHT;
                    let anchor = at(x + SAMPLE + SPACE, y + below);
                    drawing.text(line, anchor, LABEL_SIZE, Align::Start);
                }
            }
            y += count as f64 * LINE_HEIGHT;
        }
    }
}

fn sample(drawing: &mut Drawing, sample: &Sample, x: f64, y: f64) {
    let line = |pen: Pen| Item::Strokes(vec![vec![at(x, y), at(x + SAMPLE, y)]], pen);
    let marker =
        |style: &ArmStyle| style.marker(at(x + SAMPLE / 2.0, y), super::canvas::MARKER_SIZE);
    match sample {
        Sample::Arm(style) => drawing.items.extend([line(style.pen()), marker(style)]),
        Sample::Marker(style) => drawing.items.push(marker(style)),
        Sample::Line(pen) => drawing.items.push(line(*pen)),
        Sample::Fill(colour) => {
            let area = Area { left: x + SAMPLE - 12.0, top: y - 2.5, width: 12.0, height: 5.0 };
            drawing.items.push(Item::Shape(area.corners().to_vec(), *colour, None));
        }
    }
}
