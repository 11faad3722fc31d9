//! Chart of one run over time: lines and events above bands, such as outages.

use super::axes::{HorizontalAxis, VerticalAxis};
use super::canvas::{Canvas, EDGE, MARKER_SIZE};
use super::drawing::{Area, Colour, Drawing, Item, Pen, Point, at};
use super::font::Font;
use super::legend::{Entry, Legend, Sample};
use super::scale::AxisScale;
use super::style::ArmStyle;

/// A title with its unit, and the ends of an axis.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Title with its unit.
    pub title: String,
    /// Value at the low end.
    pub low: f64,
    /// Value at the high end, above the low one.
    pub high: f64,
}

/// Part of a chart over time.
#[derive(Clone, Debug)]
pub enum Part {
    /// Areas over the whole height: their times from and to.
    Bands(Colour, Vec<(f64, f64)>),
    /// Lines through points.
    Lines(Pen, Vec<Vec<(f64, f64)>>),
    /// Events.
    Marks(ArmStyle, Vec<(f64, f64)>),
}

/// Chart of one run over time.
#[derive(Clone, Debug)]
pub struct TraceChart {
    /// Horizontal axis.
    pub x: Extent,
    /// Vertical axis.
    pub y: Extent,
    /// Parts with their names, the lowest first.
    pub parts: Vec<(String, Part)>,
}

impl TraceChart {
    /// Returns true if the axes leave enough of the width.
    pub fn fits(&self, canvas: Canvas, font: &Font) -> bool {
        let scale = self.y_scale(canvas);
        let axis = VerticalAxis::new(&scale, &self.y.title, font, canvas.plot_height);
        axis.width() < canvas.width / 3.0
    }

    /// Draws the chart.
    pub fn draw(&self, title: &str, canvas: Canvas, font: &Font) -> Drawing {
        let y_scale = self.y_scale(canvas);
        let y_axis = VerticalAxis::new(&y_scale, &self.y.title, font, canvas.plot_height);
        let left = canvas.margin + y_axis.width();
        let plot_width = canvas.width - left - canvas.margin - EDGE;
        let ticks = (plot_width / 38.0) as usize;
        let x_scale = AxisScale::between(self.x.low, self.x.high, ticks);
        let x_axis = HorizontalAxis::new(&x_scale, &self.x.title, font, (plot_width, EDGE));
        let entry = |(name, part): &(String, Part)| Entry {
            name: name.clone(),
            sample: match part {
                Part::Bands(colour, _) => Sample::Fill(*colour),
                Part::Lines(pen, _) => Sample::Line(*pen),
                Part::Marks(style, _) => Sample::Marker(*style),
            },
        };
        let entries: Vec<Entry> = self.parts.iter().map(entry).collect();
        let legend = Legend::new(&entries, font, canvas.width - 2.0 * canvas.margin);

        let top = canvas.margin + legend.height() + 3.0;
        let plot = Area { left, top, width: plot_width, height: canvas.plot_height };
        let height = plot.bottom() + x_axis.height() + canvas.margin;
        let title = title.to_owned();
        let mut drawing = Drawing { title, width: canvas.width, height, items: Vec::new() };
        legend.draw(&mut drawing, canvas.margin, canvas.margin);
        let place = |(x, y): (f64, f64)| {
            at(
                plot.left + x_scale.place(x) * plot.width,
                plot.bottom() - y_scale.place(y) * plot.height,
            )
        };
        let items = |part: &(String, Part)| self.items(&part.1, plot, &place);
        let (bands, others): (Vec<_>, Vec<_>) =
            self.parts.iter().partition(|(_, part)| matches!(part, Part::Bands(..)));
        drawing.items.push(Item::Clipped(plot, bands.into_iter().flat_map(items).collect()));
        y_axis.draw(&mut drawing, plot);
        x_axis.draw(&mut drawing, plot, 0.0);
        drawing.items.push(Item::Clipped(plot, others.into_iter().flat_map(items).collect()));
        drawing
    }

    fn y_scale(&self, canvas: Canvas) -> AxisScale {
        AxisScale::between(self.y.low, self.y.high, (canvas.plot_height / 28.0) as usize)
    }

    /// The items of a part, without what is wholly before or after the shown time.
    fn items(&self, part: &Part, plot: Area, place: &dyn Fn((f64, f64)) -> Point) -> Vec<Item> {
        let is_shown = |from: f64, to: f64| from <= self.x.high && to >= self.x.low;
        match part {
            Part::Bands(colour, spans) => {
                let shown = spans.iter().filter(|(from, to)| is_shown(*from, *to));
                let band = |(from, to): &(f64, f64)| {
                    let x = |time: f64| place((time.clamp(self.x.low, self.x.high), self.y.low)).x;
                    let area = Area { left: x(*from), width: (x(*to) - x(*from)).max(0.4), ..plot };
                    Item::Shape(area.corners().to_vec(), *colour, None)
                };
                shown.map(band).collect()
            }
            Part::Lines(pen, lines) => {
                let reaches = |line: &&Vec<(f64, f64)>| {
                    let (first, last) = (line.first(), line.last());
                    first.zip(last).is_some_and(|(first, last)| is_shown(first.0, last.0))
                };
                let drawn = |line: &Vec<(f64, f64)>| line.iter().copied().map(place).collect();
                vec![Item::Strokes(lines.iter().filter(reaches).map(drawn).collect(), *pen)]
            }
            Part::Marks(style, points) => {
                let shown = points.iter().filter(|(x, _)| is_shown(*x, *x));
                shown.map(|point| style.marker(place(*point), MARKER_SIZE)).collect()
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::figures::canvas::{Width, outside};
    use crate::figures::drawing::{INK, PALE, pen};

    #[test]
    fn only_the_shown_time_is_drawn_with_the_outage_behind_it() {
        let line = |x: f64| vec![(x, 1.0), (x, 2.0)];
        let chart = TraceChart {
            x: Extent { title: "Time (s)".into(), low: 10.0, high: 20.0 },
            y: Extent { title: "Stream offset (kB)".into(), low: 0.0, high: 4.0 },
            parts: vec![
                ("outage".into(), Part::Bands(PALE, vec![(0.0, 5.0), (12.0, 90.0)])),
                (
                    "sent".into(),
                    Part::Lines(pen(INK, 0.8), vec![line(1.0), line(11.0), line(21.0)]),
                ),
                ("timeout".into(), Part::Marks(ArmStyle::of_arm(6), vec![(9.0, 1.0), (13.0, 1.0)])),
            ],
        };
        let font = Font::new();
        let drawing = chart.draw("", Canvas::of(Width::Column), &font);
        assert_eq!(outside(&drawing, &font), [""; 0]);
        let clipped = drawing.items.iter().filter_map(|item| match item {
            Item::Clipped(area, items) => Some((*area, items.clone())),
            _ => None,
        });
        let [(plot, bands), (_, others)] = &clipped.collect::<Vec<_>>()[..] else { panic!() };
        let [Item::Shape(corners, ..)] = &bands[..] else { panic!("{bands:?}") };
        assert!((corners[1].x - plot.right()).abs() < 1e-9 && corners[0].x > plot.left);
        let [Item::Strokes(lines, _), Item::Shape(..)] = &others[..] else { panic!("{others:?}") };
        assert_eq!(lines.len(), 1);
    }
}
