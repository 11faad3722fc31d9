//! Drawing as a PDF document of one page. Text is text, in a font that the document contains: the glyphs that it uses, and
//! their characters, by which it can be searched and copied.

use std::collections::BTreeMap;

use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::GlyphRemapper;

use super::drawing::{Area, Colour, Drawing, Item, Pen, Point, TINT, Text, WHITE, start};
use super::font::{FILE, Font, NAME};

/// Numbers of the document's objects.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const FONT_FILE: Ref = Ref::new(8);
const TO_UNICODE: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);
const TINTED: Ref = Ref::new(11);

/// Name of the font among the page's resources.
const FONT_RESOURCE: Name<'static> = Name(b"F");

/// Name of the graphics state of tints among the page's resources.
const TINT_RESOURCE: Name<'static> = Name(b"T");

/// The character collection in which a character's number is that of its glyph.
const IDENTITY: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// Level of compression, the best that is still fast.
const COMPRESSION: u8 = 8;

/// The drawing as a PDF document, without dates, so that equal drawings give equal bytes.
pub fn pdf(drawing: &Drawing, font: &Font) -> Vec<u8> {
    let mut used = UsedGlyphs::default();
    let mut page =
        PageWriter { font, used: &mut used, height: drawing.height, out: Content::new() };
    let all = Area { left: 0.0, top: 0.0, width: drawing.width, height: drawing.height };
    page.item(&Item::Shape(all.corners().to_vec(), WHITE, None));
    for item in &drawing.items {
        page.item(item);
    }
    let content = compressed(&page.out.finish());

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let size = Rect::new(0.0, 0.0, drawing.width as f32, drawing.height as f32);
    let mut page = pdf.page(PAGE);
    page.parent(PAGES).media_box(size).contents(CONTENT);
    let mut resources = page.resources();
    resources.fonts().pair(FONT_RESOURCE, FONT);
    resources.ext_g_states().pair(TINT_RESOURCE, TINTED);
    resources.finish();
    page.finish();
    pdf.ext_graphics(TINTED).non_stroking_alpha(TINT as f32);
    pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
    write_font(&mut pdf, font, &used);
    pdf.document_info(INFO).title(TextStr(&drawing.title)).producer(TextStr("driftway"));
    pdf.finish()
}

/// Glyphs of the document, with their numbers in its font.
#[derive(Default)]
struct UsedGlyphs {
    remapper: GlyphRemapper,
    /// The glyph of the whole font and the character that it shows, by the number of the glyph.
    characters: BTreeMap<u16, (u16, char)>,
}

impl UsedGlyphs {
    fn number(&mut self, glyph: u16, letter: char) -> u16 {
        let number = self.remapper.remap(glyph);
        self.characters.entry(number).or_insert((glyph, letter));
        number
    }
}

struct PageWriter<'a> {
    font: &'a Font,
    used: &'a mut UsedGlyphs,
    height: f64,
    out: Content,
}

impl PageWriter<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Strokes(lines, pen) => {
                self.pen(pen);
                for line in lines {
                    self.path(line);
                }
                self.out.stroke();
            }
            Item::Shape(corners, fill, pen) => {
                let [red, green, blue] = rgb(*fill);
                self.out.set_fill_rgb(red, green, blue);
                if let Some(pen) = pen {
                    self.pen(pen);
                }
                self.path(corners);
                match pen {
                    Some(_) => self.out.close_fill_nonzero_and_stroke(),
                    None => self.out.fill_nonzero(),
                };
            }
            Item::Tint(corners, colour) => {
                let [red, green, blue] = rgb(*colour);
                self.out.save_state().set_parameters(TINT_RESOURCE);
                self.out.set_fill_rgb(red, green, blue);
                self.path(corners);
                self.out.close_path().fill_nonzero().restore_state();
            }
            Item::Text(text) => self.text(text),
            Item::Clipped(area, inner) => {
                self.out.save_state();
                self.path(&area.corners());
                self.out.close_path().clip_nonzero().end_path();
                for item in inner {
                    self.item(item);
                }
                self.out.restore_state();
            }
        }
    }

    fn pen(&mut self, Pen { colour, width, dash }: &Pen) {
        let [red, green, blue] = rgb(*colour);
        self.out.set_stroke_rgb(red, green, blue).set_line_width(*width as f32);
        self.out.set_dash_pattern(dash.iter().map(|length| *length as f32), 0.0);
    }

    /// A position from the lower left corner, as PDF counts it.
    fn place(&self, point: Point) -> [f32; 2] {
        [rounded(point.x), rounded(self.height - point.y)]
    }

    fn path(&mut self, points: &[Point]) {
        for (index, point) in points.iter().enumerate() {
            let [x, y] = self.place(*point);
            match index {
                0 => self.out.move_to(x, y),
                _ => self.out.line_to(x, y),
            };
        }
    }

    fn text(&mut self, text: &Text) {
        let Text { words, anchor, size, align, upwards, colour } = text;
        let along = start(*align, self.font.width(words, *size));
        let [x, y] = self.place(*anchor);
        let matrix = match upwards {
            true => [0.0, 1.0, -1.0, 0.0, x, rounded(self.height - anchor.y + along)],
            false => [1.0, 0.0, 0.0, 1.0, rounded(anchor.x + along), y],
        };
        let mut numbers = Vec::new();
        for letter in words.chars() {
            let number = self.used.number(self.font.glyph(letter), letter);
            numbers.extend(number.to_be_bytes());
        }
        let [red, green, blue] = rgb(*colour);
        self.out.set_fill_rgb(red, green, blue).begin_text();
        self.out.set_font(FONT_RESOURCE, *size as f32).set_text_matrix(matrix);
        self.out.show(Str(&numbers)).end_text();
    }
}

/// Writes the glyphs that are used as a font with numbers of glyphs as its characters (PDF 1.7 §9.7).
fn write_font(pdf: &mut Pdf, font: &Font, used: &UsedGlyphs) {
    let subset =
        subsetter::subset(FILE, 0, &used.remapper).expect("the font of this crate is valid");
    let name = format!("{}+{NAME}", subset_tag(used));
    let name = Name(name.as_bytes());
    pdf.type0_font(FONT)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID_FONT)
        .to_unicode(TO_UNICODE);
    let per_mille = |units: f64| (units * 1000.0 / font.units_per_em()).round() as f32;
    let mut cid_font = pdf.cid_font(CID_FONT);
    cid_font.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY);
    cid_font.font_descriptor(DESCRIPTOR).default_width(per_mille(font.advance(0)));
    cid_font.cid_to_gid_map_predefined(Name(b"Identity"));
    let widths = used.characters.values().map(|(glyph, _)| per_mille(font.advance(*glyph)));
    if let Some(first) = used.characters.keys().next() {
        cid_font.widths().consecutive(*first, widths);
    }
    cid_font.finish();

    let metrics = font.metrics();
    let [left, low, right, high] = metrics.bounds.map(|units| per_mille(units.into()));
    pdf.font_descriptor(DESCRIPTOR)
        .name(name)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(left, low, right, high))
        .italic_angle(0.0)
        .ascent(per_mille(metrics.ascent.into()))
        .descent(per_mille(metrics.descent.into()))
        .cap_height(per_mille(metrics.cap_height.into()))
        .stem_v(80.0)
        .font_file2(FONT_FILE);
    let packed = compressed(&subset);
    pdf.stream(FONT_FILE, &packed)
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), subset.len() as i32);

    let mut characters = UnicodeCmap::new(Name(b"driftway-characters"), IDENTITY);
    for (number, (_, letter)) in &used.characters {
        characters.pair(*number, *letter);
    }
    pdf.cmap(TO_UNICODE, &characters.finish());
}

/// Six capitals that name a subset (PDF 1.7 §9.6.4), made from its glyphs.
fn subset_tag(used: &UsedGlyphs) -> String {
    // FNV-1a.
    let glyphs = used.characters.values().flat_map(|(glyph, _)| glyph.to_be_bytes());
    let mut hash = glyphs.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letter = || {
        let letter = char::from(b'A' + (hash % 26) as u8);
        hash /= 26;
        letter
    };
    std::iter::repeat_with(&mut letter).take(6).collect()
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, COMPRESSION)
}

fn rgb(colour: Colour) -> [f32; 3] {
    colour.map(|part| (f32::from(part) / 255.0 * 1000.0).round() / 1000.0)
}

fn rounded(length: f64) -> f32 {
    ((length * 100.0).round() / 100.0) as f32
}
