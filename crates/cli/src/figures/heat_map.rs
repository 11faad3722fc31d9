//! Table of ratios, with a colour for each: blue for more, orange for less, the number in each cell.

use super::axes::{LABEL_SIZE, LINE_HEIGHT, draw_name, upwards};
use super::canvas::Canvas;
use super::drawing::{Align, Area, Colour, Drawing, INK, Item, Text, WHITE, at, pen};
use super::font::Font;
use crate::page::figure::{PALETTE, rgb};

/// Size of the numbers.
const NUMBER_SIZE: f64 = 6.0;

/// Height of a row.
const ROW: f64 = 10.5;

/// Space between a row's name and its cells.
const GAP: f64 = 4.0;

/// Part of the width that names may have.
const NAMES_PART: f64 = 0.4;

/// Part of a colour that a doubling has, and the most of any cell, in which dark text is still clear.
const PART_OF_DOUBLING: f64 = 0.35;
const MOST: f64 = 0.7;

/// Colour of numbers that chance may explain.
const QUIET: Colour = [0x5b, 0x63, 0x6e];

/// A ratio and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Ratio.
    pub value: f64,
    /// Lower and upper end of its interval.
    pub interval: Option<[f64; 2]>,
}

/// Table of ratios.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, with as many cells as columns.
    pub rows: Vec<(String, Vec<Option<Ratio>>)>,
    /// Meaning of the numbers, below the table.
    pub note: String,
}

impl HeatMap {
    /// Returns true if the numbers fit in their cells.
    pub fn fits(&self, canvas: Canvas, font: &Font) -> bool {
        let numbers = self.rows.iter().flat_map(|(_, cells)| cells);
        let widths = numbers.map(|cell| font.width(&number(*cell), NUMBER_SIZE));
        let (_, cell_width) = self.columns(canvas, &self.names(canvas, font), font);
        widths.fold(0.0, f64::max) + 1.5 <= cell_width
    }

    /// The names of the rows in lines.
    fn names(&self, canvas: Canvas, font: &Font) -> Vec<Vec<String>> {
        let room = canvas.width * NAMES_PART;
        self.rows.iter().map(|(name, _)| font.lines(name, LABEL_SIZE, room)).collect()
    }

    /// Left edge of the cells, and the width of each.
    fn columns(&self, canvas: Canvas, names: &[Vec<String>], font: &Font) -> (f64, f64) {
        let widths = names.iter().flatten().map(|line| font.width(line, LABEL_SIZE));
        let left = canvas.margin + widths.fold(0.0, f64::max) + GAP;
        (left, (canvas.width - left - canvas.margin) / self.columns.len().max(1) as f64)
    }

    /// Draws the table.
    pub fn draw(&self, title: &str, canvas: Canvas, font: &Font) -> Drawing {
        let names = self.names(canvas, font);
        let (left, cell_width) = self.columns(canvas, &names, font);
        let heights: Vec<f64> =
            names.iter().map(|lines| ROW.max(lines.len() as f64 * LINE_HEIGHT + 2.0)).collect();
        let heads = self.columns.iter().map(|name| font.width(name, LABEL_SIZE));
        let top = canvas.margin + heads.fold(0.0, f64::max) + GAP;
        let note = font.lines(&self.note, LABEL_SIZE, canvas.width - 2.0 * canvas.margin);
        let bottom = top + heights.iter().sum::<f64>();
        let height = bottom + 4.0 + note.len() as f64 * LINE_HEIGHT + canvas.margin;
        let title = title.to_owned();
        let mut drawing = Drawing { title, width: canvas.width, height, items: Vec::new() };
        for (index, name) in self.columns.iter().enumerate() {
            let x = left + (index as f64 + 0.5) * cell_width + LABEL_SIZE * 0.35;
            upwards(&mut drawing, name, (at(x, top - GAP), LABEL_SIZE, Align::Start));
        }
        let mut row_top = top;
        for (((_, cells), lines), height) in self.rows.iter().zip(&names).zip(heights) {
            let row = Area { left, top: row_top, width: cell_width, height };
            draw_name(&mut drawing, lines, row, GAP);
            row_top += height;
            for (index, cell) in cells.iter().enumerate() {
                let area = Area { left: left + index as f64 * cell_width, ..row };
                draw_cell(&mut drawing, *cell, area);
            }
        }
        for (index, line) in note.iter().enumerate() {
            let y = bottom + 4.0 + (index + 1) as f64 * LINE_HEIGHT - 2.0;
            drawing.text(line, at(canvas.margin, y), LABEL_SIZE, Align::Start);
        }
        drawing
    }
}

fn draw_cell(drawing: &mut Drawing, cell: Option<Ratio>, area: Area) {
    let fill = cell.map_or(WHITE, |ratio| colour(ratio.value));
    drawing.items.push(Item::Shape(area.corners().to_vec(), fill, Some(pen(WHITE, 0.5))));
    let middle =
        at(area.left + area.width / 2.0, area.top + area.height / 2.0 + NUMBER_SIZE * 0.35);
    drawing.items.push(Item::Text(Text {
        words: number(cell),
        anchor: middle,
        size: NUMBER_SIZE,
        align: Align::Middle,
        upwards: false,
        colour: if cell.is_some_and(|ratio| ratio.is_certain()) { INK } else { QUIET },
    }));
}

impl Ratio {
    /// True if the interval excludes 1.
    fn is_certain(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
    }
}

/// The number of a cell; in brackets if its interval contains 1, as on paper the paler colour would be lost.
fn number(cell: Option<Ratio>) -> String {
    match cell {
        None => "–".to_owned(),
        Some(ratio) if ratio.is_certain() => format!("{:.2}", ratio.value),
        Some(ratio) => format!("({:.2})", ratio.value),
    }
}

/// White for 1; the logarithm of the ratio decides how much colour a cell has.
fn colour(ratio: f64) -> Colour {
    let doublings = libm::log2(ratio.max(1e-3));
    let full = if doublings >= 0.0 { PALETTE[0] } else { PALETTE[1] };
    let part = (doublings.abs() * PART_OF_DOUBLING).min(MOST);
    rgb(full).map(|of| (f64::from(of) * part + 255.0 * (1.0 - part)).round() as u8)
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::figures::canvas::{Width, outside};

    fn map(columns: usize) -> HeatMap {
        let ratio = |value| Some(Ratio { value, interval: Some([value * 0.9, value * 1.05]) });
        let cells = [ratio(2.0), ratio(1.02), ratio(0.25), None];
        let cells: Vec<_> = cells.into_iter().cycle().take(columns).collect();
        HeatMap {
            columns: (0..columns).map(|index| format!("aid {index}")).collect(),
            rows: vec![("train".into(), cells.clone()), ("handoff".into(), cells)],
            note: "A note.".into(),
        }
    }

    #[test]
    fn numbers_are_clear_without_colour() {
        let drawing = map(4).draw("", Canvas::of(Width::Column), &Font::new());
        let words: Vec<&str> = drawing.texts().iter().map(|text| text.words.as_str()).collect();
        for number in ["2.00", "(1.02)", "0.25", "–", "train", "aid 3", "A note."] {
            assert!(words.contains(&number), "{number}: {words:?}");
        }
        assert_eq!(outside(&drawing, &Font::new()), [""; 0]);
        assert_eq!(colour(1.0), WHITE);
        assert_eq!(colour(1e9), colour(1e6));
        let sum = |ratio: f64| colour(ratio).map(u32::from).iter().sum::<u32>();
        assert!(sum(4.0) < sum(2.0) && sum(0.25) < sum(0.5));
    }

    #[test]
    fn many_columns_need_a_page() {
        assert!(!map(30).fits(Canvas::of(Width::Column), &Font::new()));
        assert!(map(4).fits(Canvas::of(Width::Column), &Font::new()));
        let drawing = map(15).draw("", Canvas::of(Width::Page), &Font::new());
        assert_eq!(outside(&drawing, &Font::new()), [""; 0]);
    }
}
