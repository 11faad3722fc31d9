//! Chart of means against an axis, with intervals: one curve for each arm, and the values that papers reported.

use super::axes::{HorizontalAxis, VerticalAxis};
use super::canvas::{Canvas, EDGE, MARKER_SIZE};
use super::drawing::{Area, Drawing, INK, Item, Pen, Point, at, pen};
use super::font::Font;
use super::legend::{Entry, Legend, Sample};
use super::options::Intervals;
use super::scale::AxisScale;
use super::style::ArmStyle;

/// Largest and smallest distance between arms at the same x.
const DODGE: (f64, f64) = (3.6, 1.4);

/// Width of the line of an interval.
const BAR_WIDTH: f64 = 0.7;

/// Width of the edges of a band.
const EDGE_WIDTH: f64 = 0.3;

/// Dashes of reference lines, of which each has others.
const LINE_DASHES: [&[f64]; 4] = [&[1.0, 2.0], &[6.0, 2.0, 1.0, 2.0], &[3.0, 3.0], &[]];

/// A mean with its interval, in the units of the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Position.
    pub x: f64,
    /// Mean.
    pub y: f64,
    /// Lower and upper end of its interval.
    pub interval: Option<[f64; 2]>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Style.
    pub style: ArmStyle,
    /// The index of the arm, by which the curve is dodged; `None`: it is not.
    pub arm: Option<usize>,
    /// Points in the order of the line.
    pub points: Vec<Mean>,
}

/// Chart of curves.
#[derive(Clone, Debug)]
pub struct CurveChart {
    /// Title of the horizontal axis with its unit.
    pub x_title: String,
    /// Names of positions; empty if they are numbers.
    pub x_names: Vec<(f64, String)>,
    /// Title of the vertical axis with its unit.
    pub y_title: String,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Horizontal lines with their names.
    pub lines: Vec<(String, f64)>,
}

impl CurveChart {
    /// Returns true if the axes leave enough of the width.
    pub fn fits(&self, canvas: Canvas, font: &Font) -> bool {
        let scale = self.y_scale(canvas);
        let axis = VerticalAxis::new(&scale, &self.y_title, font, canvas.plot_height);
        axis.width() < canvas.width / 3.0
    }

    /// Draws the chart.
    pub fn draw(&self, title: &str, canvas: Canvas, intervals: Intervals, font: &Font) -> Drawing {
        let has_bands = intervals == Intervals::Bands && self.x_names.is_empty();
        let entries = self.entries();
        let y_scale = self.y_scale(canvas);
        let y_axis = VerticalAxis::new(&y_scale, &self.y_title, font, canvas.plot_height);
        let (left, right) = (canvas.margin + y_axis.width(), canvas.margin + EDGE);
        let plot_width = canvas.width - left - right;
        let legend = Legend::new(&entries, font, canvas.width - 2.0 * canvas.margin);
        let x_scale = self.x_scale(plot_width);
        let (offsets, inset) = match has_bands {
            true => (vec![0.0; self.curves.len()], MARKER_SIZE),
            false => self.dodge(&x_scale, plot_width),
        };
        let room = (plot_width - 2.0 * inset, inset + EDGE);
        let x_axis = HorizontalAxis::new(&x_scale, &self.x_title, font, room);

        let top = canvas.margin + legend.height() + 3.0;
        let plot = Area { left, top, width: plot_width, height: canvas.plot_height };
        let height = plot.bottom() + x_axis.height() + canvas.margin;
        let title = title.to_owned();
        let mut drawing = Drawing { title, width: canvas.width, height, items: Vec::new() };
        legend.draw(&mut drawing, canvas.margin, canvas.margin);
        y_axis.draw(&mut drawing, plot);
        x_axis.draw(&mut drawing, plot, inset);
        let place = Placement { plot, inset, x: &x_scale, y: &y_scale };
        for (index, (_, y)) in self.lines.iter().enumerate() {
            let y = place.y(*y);
            drawing.line(at(plot.left, y), at(plot.right(), y), line_pen(index));
        }
        if has_bands {
            drawing.items.extend(self.curves.iter().flat_map(|curve| place.band(curve)));
        }
        for (curve, offset) in self.curves.iter().zip(&offsets) {
            let points = curve.points.iter().map(|point| place.point(point, *offset)).collect();
            drawing.items.push(Item::Strokes(vec![points], curve.style.pen()));
        }
        for (curve, offset) in self.curves.iter().zip(&offsets) {
            let is_barred = |run: &&[Mean]| !has_bands || run.len() == 1;
            drawing.items.extend(place.bars(curve, runs(curve).filter(is_barred), *offset));
        }
        for (curve, offset) in self.curves.iter().zip(&offsets) {
            let points = curve.points.iter().map(|point| place.point(point, *offset));
            drawing.items.extend(points.map(|point| curve.style.marker(point, MARKER_SIZE)));
        }
        drawing
    }

    fn entries(&self) -> Vec<Entry> {
        let curves = self.curves.iter().filter(|curve| !curve.name.is_empty());
        let curves = curves
            .map(|curve| Entry { sample: Sample::Arm(curve.style), name: curve.name.clone() });
        let line = |(index, (name, _)): (usize, &(String, f64))| Entry {
            sample: Sample::Line(line_pen(index)),
            name: name.clone(),
        };
        curves.chain(self.lines.iter().enumerate().map(line)).collect()
    }

    fn y_scale(&self, canvas: Canvas) -> AxisScale {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let lines = self.lines.iter().map(|(_, y)| *y);
        let values: Vec<f64> = points().map(|point| point.y).chain(lines).collect();
        let ends: Vec<f64> = points().filter_map(|point| point.interval).flatten().collect();
        AxisScale::of_values(&values, &ends, (canvas.plot_height / 28.0) as usize)
    }

    fn x_scale(&self, plot_width: f64) -> AxisScale {
        let xs: Vec<f64> =
            self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x).collect();
        if self.x_names.is_empty() {
            return AxisScale::of_positions(&xs, (plot_width / 38.0) as usize);
        }
        AxisScale::of_names(self.x_names.clone())
    }

    /// Distance to the side by which each curve is moved, so that intervals at the same x stand beside each other, and the space that
    /// this needs at both ends of the axis.
    fn dodge(&self, x_scale: &AxisScale, plot_width: f64) -> (Vec<f64>, f64) {
        let mut arms: Vec<usize> = self.curves.iter().filter_map(|curve| curve.arm).collect();
        arms.sort_unstable();
        arms.dedup();
        let xs = self.curves.iter().flat_map(|curve| &curve.points);
        let mut places: Vec<f64> = xs.map(|point| x_scale.place(point.x) * plot_width).collect();
        places.sort_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.01);
        let gap = gaps.fold(plot_width / 3.0, f64::min);
        let step = (gap * 0.8 / arms.len().max(1) as f64).clamp(DODGE.1, DODGE.0);
        let half = arms.len().saturating_sub(1) as f64 / 2.0;
        let offset = |curve: &Curve| {
            let rank = curve.arm.and_then(|arm| arms.iter().position(|other| *other == arm));
            rank.map_or(0.0, |rank| (rank as f64 - half) * step)
        };
        (self.curves.iter().map(offset).collect(), half * step + MARKER_SIZE)
    }
}

/// The parts of a curve whose points have intervals, as long as possible.
fn runs(curve: &Curve) -> impl Iterator<Item = &[Mean]> {
    let has_interval = |point: &Mean| point.interval.is_some_and(|[low, high]| low < high);
    curve
        .points
        .chunk_by(move |one, next| has_interval(one) == has_interval(next))
        .filter(move |run| run.first().is_some_and(has_interval))
}

fn line_pen(index: usize) -> Pen {
    Pen { dash: LINE_DASHES[index % LINE_DASHES.len()], ..pen(INK, 0.7) }
}

/// Places of values in a plot.
struct Placement<'a> {
    plot: Area,
    inset: f64,
    x: &'a AxisScale,
    y: &'a AxisScale,
}

impl Placement<'_> {
    fn y(&self, value: f64) -> f64 {
        self.plot.bottom() - self.y.place(value).clamp(0.0, 1.0) * self.plot.height
    }

    fn point(&self, point: &Mean, offset: f64) -> Point {
        let width = self.plot.width - 2.0 * self.inset;
        at(self.plot.left + self.inset + self.x.place(point.x) * width + offset, self.y(point.y))
    }

    /// The intervals of a curve as bands: a tint each, with edges in the dashes of the arm.
    fn band(&self, curve: &Curve) -> Vec<Item> {
        let mut items = Vec::new();
        for run in runs(curve).filter(|run| run.len() > 1) {
            let [low, high] = [0, 1].map(|end| -> Vec<Point> {
                let ends =
                    run.iter().filter_map(|mean| Some(Mean { y: mean.interval?[end], ..*mean }));
                ends.map(|end| self.point(&end, 0.0)).collect()
            });
            let around = low.iter().chain(high.iter().rev()).copied().collect();
            items.push(Item::Tint(around, curve.style.colour));
            let edge = Pen { width: EDGE_WIDTH, ..curve.style.pen() };
            items.push(Item::Strokes(vec![low, high], edge));
        }
        items
    }

    /// The intervals of parts of a curve: a line each, with caps at the ends that the axis shows.
    fn bars<'a>(
        &self,
        curve: &Curve,
        runs: impl Iterator<Item = &'a [Mean]>,
        offset: f64,
    ) -> Option<Item> {
        let mut strokes = Vec::new();
        for point in runs.flatten() {
            let Some(ends) = point.interval else { continue };
            let Point { x, .. } = self.point(point, offset);
            strokes.push(ends.map(|end| at(x, self.y(end))).to_vec());
            for end in ends.into_iter().filter(|end| self.y.place(*end) >= 0.0) {
                let y = self.y(end);
                strokes.push(vec![at(x - 1.2, y), at(x + 1.2, y)]);
            }
        }
        let pen = pen(curve.style.colour, BAR_WIDTH);
        (!strokes.is_empty()).then_some(Item::Strokes(strokes, pen))
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::figures::canvas::{Width, outside};

    /// Arms with the same means at the same places, with intervals that reach below zero.
    pub fn chart(arms: usize) -> CurveChart {
        let point = |x: f64| Mean { x, y: 2.0, interval: Some([-1.0, 5.0]) };
        let curve = |arm| Curve {
            name: format!("arm {arm}"),
            style: ArmStyle::of_arm(arm),
            arm: Some(arm),
            points: vec![point(0.0), point(30.0), point(60.0)],
        };
        CurveChart {
            x_title: "pause (s)".into(),
            x_names: Vec::new(),
            y_title: "loss (%)".into(),
            curves: (0..arms).map(curve).collect(),
            lines: vec![("a bound".into(), 4.0)],
        }
    }

    fn drawing(chart: &CurveChart, width: Width) -> Drawing {
        chart.draw("", Canvas::of(width), Intervals::Bars, &Font::new())
    }

    /// Reference lines have the same width.
    fn is_bar(pen: &Pen) -> bool {
        pen.width == BAR_WIDTH && pen.colour != INK
    }

    /// The vertical lines of intervals: x, upper and lower end.
    fn bars(drawing: &Drawing) -> Vec<(f64, f64, f64)> {
        let strokes = drawing.items.iter().filter_map(|item| match item {
            Item::Strokes(strokes, pen) if is_bar(pen) => Some(strokes),
            _ => None,
        });
        let upright = strokes.flatten().filter(|line| line.len() == 2 && line[0].x == line[1].x);
        upright.map(|line| (line[0].x, line[1].y, line[0].y)).collect()
    }

    #[test]
    fn intervals_at_the_same_place_stand_beside_each_other() {
        for arms in [2, 8, 12] {
            let mut xs: Vec<f64> =
                bars(&drawing(&chart(arms), Width::Column)).iter().map(|(x, ..)| *x).collect();
            assert_eq!(xs.len(), arms * 3);
            xs.sort_by(f64::total_cmp);
            let least = xs.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
            assert!(least >= DODGE.1 - 1e-9, "{arms}: {least}");
        }
        // A curve alone is where its values are: in the middle of the axis.
        let alone = drawing(&chart(1), Width::Column);
        let [first, middle, last] = bars(&alone)[..] else { panic!() };
        assert!((middle.0 - f64::midpoint(first.0, last.0)).abs() < 1e-9);
    }

    #[test]
    fn intervals_below_zero_end_at_the_axis_without_a_cap() {
        let drawing = drawing(&chart(1), Width::Column);
        let labels: Vec<&str> = drawing.texts().iter().map(|text| text.words.as_str()).collect();
        assert!(labels.contains(&"0") && !labels.iter().any(|label| label.starts_with('−')));
        let zero = drawing.texts().iter().find(|text| text.words == "0").unwrap().anchor.y;
        let (_, high, low) = bars(&drawing)[0];
        assert!(high < low && (low - zero).abs() < 4.0, "{high} {low} {zero}");
        let caps = drawing.items.iter().filter_map(|item| match item {
            Item::Strokes(strokes, pen) if is_bar(pen) => Some(strokes),
            _ => None,
        });
        let caps = caps.flatten().filter(|line| line[0].y == line[1].y).count();
        assert_eq!(caps, 3, "one at the upper end of each interval");
    }

    /// A point without an interval interrupts a band, and one alone has a bar.
    #[test]
    fn bands_join_intervals_of_neighbouring_points() {
        let mut chart = chart(2);
        let points = [10.0, 20.0, 30.0, 40.0];
        let gap = |x: f64| Mean { x, y: 2.0, interval: (x != 30.0).then_some([1.0, 3.0]) };
        chart.curves[0].points = points.map(gap).to_vec();
        let banded = chart.draw("", Canvas::of(Width::Column), Intervals::Bands, &Font::new());
        let tints = banded.items.iter().filter_map(|item| match item {
            Item::Tint(corners, colour) => Some((corners.len(), *colour)),
            _ => None,
        });
        let colours = [0, 1].map(|arm| ArmStyle::of_arm(arm).colour);
        assert_eq!(tints.collect::<Vec<_>>(), [(4, colours[0]), (6, colours[1])]);
        assert_eq!(bars(&banded).len(), 1);
        // Arms are where their values are, and a band ends at zero.
        let Item::Tint(corners, _) =
            banded.items.iter().rfind(|item| matches!(item, Item::Tint(..))).unwrap()
        else {
            panic!()
        };
        assert!((corners[0].x - corners[5].x).abs() < 1e-9);
        assert_eq!(outside(&banded, &Font::new()), [""; 0]);
        // Between named positions there is nothing.
        chart.x_names = points.map(|x| (x, format!("at {x}"))).to_vec();
        chart.curves[1].points = chart.curves[0].points.clone();
        let named = chart.draw("", Canvas::of(Width::Column), Intervals::Bands, &Font::new());
        assert!(!named.items.iter().any(|item| matches!(item, Item::Tint(..))));
        assert_eq!(bars(&named).len(), 6);
    }

    #[test]
    fn the_legend_is_above_the_plot_and_everything_on_the_page() {
        for width in [Width::Column, Width::Page] {
            for arms in [1, 9, 19] {
                let drawing = drawing(&chart(arms), width);
                let texts = drawing.texts();
                let legend = texts
                    .iter()
                    .filter(|text| text.words.starts_with("arm ") || text.words == "a bound");
                let lowest = legend.map(|text| text.anchor.y).fold(0.0, f64::max);
                let highest =
                    bars(&drawing).iter().map(|(_, high, _)| *high).fold(f64::INFINITY, f64::min);
                assert!(lowest < highest - 2.0, "{lowest} {highest}");
                assert_eq!(outside(&drawing, &Font::new()), [""; 0], "{width:?} {arms}");
                assert!(texts.iter().any(|text| text.words == "pause (s)"));
                assert!(texts.iter().any(|text| text.words == "loss (%)" && text.upwards));
            }
        }
    }

    #[test]
    fn no_points_and_long_names_are_drawn_as_well() {
        let mut empty = chart(0);
        empty.lines.clear();
        assert_eq!(outside(&drawing(&empty, Width::Column), &Font::new()), [""; 0]);
        let mut long = chart(2);
        long.curves[0].name = "a name of many words ".repeat(9);
        long.x_names = vec![(0.0, "somewhere".into()), (30.0, "in the middle of it".into())];
        long.x_names.push((60.0, "unpronounceablewords".into()));
        assert_eq!(outside(&drawing(&long, Width::Column), &Font::new()), [""; 0]);
    }
}
