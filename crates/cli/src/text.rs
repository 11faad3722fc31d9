//! Formatting of numbers, tables and text.

use std::ops::Range;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
pub use driftway_experiment::labels::metric_label as title;
use driftway_experiment::units::metric_unit;
pub use driftway_experiment::words::{count, list};
use driftway_scenario::Unit;
use driftway_sim::results::Estimate;

use crate::terminal_width::width;

/// A unit with a prefix, and the factor from the base unit to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Number of units in one base unit.
    pub factor: f64,
    /// Name of the unit; empty for counts and ratios.
    pub unit: &'static str,
}

/// Prefixed units of a base unit: smallest value, factor, name. Largest first.
const fn prefixed(unit: Unit) -> &'static [(f64, f64, &'static str)] {
    match unit {
        Unit::Second => &[(1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "µs")],
        Unit::BitPerSecond => &[
            (1e9, 1e-9, "Gbit/s"),
            (1e6, 1e-6, "Mbit/s"),
            (1e3, 1e-3, "kbit/s"),
            (0.0, 1.0, "bit/s"),
        ],
        Unit::Byte => &[(1e9, 1e-9, "GB"), (1e6, 1e-6, "MB"), (1e3, 1e-3, "kB"), (0.0, 1.0, "B")],
        Unit::Metre => &[(1e3, 1e-3, "km"), (0.0, 1.0, "m")],
        Unit::MetrePerSecond => &[(0.0, 1.0, "m/s")],
        Unit::Hertz => {
            &[(1e9, 1e-9, "GHz"), (1e6, 1e-6, "MHz"), (1e3, 1e-3, "kHz"), (0.0, 1.0, "Hz")]
        }
        Unit::One => &[(0.0, 1.0, "")],
    }
}

impl Scale {
    /// The scale of counts and ratios.
    pub const ONE: Self = Self { factor: 1.0, unit: "" };

    /// Scale for these values of a metric.
    pub fn of(metric: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self::of_unit(metric_unit(metric), values)
    }

    /// Scale for these values of a metric; `None` if there are none.
    pub fn of_any(metric: &str, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let largest = values.into_iter().map(f64::abs).reduce(f64::max)?;
        Some(Self::of(metric, [largest]))
    }

    /// Scale for these values in a base unit.
    pub fn of_unit(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let largest = largest(values);
        if largest == 0.0 {
            return Self { factor: 1.0, unit: unit.symbol() };
        }
        let fits = prefixed(unit).iter().find(|(least, ..)| largest >= *least);
        fits.map_or(Self::ONE, |&(_, factor, unit)| Self { factor, unit })
    }
}

/// The largest absolute value; 0 if there is none.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |largest, value| value.abs().max(largest))
}

/// Number of decimals at which `resolution` has two significant digits.
fn decimals(resolution: f64) -> usize {
    let mut decimals = 0;
    let mut scaled = resolution.abs();
    while scaled > 0.0 && scaled < 10.0 && decimals < 6 {
        scaled *= 10.0;
        decimals += 1;
    }
    decimals
}

/// A single value of a metric, with its unit: `412.5 s`, `0.9123`, `17`, `1e-6`.
pub fn value(metric: &str, value: f64) -> String {
    value_in(metric_unit(metric), value)
}

/// A single value in a base unit, with a unit that fits it.
pub fn value_in(unit: Unit, value: f64) -> String {
    let scale = Scale::of_unit(unit, [value]);
    with_unit(number(value * scale.factor), scale.unit)
}

/// Formats a configured number, without trailing zeros.
pub fn chosen_value(chosen: f64) -> String {
    let short = chosen.to_string();
    if chosen.abs() >= 1e-3 && short.len() <= 7 { short } else { number(chosen) }
}

/// Four significant digits; whole numbers without decimals.
fn number(number: f64) -> String {
    let size = number.abs();
    if (number - number.round()).abs() <= 1e-9 * size {
        without_minus_of_zero(format!("{number:.0}"))
    } else if size < 1e-3 {
        // Scientific notation, as usual for error rates: the shortest exact form if it is short.
        let short = format!("{number:e}");
        if short.len() <= 7 { short } else { format!("{number:.2e}") }
    } else {
        format!("{number:.*}", decimals(size / 100.0))
    }
}

/// A mean with the half-width of its 90 % interval: `412.5 ± 1.3 s`.
pub fn mean(metric: &str, estimate: &Estimate) -> String {
    let scale = Scale::of(metric, [estimate.mean]);
    with_unit(mean_in(scale, estimate), scale.unit)
}

/// A mean with its half-width in a given scale, without the unit.
pub fn mean_in(scale: Scale, estimate: &Estimate) -> String {
    let mean = estimate.mean * scale.factor;
    let Some([low, high]) = estimate.ci90 else {
        return number(mean);
    };
    let half = (high - low) / 2.0 * scale.factor;
    // A rounding error of equal values is not a spread.
    if half <= 1e-9 * mean.abs() {
        return format!("{} ± 0", number(mean));
    }
    let places = decimals(half).min(decimals(mean.abs() / 100.0));
    format!("{} ± {half:.places$}", without_minus_of_zero(format!("{mean:.places$}")))
}

/// A number with this many decimals, without a sign if all its digits are zero.
pub fn fixed(number: f64, decimals: usize) -> String {
    without_minus_of_zero(format!("{number:.decimals$}"))
}

/// A formatted number, without a sign if all its digits are zero.
fn without_minus_of_zero(number: String) -> String {
    match number.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        _ => number,
    }
}

fn with_unit(number: String, unit: &str) -> String {
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// A title with its unit, if it has one: `pause (s)`.
pub fn title_with_unit(title: String, unit: &str) -> String {
    if unit.is_empty() { title } else { format!("{title} ({unit})") }
}

/// Spaces on either side of a cell.
const PADDING: usize = 1;

/// A table: rows of cells under a header, rendered as text or as HTML.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Column heads.
    pub header: Vec<String>,
    /// Rows, with as many cells as the header.
    pub rows: Vec<Vec<String>>,
}

impl std::fmt::Display for Grid {
    /// Renders the table in the width of the terminal.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.within(width()))
    }
}

impl Grid {
    /// Renders the table in at most `width` terminal columns, with the first column aligned to the left
    /// and the others to the right. Words are not broken. If the columns do not fit, the table continues
    /// below with the remaining ones.
    fn within(&self, width: u16) -> String {
        let text = self.render(width, None);
        let cells = self.rows.iter().chain([&self.header]).flatten();
        if sorted_words(words(&text)) == sorted_words(cells.flat_map(|cell| words(cell))) {
            return text;
        }
        if let Some(widths) = self.widths(width.into()) {
            return self.render(width, Some(&widths));
        }
        let columns = self.header.len();
        if columns < 3 {
            return text;
        }
        let middle = columns.div_ceil(2);
        self.select_columns(1..middle).within(width)
            + "\n"
            + &self.select_columns(middle..columns).within(width)
    }

    /// Selects the first column and a range of others.
    fn select_columns(&self, columns: Range<usize>) -> Self {
        let of = |row: &Vec<String>| -> Vec<String> {
            let others = row.get(columns.clone()).into_iter().flatten();
            row.iter().take(1).chain(others).cloned().collect()
        };
        Self { header: of(&self.header), rows: self.rows.iter().map(of).collect() }
    }

    /// Widths of columns without broken words, the first one for whole names if they are short; `None`
    /// if the columns do not fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let cells =
            |at: usize| self.rows.iter().chain([&self.header]).filter_map(move |row| row.get(at));
        let longest = |at: usize| cells(at).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let word = |cell: &String| words(cell).map(|word| word.chars().count()).max().unwrap_or(0);
        let least = |at| {
            if at == 0 && longest(0) <= width / 3 {
                longest(0)
            } else {
                cells(at).map(word).max().unwrap_or(0)
            }
        };
        let mut widths: Vec<usize> = (0..self.header.len()).map(|at| least(at) + PADDING).collect();
        let between = widths.len().saturating_sub(1);
        let mut room = width.checked_sub(widths.iter().sum::<usize>() + between)?;
        // The remaining width is shared by columns that can use it.
        loop {
            let mut grown = false;
            for (at, width) in widths.iter_mut().enumerate() {
                if room > 0 && *width < longest(at) + PADDING {
                    (*width, room, grown) = (*width + 1, room - 1, true);
                }
            }
            if !grown {
                return Some(widths);
            }
        }
    }

    /// Renders the table, with these column widths if given.
    fn render(&self, width: u16, widths: Option<&[usize]>) -> String {
        let line = LineStyle::none().fill('─').junction('─');
        let mut table = Table::new();
        table
            .load_style(TableStyle::new().header_separator(line).bottom_border(line))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width)
            .set_header(&self.header)
            .add_rows(&self.rows);
        // The first cell of a row stays on one line; the others are wrapped.
        let name = |row: &Vec<String>| row.first().map_or(0, |name| name.chars().count());
        let is_short = self.rows.iter().map(name).max().is_some_and(|n| n <= (width / 3).into());
        for (index, column) in table.column_iter_mut().enumerate() {
            let own = widths.and_then(|widths| u16::try_from(*widths.get(index)?).ok());
            if let Some(own) = own {
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(own)));
                column.set_padding((PADDING as u16, 0));
            } else if index == 0 && is_short {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        // Without trailing spaces, so that tables can be copied.
        table.to_string().lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// Sorts words, with duplicates and without the rules of a table.
fn sorted_words<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = words.filter(|word| !word.starts_with('─')).collect();
    words.sort_unstable();
    words
}

/// Words of a text, at which lines may be broken; a no-break space is part of a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\n']).filter(|word| !word.is_empty())
}

/// Wraps `text` to the width of the terminal, with all lines after the first indented, and a line
/// break at the end. Existing line breaks are ignored; a word that is too long has its own line.
pub fn wrapped(text: &str, indent: usize) -> String {
    wrapped_within(text, indent, width())
}

fn wrapped_within(text: &str, indent: usize, most: u16) -> String {
    let mut lines = String::new();
    // Leading spaces are kept.
    let lead = text.len() - text.trim_start().len();
    let (mut line, text) = (text[..lead].to_owned(), &text[lead..]);
    let mut empty = true;
    for word in text.split([' ', '\n']) {
        let width = line.chars().count() + 1 + word.chars().count();
        if !empty && width > usize::from(most) {
            lines += line.trim_end();
            lines.push('\n');
            (line, empty) = (" ".repeat(indent), true);
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines += line.trim_end();
    lines.push('\n');
    lines
}

/// Makes the first letter of `text` a capital.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod test {
    use super::*;

    fn estimate(mean: f64, half: f64) -> Estimate {
        let ci90 = Some([mean - half, mean + half]);
        Estimate { mean, ci90, ci95: None, n: 10 }
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(number(-0.0), "0");
        assert_eq!((fixed(-0.004, 2).as_str(), fixed(-0.006, 2).as_str()), ("0.00", "-0.01"));
        let small = Estimate { mean: -0.001, ci90: Some([-0.301, 0.299]), ci95: None, n: 5 };
        assert_eq!(mean_in(Scale::ONE, &small), "0.00 ± 0.30");
        let more = Estimate { mean: -0.01, ci90: Some([-0.31, 0.29]), ..small };
        assert_eq!(mean_in(Scale::ONE, &more), "-0.01 ± 0.30");
    }

    #[test]
    fn values_have_four_digits_and_a_suitable_unit() {
        for (metric, number, text) in [
            ("completion_s", 412.456, "412.5 s"),
            ("completion_s", 0.0351, "35.10 ms"),
            ("throughput_bps", 24_123.0, "24.12 kbit/s"),
            ("delivered_bytes", 1_000_000.0, "1 MB"),
            ("_m", 250.0, "250 m"),
            ("_mps", 0.0, "0 m/s"),
            ("_hz", 914e6, "914 MHz"),
            ("goodput_ratio", 0.912_34, "0.9123"),
            ("retransmissions", 17.0, "17"),
            ("retransmissions", 0.0, "0"),
            ("rtt_s", 0.0, "0 s"),
            ("", 1e-6, "1e-6"),
            ("", 0.000_123_456, "1.23e-4"),
        ] {
            assert_eq!(value(metric, number), text);
        }
    }

    #[test]
    fn configured_numbers_have_no_trailing_zeros() {
        let texts = [0.5, 1.0, 0.0, 1e-5, 1e-4, 0.07 * 1e3, 1e6, 33.333_333_333].map(chosen_value);
        assert_eq!(texts, ["0.5", "1", "0", "1e-5", "1e-4", "70", "1000000", "33.33"]);
    }

    #[test]
    fn a_mean_has_the_digits_that_its_interval_allows() {
        assert_eq!(mean("completion_s", &estimate(412.456, 12.34)), "412 ± 12 s");
        assert_eq!(mean("completion_s", &estimate(412.456, 1.234)), "412.5 ± 1.2 s");
        assert_eq!(mean("throughput_bps", &estimate(24_123.0, 123.0)), "24.12 ± 0.12 kbit/s");
        assert_eq!(mean("retransmissions", &estimate(5.0, 0.0)), "5 ± 0");
        let one = Estimate { ci90: None, ..estimate(412.456, 0.0) };
        assert_eq!(mean("completion_s", &one), "412.5 s");
    }

    #[test]
    fn tables_fit_the_width() {
        let long = "word ".repeat(60);
        let header = vec!["a".to_owned(), "b".to_owned()];
        let grid = Grid { header, rows: vec![vec![long.clone(), long]] };
        for width in [60, 100] {
            let text = grid.within(width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width) && widest > 50, "{widest}: {text}");
        }
    }

    /// Seven columns of means: an interval goes below its mean as a whole.
    #[test]
    fn an_interval_is_not_broken() {
        let points = ["0 s", "30 s", "60 s", "120 s", "300 s", "600 s", "900 s"];
        let row = |name: &str, mean: &str| {
            std::iter::once(name.to_owned()).chain(points.map(|_| mean.to_owned())).collect()
        };
        let header = row("share of packets delivered", "900 s");
        let rows = vec![row("AODV", "0.9814 ±\u{a0}0.0037"), row("DSR", "0.98 ±\u{a0}0.01")];
        let text = Grid { header, rows }.within(100);
        assert_eq!(text.matches("±\u{a0}0.0037").count(), 7, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn words_of_a_table_stay_whole_where_there_is_room() {
        let header = ["hop", "direction", "frames", "bytes", "marked", "dropped", "utilisation"];
        let row =
            ["1", "backward", "2463 ± 2", "1.356 ± 0.001 MB", "0 ± 0", "1 ± 0", "0.8474 ± 0.0007"];
        let owned = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
        let text = Grid { header: owned(header), rows: vec![owned(row)] }.within(70);
        for word in header.iter().chain(&row).flat_map(|cell| cell.split(' ')) {
            assert!(text.split_whitespace().any(|other| other == word), "{word}:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
    }

    #[test]
    fn a_table_with_too_many_columns_continues_below() {
        let means = (0..12).map(|at| format!("{at}.000 ±\u{a0}0.{at:03}"));
        let row = std::iter::once("AODV".to_owned()).chain(means).collect();
        let header =
            std::iter::once("throughput".to_owned()).chain((0..12).map(|at| format!("v{at}-1")));
        let text = Grid { header: header.collect(), rows: vec![row] }.within(70);
        for at in 0..12 {
            assert!(
                text.contains(&format!("{at}.000")) && text.contains(&format!("0.{at:03}")),
                "{text}"
            );
            assert_eq!(text.matches(&format!(" v{at}-1")).count(), 1, "{text}");
        }
        assert!(text.matches("AODV").count() > 1 && text.contains("\n\n throughput"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
    }

    #[test]
    fn lines_are_wrapped_and_lose_no_word() {
        assert_eq!(wrapped("  a  b", 4), "  a  b\n");
        assert_eq!(wrapped("\nsays\n2.1", 4), "\nsays 2.1\n");
        let words = "word ".repeat(50);
        for width in [60, 100] {
            let text = wrapped_within(&format!("agrees   {words}end"), 9, width);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.iter().all(|line| line.len() <= usize::from(width)), "{text}");
            assert!(lines[0].starts_with("agrees   word") && lines[1].starts_with("         word"));
            assert_eq!(text.split_whitespace().count(), 52);
        }
        let long = "x".repeat(200);
        assert_eq!(wrapped(&long, 2), format!("{long}\n"));
    }

    #[test]
    fn lists_are_sentences() {
        let items = |n: u64| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(list(&items(1)), "1");
        assert_eq!(list(&items(3)), "1, 2 and 3");
        assert_eq!(list(&items(9)), "1, 2, 3, 4, 5, 6 and 3 more");
    }
}
