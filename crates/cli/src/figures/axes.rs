//! Axes of a plot: lines, ticks, labels and titles around its area.

use super::drawing::{Align, Area, Drawing, INK, Item, PALE, Text, at, pen};
use super::font::Font;
use super::scale::AxisScale;

/// Size of labels of ticks, of rows and of the legend.
pub const LABEL_SIZE: f64 = 7.0;

/// Size of titles of axes.
pub const TITLE_SIZE: f64 = 8.0;

/// Distance between baselines of labels.
pub const LINE_HEIGHT: f64 = 8.2;

/// Length of a tick.
const TICK: f64 = 2.5;

/// Distance between an axis and its labels.
const GAP: f64 = TICK + 2.0;

/// Width of the lines of axes.
const AXIS_WIDTH: f64 = 0.6;

/// Space between neighbouring labels.
const BETWEEN_LABELS: f64 = 5.0;

/// A label on several lines, or one that reads upwards.
#[derive(Clone, Debug, PartialEq)]
enum Label {
    /// Lines, and the width of the widest.
    Lines(Vec<String>, f64),
    Upwards(String),
}

/// The horizontal axis, measured before it is drawn.
pub struct HorizontalAxis<'a> {
    scale: &'a AxisScale,
    title: Vec<String>,
    labels: Vec<Label>,
    label_height: f64,
    /// Space to the right of the last place.
    edge: f64,
}

impl<'a> HorizontalAxis<'a> {
    /// The axis for a plot of this width with space beyond its right `edge`: labels that would touch are broken into lines,
    /// then turned.
    pub fn new(scale: &'a AxisScale, title: &str, font: &Font, (width, edge): (f64, f64)) -> Self {
        let places: Vec<f64> = scale.ticks.iter().map(|(at, _)| scale.place(*at) * width).collect();
        let gap = places.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let room = gap.min(width) - BETWEEN_LABELS;
        let lines: Vec<Vec<String>> =
            scale.ticks.iter().map(|(_, label)| font.wrap(label, LABEL_SIZE, room)).collect();
        let widest = |lines: &[String]| {
            lines.iter().map(|line| font.width(line, LABEL_SIZE)).fold(0.0, f64::max)
        };
        let longest = lines.iter().map(|lines| widest(lines)).fold(0.0, f64::max);
        // The last label is moved away from the edge as far as the one before leaves room.
        let moved = lines.last().map_or(0.0, |last| widest(last) / 2.0 - edge);
        let fits = longest <= room && moved <= gap - longest - 2.0;
        let (labels, label_height) = if fits {
            let most = lines.iter().map(Vec::len).max().unwrap_or(0);
            let label = |lines: Vec<String>| {
                let width = widest(&lines);
                Label::Lines(lines, width)
            };
            (lines.into_iter().map(label).collect(), most as f64 * LINE_HEIGHT)
        } else {
            let widths = scale.ticks.iter().map(|(_, label)| font.width(label, LABEL_SIZE));
            let longest = widths.fold(0.0, f64::max);
            let upwards = scale.ticks.iter().map(|(_, label)| Label::Upwards(label.clone()));
            (upwards.collect(), longest + 2.0)
        };
        Self { scale, title: font.lines(title, TITLE_SIZE, width), labels, label_height, edge }
    }

    /// Height below the plot.
    pub fn height(&self) -> f64 {
        GAP + self.label_height + self.title.len() as f64 * (TITLE_SIZE + 2.0) + 2.0
    }

    /// Draws the axis below `plot`; values are placed within `inset` of its sides.
    pub fn draw(&self, drawing: &mut Drawing, plot: Area, inset: f64) {
        let (bottom, width) = (plot.bottom(), plot.width - 2.0 * inset);
        drawing.line(at(plot.left, bottom), at(plot.right(), bottom), pen(INK, AXIS_WIDTH));
        for ((value, _), label) in self.scale.ticks.iter().zip(&self.labels) {
            let x = plot.left + inset + self.scale.place(*value) * width;
            drawing.line(at(x, bottom), at(x, bottom + TICK), pen(INK, AXIS_WIDTH));
            match label {
                Label::Lines(lines, width) => {
                    let x = x.min(plot.right() - inset + self.edge - width / 2.0);
                    for (index, line) in lines.iter().enumerate() {
                        let y = bottom + GAP + LABEL_SIZE * 0.75 + index as f64 * LINE_HEIGHT;
                        drawing.text(line, at(x, y), LABEL_SIZE, Align::Middle);
                    }
                }
                Label::Upwards(words) => upwards(
                    drawing,
                    words,
                    (at(x + LABEL_SIZE * 0.35, bottom + GAP), LABEL_SIZE, Align::End),
                ),
            }
        }
        for (index, line) in self.title.iter().enumerate() {
            let below = self.label_height + TITLE_SIZE + index as f64 * (TITLE_SIZE + 2.0);
            let anchor = at(plot.left + plot.width / 2.0, bottom + GAP + below);
            drawing.text(line, anchor, TITLE_SIZE, Align::Middle);
        }
    }

    /// Draws a pale line up from each tick.
    pub fn grid(&self, drawing: &mut Drawing, plot: Area, inset: f64) {
        for (value, _) in &self.scale.ticks {
            let x = plot.left + inset + self.scale.place(*value) * (plot.width - 2.0 * inset);
            drawing.line(at(x, plot.top), at(x, plot.bottom()), pen(PALE, 0.4));
        }
    }
}

/// The vertical axis, measured before it is drawn.
pub struct VerticalAxis<'a> {
    scale: &'a AxisScale,
    title: Vec<String>,
    label_width: f64,
}

impl<'a> VerticalAxis<'a> {
    /// The axis for a plot of this height.
    pub fn new(scale: &'a AxisScale, title: &str, font: &Font, height: f64) -> Self {
        let widths = scale.ticks.iter().map(|(_, label)| font.width(label, LABEL_SIZE));
        let title = font.lines(title, TITLE_SIZE, height);
        Self { scale, title, label_width: widths.fold(0.0, f64::max) }
    }

    /// Width to the left of the plot.
    pub fn width(&self) -> f64 {
        self.title.len() as f64 * (TITLE_SIZE + 2.0) + 2.0 + self.label_width + GAP
    }

    /// Draws the axis to the left of `plot`, with a pale line through it at each tick.
    pub fn draw(&self, drawing: &mut Drawing, plot: Area) {
        let left = plot.left;
        for (value, label) in &self.scale.ticks {
            let y = plot.bottom() - self.scale.place(*value) * plot.height;
            drawing.line(at(left, y), at(plot.right(), y), pen(PALE, 0.4));
            drawing.line(at(left - TICK, y), at(left, y), pen(INK, AXIS_WIDTH));
            let anchor = at(left - GAP, y + LABEL_SIZE * 0.35);
            drawing.text(label, anchor, LABEL_SIZE, Align::End);
        }
        drawing.line(at(left, plot.top), at(left, plot.bottom()), pen(INK, AXIS_WIDTH));
        for (index, line) in self.title.iter().enumerate() {
            let x = left - self.width() + (index + 1) as f64 * (TITLE_SIZE + 2.0) - 1.0;
            let middle = at(x, plot.top + plot.height / 2.0);
            upwards(drawing, line, (middle, TITLE_SIZE, Align::Middle));
        }
    }
}

/// Adds a text that reads upwards.
pub fn upwards(
    drawing: &mut Drawing,
    words: &str,
    (anchor, size, align): (super::drawing::Point, f64, Align),
) {
    let words = words.to_owned();
    drawing.items.push(Item::Text(Text { words, anchor, size, align, upwards: true, colour: INK }));
}

/// Adds the name of a row, at this distance to the left of its area.
pub fn draw_name(drawing: &mut Drawing, lines: &[String], area: Area, gap: f64) {
    let block = (lines.len() as f64 - 1.0) * LINE_HEIGHT;
    for (index, line) in lines.iter().enumerate() {
        let y = area.top + area.height / 2.0 - block / 2.0 + index as f64 * LINE_HEIGHT;
        let anchor = at(area.left - gap, y + LABEL_SIZE * 0.35);
        drawing.text(line, anchor, LABEL_SIZE, Align::End);
    }
}
