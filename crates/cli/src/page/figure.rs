//! A figure of a page, and the common style of all figures.

use plotly::common::{Anchor, Font, Orientation, Title};
use plotly::configuration::{DoubleClick, ModeBarButtonName};
use plotly::layout::{Axis, DragMode, GroupClick, HoverMode, Legend, Margin, ModeBar};
use plotly::{Configuration, Layout, Plot};

use crate::text::Grid;

/// A plot with its explanation.
pub struct Figure {
    /// Title.
    pub title: String,
    /// Explanation; empty if it is that of the figure before.
    pub explanation: String,
    /// Notes, such as on points that are left out or not included in the mean.
    pub notes: Vec<String>,
    /// JSON of the plot, for plotly.js.
    pub json: String,
    /// Table of the plotted values.
    pub numbers: Option<Grid>,
    /// Columns that the table has not, because their value is the same in all rows; empty if there are none.
    pub constants: String,
    /// Title and content of an additional table.
    pub extra_table: Option<(&'static str, Grid)>,
}

impl Figure {
    /// A plot with its explanation, without notes and tables.
    pub fn new(title: impl Into<String>, explanation: impl Into<String>, plot: Plot) -> Self {
        Self {
            title: title.into(),
            explanation: explanation.into(),
            notes: Vec::new(),
            json: plotly_json(plot),
            numbers: None,
            constants: String::new(),
            extra_table: None,
        }
    }
}

/// Palette of Okabe and Ito, which colour-blind readers can distinguish; without yellow, which is
/// hard to see on a light page, and black, which is hard to see on a dark one.
pub const PALETTE: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A8A"];

/// Colour of secondary elements.
pub const GREY: &str = "#8A8A8A";

/// Transparent, so that the page's own background shows, light or dark.
const TRANSPARENT: &str = "rgba(0,0,0,0)";

/// A colour for each arm, given the family of each: families differ by hue, arms of a family by
/// lightness. If there is only one family, arms differ by hue.
pub fn colours(families: &[&str]) -> Vec<String> {
    let mut hues: Vec<&str> = families.to_vec();
    hues.sort_unstable();
    hues.dedup();
    families
        .iter()
        .enumerate()
        .map(|(index, family)| {
            let hue = hues.iter().position(|other| other == family).unwrap_or(0);
            if hues.len() == 1 {
                return PALETTE[index % PALETTE.len()].to_owned();
            }
            let siblings = families.iter().filter(|other| *other == family).count();
            let before = families[..index].iter().filter(|other| *other == family).count();
            lighter(PALETTE[hue % PALETTE.len()], 0.6 * before as f64 / siblings as f64)
        })
        .collect()
}

/// Mixes `#rrggbb` with a fraction `part` of white.
pub fn lighter(colour: &str, part: f64) -> String {
    let mixed = rgb(colour).map(|c| f64::from(c) + (255.0 - f64::from(c)) * part);
    format!("rgb({:.0},{:.0},{:.0})", mixed[0], mixed[1], mixed[2])
}

/// Red, green and blue of `#rrggbb`.
pub fn rgb(colour: &str) -> [u8; 3] {
    [1, 3, 5].map(|at| {
        colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
    })
}

/// Escapes `text` for a label of plotly.js, which interprets some HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An axis with a title and its unit.
pub fn axis(title: &str, unit: &str) -> Axis {
    let title =
        if unit.is_empty() { escaped(title) } else { escaped(&format!("{title} ({unit})")) };
    Axis::new().title(Title::with_text(title)).auto_margin(true).zero_line(false).show_line(true)
}

/// Layout of all figures: the legend above the plot, zoom by dragging.
pub fn layout() -> Layout {
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .y(1.02)
        .y_anchor(Anchor::Bottom)
        .group_click(GroupClick::ToggleItem);
    Layout::new()
        .auto_size(true)
        .height(460)
        .margin(Margin::new().top(36).right(16).bottom(56).left(64))
        .font(Font::new().family("system-ui, sans-serif").size(14))
        .legend(legend)
        .hover_mode(HoverMode::Closest)
        .drag_mode(DragMode::Zoom)
        .mode_bar(ModeBar::new().background_color(TRANSPARENT).color(GREY).active_color(PALETTE[0]))
        .paper_background_color(TRANSPARENT)
        .plot_background_color(TRANSPARENT)
}

/// JSON of a plot for plotly.js. `<` is escaped, so that no label can end the script element that
/// contains the JSON.
fn plotly_json(mut plot: Plot) -> String {
    let configuration = Configuration::new()
        .responsive(true)
        .display_logo(false)
        .double_click(DoubleClick::AutoSize)
        .mode_bar_buttons_to_remove(vec![ModeBarButtonName::Select2d, ModeBarButtonName::Lasso2d]);
    plot.set_configuration(configuration);
    plot.to_json().replace('<', "\\u003c")
}

/// Rounds to seven significant digits of `span`: more than any useful zoom shows, for a third of
/// the page's size.
pub fn rounded(value: f64, span: f64) -> f64 {
    let mut step = 1.0;
    while step * span < 1e6 && step < 1e12 {
        step *= 10.0;
    }
    (value * step).round() / step
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut plot = Plot::new();
        let name = escaped("</script><img src=x>");
        plot.add_trace(plotly::Scatter::new(vec![1], vec![1]).name(name));
        plot.add_trace(plotly::Scatter::new(vec![1], vec![1]).name("</script>"));
        let json = plotly_json(plot);
        assert!(!json.contains('<'), "{json}");
        assert!(json.contains("\\u003c/script"));
    }

    #[test]
    fn families_differ_by_hue_and_arms_of_a_family_by_lightness() {
        let two = colours(&["atcp", "atcp", "no aid", "no aid"]);
        let hue = |colour: &str| {
            let parts: Vec<i32> =
                colour[4..colour.len() - 1].split(',').map(|c| c.parse().unwrap()).collect();
            (parts[0] - parts[2]).signum()
        };
        assert_eq!(two.iter().map(|colour| hue(colour)).collect::<Vec<_>>(), [-1, -1, 1, 1]);
        assert!(two[0] != two[1] && two[2] != two[3]);
        assert_eq!(colours(&["", "", ""]), &PALETTE[..3]);
        assert_eq!(colours(&["atcp", "no aid"]), ["rgb(0,114,178)", "rgb(213,94,0)"]);
    }

    #[test]
    fn rounding_keeps_the_visible_digits() {
        assert_eq!(rounded(412.123_456_789, 500.0), 412.1235);
        assert_eq!(rounded(0.000_123_456_789, 0.001), 0.000_123_457);
        assert_eq!(rounded(7.0, 0.0), 7.0);
    }
}
