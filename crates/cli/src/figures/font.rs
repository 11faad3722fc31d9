//! Font of all figures: Arimo, in which a text has the same width on every machine.
//!
//! The file has the Latin, Greek and Cyrillic letters and the signs of the original, without hints; `fonts/README.md`
//! has the command that made it, and its licence is beside it.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font's file.
pub const FILE: &[u8] = include_bytes!("../../fonts/Arimo-Regular.ttf");

/// Name of the font in documents.
pub const NAME: &str = "Arimo";

/// The font.
pub struct Font {
    face: Face<'static>,
}

impl Font {
    /// The font, parsed.
    pub fn new() -> Self {
        Self { face: Face::parse(FILE, 0).expect("the font of this crate is valid") }
    }

    /// The glyph of a character; glyph 0, a box, if the font has none.
    pub fn glyph(&self, letter: char) -> u16 {
        self.face.glyph_index(letter).map_or(0, |glyph| glyph.0)
    }

    /// Units of the font in a size of 1.
    pub fn units_per_em(&self) -> f64 {
        f64::from(self.face.units_per_em())
    }

    /// Width of a glyph, in units of the font.
    pub fn advance(&self, glyph: u16) -> f64 {
        f64::from(self.face.glyph_hor_advance(GlyphId(glyph)).unwrap_or(0))
    }

    /// Width of a text in points.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        let units: f64 = text.chars().map(|letter| self.advance(self.glyph(letter))).sum();
        units * size / self.units_per_em()
    }

    /// Outline of a glyph as the data of an SVG path, in units of the font, upwards.
    pub fn outline(&self, glyph: u16) -> String {
        let mut outline = Outline(String::new());
        // A space has none.
        let _ = self.face.outline_glyph(GlyphId(glyph), &mut outline);
        outline.0
    }

    /// Height of capitals, ascent, descent and bounding box, in units of the font.
    pub fn metrics(&self) -> Metrics {
        let box_ = self.face.global_bounding_box();
        Metrics {
            cap_height: self.face.capital_height().unwrap_or(0),
            ascent: self.face.ascender(),
            descent: self.face.descender(),
            bounds: [box_.x_min, box_.y_min, box_.x_max, box_.y_max],
        }
    }

    /// Lines of at most `width` points, broken at spaces, and words that are longer also between letters.
    pub fn lines(&self, text: &str, size: f64, width: f64) -> Vec<String> {
        let mut lines = Vec::new();
        for line in self.wrap(text, size, width) {
            let mut part = String::new();
            for letter in line.chars() {
                part.push(letter);
                if part.chars().count() > 1 && self.width(&part, size) > width {
                    part.pop();
                    lines.push(std::mem::replace(&mut part, letter.to_string()));
                }
            }
            lines.push(part);
        }
        lines
    }

    /// Lines of at most `width` points, broken at spaces; a longer word has a line of its own.
    pub fn wrap(&self, text: &str, size: f64, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            if let Some(line) = lines.last_mut() {
                let longer = format!("{line} {word}");
                if self.width(&longer, size) <= width {
                    *line = longer;
                    continue;
                }
            }
            lines.push(word.to_owned());
        }
        lines
    }
}

/// Measures of the font, in its units.
pub struct Metrics {
    /// Height of capitals.
    pub cap_height: i16,
    /// Height above the baseline.
    pub ascent: i16,
    /// Depth below the baseline, negative.
    pub descent: i16,
    /// Left, lower, right and upper end of all glyphs.
    pub bounds: [i16; 4],
}

/// Collects an outline as the data of an SVG path.
struct Outline(String);

impl Outline {
    fn command(&mut self, letter: char, numbers: &[f32]) {
        use std::fmt::Write;
        self.0.push(letter);
        for (index, number) in numbers.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            // Coordinates of TrueType are whole, their middles halves.
            let _ = write!(self.0, "{space}{number}");
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.command('M', &[x, y]);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.command('L', &[x, y]);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.command('Q', &[x1, y1, x, y]);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.command('C', &[x1, y1, x2, y2, x, y]);
    }
    fn close(&mut self) {
        self.0.push('Z');
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_font_has_the_signs_of_labels() {
        let font = Font::new();
        for letter in "Aaz09 –×÷±≥≤−µ…·→≈ÅéŁλΔж⁻⁰¹²³⁴⁵⁶⁷⁸⁹".chars()
        {
            assert_ne!(font.glyph(letter), 0, "{letter}");
        }
        assert_eq!(font.glyph('漢'), 0);
        // As wide as Arial: 1139 of 2048 units for each figure.
        assert!((font.width("00", 10.0) - 2.0 * 10.0 * 1139.0 / 2048.0).abs() < 1e-9);
        assert!(font.outline(font.glyph('l')).starts_with('M'));
        assert_eq!(font.outline(font.glyph(' ')), "");
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        let font = Font::new();
        assert_eq!(font.wrap("one two three", 10.0, 40.0), ["one two", "three"]);
        assert_eq!(font.wrap("unbreakable", 10.0, 1.0), ["unbreakable"]);
        assert!(font.wrap("", 10.0, 1.0).is_empty());
        let lines = font.lines("a unbreakable", 10.0, 30.0);
        assert_eq!(lines.concat(), "aunbreakable");
        assert!(lines.len() > 2 && lines.iter().all(|line| font.width(line, 10.0) <= 30.0));
        assert_eq!(font.lines("wide", 10.0, 0.0), ["w", "i", "d", "e"]);
    }
}
