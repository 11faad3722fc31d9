//! Drawing as SVG. Glyphs are drawn as paths, so that a text looks the same where the font is not installed, and in programs
//! that do not load fonts from a file.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::drawing::{
    Area, Colour, Drawing, Item, Pen, Point, TINT, Text, WHITE, in_millimetres, start,
};
use super::font::Font;

/// The drawing as an SVG document.
pub fn svg(drawing: &Drawing, font: &Font) -> String {
    let Drawing { title, width, height, items } = drawing;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {} {}\" role=\"img\">\n\
         <title>{}</title>\n",
        number(in_millimetres(*width)),
        number(in_millimetres(*height)),
        number(*width),
        number(*height),
        escaped(title)
    );
    out += "<defs>\n";
    let letters = drawing.texts().into_iter().flat_map(|text| text.words.chars());
    let glyphs: BTreeSet<u16> = letters.map(|letter| font.glyph(letter)).collect();
    for glyph in glyphs {
        let outline = font.outline(glyph);
        if !outline.is_empty() {
            out += &format!("<path id=\"g{glyph}\" d=\"{outline}\"/>\n");
        }
    }
    let mut writer = Writer { font, out, clips: 0 };
    writer.clip_paths(items);
    writer.out += "</defs>\n";
    writer.clips = 0;
    let all = Area { left: 0.0, top: 0.0, width: *width, height: *height };
    writer.item(&Item::Shape(all.corners().to_vec(), WHITE, None));
    for item in items {
        writer.item(item);
    }
    writer.out + "</svg>\n"
}

struct Writer<'a> {
    font: &'a Font,
    out: String,
    /// Number of clipped parts so far, which numbers their paths.
    clips: usize,
}

impl Writer<'_> {
    fn clip_paths(&mut self, items: &[Item]) {
        for item in items {
            if let Item::Clipped(Area { left, top, width, height }, inner) = item {
                let (x, y, w, h) = (number(*left), number(*top), number(*width), number(*height));
                self.clips += 1;
                let rect = format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>");
                self.out += &format!("<clipPath id=\"c{}\">{rect}</clipPath>\n", self.clips);
                self.clip_paths(inner);
            }
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Strokes(lines, pen) => {
                let data: String = lines.iter().map(|line| path(line)).collect();
                self.out += &format!("<path d=\"{data}\" fill=\"none\"{}/>\n", stroke(pen));
            }
            Item::Shape(corners, fill, pen) => {
                let (data, fill) = (path(corners), hex(*fill));
                let line = pen.as_ref().map_or_else(String::new, stroke);
                self.out += &format!("<path d=\"{data}Z\" fill=\"{fill}\"{line}/>\n");
            }
            Item::Tint(corners, colour) => {
                let (data, fill) = (path(corners), hex(*colour));
                self.out +=
                    &format!("<path d=\"{data}Z\" fill=\"{fill}\" fill-opacity=\"{TINT}\"/>\n");
            }
            Item::Text(text) => self.text(text),
            Item::Clipped(_, inner) => {
                self.clips += 1;
                self.out += &format!("<g clip-path=\"url(#c{})\">\n", self.clips);
                for item in inner {
                    self.item(item);
                }
                self.out += "</g>\n";
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let Text { words, anchor, size, align, upwards, colour } = text;
        let turn = if *upwards { " rotate(-90)" } else { "" };
        let scale = size / self.font.units_per_em();
        self.out += &format!(
            "<g aria-label=\"{}\" fill=\"{}\" transform=\"translate({} {}){turn} scale({scale:.6} -{scale:.6})\">",
            escaped(words),
            hex(*colour),
            number(anchor.x),
            number(anchor.y),
        );
        let mut x = start(*align, self.font.width(words, *size)) / scale;
        for letter in words.chars() {
            let glyph = self.font.glyph(letter);
            if !self.font.outline(glyph).is_empty() {
                self.out += &format!("<use href=\"#g{glyph}\" x=\"{}\"/>", number(x));
            }
            x += self.font.advance(glyph);
        }
        self.out += "</g>\n";
    }
}

fn path(points: &[Point]) -> String {
    let mut data = String::new();
    for (index, point) in points.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{letter}{} {}", number(point.x), number(point.y));
    }
    data
}

fn stroke(pen: &Pen) -> String {
    let mut text =
        format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(pen.colour), number(pen.width));
    if !pen.dash.is_empty() {
        let dash: Vec<String> = pen.dash.iter().map(|length| number(*length)).collect();
        let _ = write!(text, " stroke-dasharray=\"{}\"", dash.join(" "));
    }
    text
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A number with at most two decimals, which is a 4000th of an inch.
fn number(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes a text for an element or an attribute; control characters, which XML does not permit, become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::figures::drawing::{Align, INK, at, pen};

    #[test]
    fn numbers_are_short_and_zero_has_no_sign() {
        assert_eq!([-0.001, 1.5, 2.0, 100.0, 0.125].map(number), ["0", "1.5", "2", "100", "0.12"]);
    }

    #[test]
    fn labels_are_escaped_and_glyphs_defined_once() {
        let mut drawing =
            Drawing { title: "<&\u{1}\">".into(), width: 72.0, height: 36.0, items: Vec::new() };
        drawing.text("oo <", at(1.0, 2.0), 8.0, Align::End);
        let clipped = vec![Item::Strokes(vec![vec![at(0.0, 0.0), at(1.0, 1.0)]], pen(INK, 1.0))];
        let area = Area { left: 0.0, top: 0.0, width: 9.0, height: 9.0 };
        drawing.items.push(Item::Clipped(area, clipped));
        let text = svg(&drawing, &Font::new());
        assert!(
            text.contains("width=\"25.4mm\" height=\"12.7mm\" viewBox=\"0 0 72 36\""),
            "{text}"
        );
        assert!(text.contains("<title>&lt;&amp; &quot;&gt;</title>"), "{text}");
        assert_eq!(text.matches("<path id=").count(), 2, "{text}");
        assert_eq!(text.matches("<use ").count(), 3, "{text}");
        assert!(text.contains("clip-path=\"url(#c1)\"") && text.contains("<clipPath id=\"c1\">"));
        assert!(!text.contains("<text") && !text.contains("font-family"), "{text}");
    }
}
