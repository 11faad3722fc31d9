//! Style of an arm, in which arms differ without colour: by the marker of their points and by the dashes of their lines.

use super::drawing::{Colour, Item, Pen, Point, WHITE, at, pen};
use crate::page::figure::{PALETTE, rgb};

/// Dashes of lines: solid, dashed, dotted, dash-dotted, long.
const DASHES: [&[f64]; 5] = [&[], &[4.0, 2.0], &[1.0, 1.5], &[5.0, 1.5, 1.0, 1.5], &[9.0, 2.5]];

/// Shapes of markers, which differ also where they are small.
const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::TriangleUp,
    Marker::Diamond,
    Marker::TriangleDown,
    Marker::Star,
    Marker::Cross,
    Marker::Plus,
];

/// Width of lines.
const LINE_WIDTH: f64 = 0.9;

/// Width of the outline of a marker.
const OUTLINE_WIDTH: f64 = 0.7;

/// Shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A circle.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle that points up.
    TriangleUp,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    TriangleDown,
    /// A star with five points.
    Star,
    /// Two bars that cross, slanting.
    Cross,
    /// Two bars that cross, upright.
    Plus,
}

/// Style of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmStyle {
    /// Colour of the line and the marker.
    pub colour: Colour,
    /// Dashes of the line.
    pub dash: &'static [f64],
    /// Shape of the marker.
    pub marker: Marker,
    /// The marker is an outline, as for a paper's values.
    pub is_hollow: bool,
}

impl ArmStyle {
    /// The style of the arm with this index: the first 40 differ by marker or dash, the first 8 by marker.
    pub fn of_arm(index: usize) -> Self {
        let round = index / MARKERS.len();
        Self {
            colour: rgb(PALETTE[index % PALETTE.len()]),
            dash: DASHES[(index + round) % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
            is_hollow: false,
        }
    }

    /// The style of a paper's values for the same arm: hollow markers and a line of short dashes.
    pub const fn as_reported(self) -> Self {
        Self { is_hollow: true, dash: &[2.0, 2.0], ..self }
    }

    /// The pen of the line.
    pub const fn pen(&self) -> Pen {
        Pen { colour: self.colour, width: LINE_WIDTH, dash: self.dash }
    }

    /// A marker of this size around a point. An edge in white keeps markers apart that overlap.
    pub fn marker(&self, centre: Point, size: f64) -> Item {
        let (fill, edge) = if self.is_hollow { (WHITE, self.colour) } else { (self.colour, WHITE) };
        let width = if self.is_hollow { OUTLINE_WIDTH } else { OUTLINE_WIDTH / 2.0 };
        let corners = outline(self.marker).into_iter();
        let corners =
            corners.map(|(x, y)| at(centre.x + x * size / 2.0, centre.y + y * size / 2.0));
        Item::Shape(corners.collect(), fill, Some(pen(edge, width)))
    }
}

/// Corners of a marker around 0, all of about the same area.
fn outline(marker: Marker) -> Vec<(f64, f64)> {
    let turned = |points: Vec<(f64, f64)>, by: f64| -> Vec<(f64, f64)> {
        let (sin, cos) = (libm::sin(by), libm::cos(by));
        points.into_iter().map(|(x, y)| (x * cos - y * sin, x * sin + y * cos)).collect()
    };
    let polygon = |corners: u32, radius: f64| -> Vec<(f64, f64)> {
        let angle = |corner| std::f64::consts::TAU * f64::from(corner) / f64::from(corners);
        (0..corners)
            .map(|corner| (radius * libm::sin(angle(corner)), -radius * libm::cos(angle(corner))))
            .collect()
    };
    match marker {
        Marker::Circle => polygon(20, 1.0),
        Marker::Square => vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        Marker::TriangleUp => polygon(3, 1.35),
        Marker::TriangleDown => turned(polygon(3, 1.35), std::f64::consts::PI),
        Marker::Diamond => polygon(4, 1.3),
        Marker::Star => {
            let (points, notches) =
                (polygon(5, 1.45), turned(polygon(5, 0.6), std::f64::consts::PI / 5.0));
            points.into_iter().zip(notches).flat_map(|(point, notch)| [point, notch]).collect()
        }
        Marker::Plus => plus(),
        Marker::Cross => turned(plus(), std::f64::consts::FRAC_PI_4),
    }
}

/// Corners of an upright cross.
fn plus() -> Vec<(f64, f64)> {
    let (arm, half) = (1.3, 0.45);
    vec![
        (-half, -arm),
        (half, -arm),
        (half, -half),
        (arm, -half),
        (arm, half),
        (half, half),
        (half, arm),
        (-half, arm),
        (-half, half),
        (-arm, half),
        (-arm, -half),
        (-half, -half),
    ]
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn arms_differ_without_colour() {
        let styles: Vec<ArmStyle> = (0..40).map(ArmStyle::of_arm).collect();
        for (index, one) in styles.iter().enumerate() {
            for other in &styles[..index] {
                assert_ne!((one.marker, one.dash), (other.marker, other.dash), "{index}");
            }
        }
        for (index, one) in styles[..8].iter().enumerate() {
            assert!(styles[..index].iter().all(|other| other.marker != one.marker), "{index}");
            assert!(one.as_reported().is_hollow);
        }
        let drawn: Vec<_> = MARKERS.into_iter().map(outline).collect();
        for (index, one) in drawn.iter().enumerate() {
            assert!(!drawn[..index].contains(one), "{index}");
        }
    }
}
