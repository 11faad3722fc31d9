//! Size of figures, and lengths that all of them share.

use super::drawing::millimetres;

/// Diameter of markers.
pub const MARKER_SIZE: f64 = 4.2;

/// Space to the right of a plot, for half of the last label.
pub const EDGE: f64 = 8.0;

/// Width of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A column of a page with two: 84 mm.
    Column,
    /// A page: 174 mm.
    Page,
}

/// Size of what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Canvas {
    /// Width of the figure.
    pub width: f64,
    /// Height of the plot, without what is around it.
    pub plot_height: f64,
    /// Space at the edges.
    pub margin: f64,
}

impl Canvas {
    /// The canvas of a figure of this width.
    pub const fn of(width: Width) -> Self {
        let (width, plot_height) = match width {
            Width::Column => (millimetres(84.0), millimetres(52.0)),
            Width::Page => (millimetres(174.0), millimetres(78.0)),
        };
        Self { width, plot_height, margin: 2.0 }
    }
}

/// Parts of a drawing beyond its edges.
#[cfg(test)]
pub fn outside(drawing: &super::drawing::Drawing, font: &super::font::Font) -> Vec<String> {
    use super::drawing::Item;
    let on_page = |x: f64, y: f64| {
        (-0.01..=drawing.width + 0.01).contains(&x) && (-0.01..=drawing.height + 0.01).contains(&y)
    };
    let is_text_outside = |text: &&super::drawing::Text| {
        let width = font.width(&text.words, text.size);
        let from = super::drawing::start(text.align, width);
        let (x, y) = (text.anchor.x, text.anchor.y);
        let place = |along| if text.upwards { (x, y - along) } else { (x + along, y) };
        [from, from + width].map(place).iter().any(|(x, y)| !on_page(*x, *y))
    };
    let texts = drawing.texts().into_iter().filter(is_text_outside).map(|text| format!("{text:?}"));
    let lines = drawing.items.iter().filter(|item| match item {
        Item::Strokes(lines, _) => lines.iter().flatten().any(|point| !on_page(point.x, point.y)),
        Item::Shape(corners, ..) | Item::Tint(corners, _) => {
            corners.iter().any(|point| !on_page(point.x, point.y))
        }
        Item::Text(_) | Item::Clipped(..) => false,
    });
    texts.chain(lines.map(|item| format!("{item:?}"))).collect()
}
