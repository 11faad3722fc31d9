//! Whole figures: recorded drawings, and documents that others can read.

use std::path::Path;

use super::canvas::outside;
use super::curves::{Curve, CurveChart, Mean};
use super::drawing::millimetres;
use super::heat_map::{HeatMap, Ratio};
use super::style::ArmStyle;
use super::*;

/// Three arms, one of them with a paper's values, and a bound.
fn curves() -> PrintFigure {
    let curve = |arm: usize, name: &str, style: ArmStyle, half: f64| Curve {
        name: name.to_owned(),
        style,
        arm: Some(arm),
        points: [(0.0, 7.5), (30.0, 12.0), (120.0, 18.0), (300.0, 21.0)]
            .map(|(x, y)| (x, y / (arm + 1) as f64))
            .map(|(x, y)| Mean { x, y, interval: (half > 0.0).then_some([y - half, y + half]) })
            .to_vec(),
    };
    let plain = ArmStyle::of_arm(0);
    let content = Content::Curves(CurveChart {
        x_title: "Pause (s)".into(),
        x_names: Vec::new(),
        y_title: "Throughput (kbit/s)".into(),
        curves: vec![
            curve(0, "no aid", plain, 1.5),
            curve(0, "no aid, as reported", plain.as_reported(), 0.0),
            curve(1, "ATCP", ArmStyle::of_arm(1), 4.5),
            curve(2, "carry", ArmStyle::of_arm(2), 0.8),
        ],
        lines: vec![("bound: 25 kbit/s".into(), 25.0)],
    });
    PrintFigure { id: "8".into(), title: "Throughput against pause".into(), content }
}

fn heat_map() -> PrintFigure {
    let ratio = |value: f64| Some(Ratio { value, interval: Some([value - 0.05, value + 0.05]) });
    let rows = vec![
        ("train".to_owned(), vec![ratio(2.31), ratio(1.01), None]),
        ("handoff, up".to_owned(), vec![ratio(0.48), ratio(1.0), ratio(1.2)]),
    ];
    let columns = ["carry", "ATCP, literal", "ELFN"].map(str::to_owned).to_vec();
    let note = "Throughput relative to the same TCP without an aid.".to_owned();
    let content = Content::HeatMap(HeatMap { columns, rows, note });
    PrintFigure { id: "relative".into(), title: "Relative throughput".into(), content }
}

/// `DRIFTWAY_BLESS=1 cargo test -p driftway-cli --bin driftway figures` records the drawings anew.
#[test]
fn drawings_are_as_recorded() {
    let font = Font::new();
    let drawings = [
        ("curves", curves(), Intervals::Bars),
        ("bands", curves(), Intervals::Bands),
        ("heat-map", heat_map(), Intervals::Bars),
    ];
    for (name, figure, intervals) in drawings {
        let text = svg::svg(&figure.draw(Width::Column, intervals, &font), &font);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/figures/golden");
        let path = folder.join(format!("{name}.svg"));
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == recorded, "{} is another drawing", path.display());
    }
}

/// A document as text of as many letters as it has bytes.
fn ascii(document: &[u8]) -> String {
    document.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '.' }).collect()
}

/// Content of a compressed stream of a document.
fn stream(document: &[u8], object: u32) -> Vec<u8> {
    let text = ascii(document);
    let start = text.find(&format!("\n{object} 0 obj")).unwrap();
    let from = start + text[start..].find("stream\n").unwrap() + "stream\n".len();
    let to = from + text[from..].find("\nendstream").unwrap();
    match text[start..from].contains("/FlateDecode") {
        true => miniz_oxide::inflate::decompress_to_vec_zlib(&document[from..to]).unwrap(),
        false => document[from..to].to_vec(),
    }
}

#[test]
fn a_document_has_its_font_and_its_text() {
    let font = Font::new();
    let drawing = curves().draw(Width::Column, Intervals::Bands, &font);
    let document = pdf::pdf(&drawing, &font);
    assert!(document.starts_with(b"%PDF-1.7"));
    let text = ascii(&document);
    // Each entry of the table of objects is where the object is.
    let table: usize =
        text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
    let mut lines = text[table..].lines();
    assert_eq!(lines.next(), Some("xref"));
    let count: usize = lines.next().unwrap().strip_prefix("0 ").unwrap().parse().unwrap();
    assert_eq!(count, 12);
    for (number, line) in lines.skip(1).take(count - 1).enumerate() {
        let at: usize = line[..10].parse().unwrap();
        assert!(text[at..].starts_with(&format!("{} 0 obj", number + 1)), "{line}");
    }
    // What is below a band can be seen.
    assert!(text.contains("/ca 0.18") && text.contains("/ExtGState"));
    // No dates, no identifiers.
    assert!(!text.contains("Date") && !text.contains("/ID"));
    assert_eq!(document, pdf::pdf(&drawing, &font));

    // The font is a part of the document, with the glyphs that are used.
    assert!(text.contains("+Arimo") && text.contains("/FontFile2 8 0 R"));
    let embedded = stream(&document, 8);
    let face = ttf_parser::Face::parse(&embedded, 0).unwrap();
    assert!((20..90).contains(&face.number_of_glyphs()), "{}", face.number_of_glyphs());

    // Its characters give the text of the page.
    let characters = String::from_utf8(stream(&document, 9)).unwrap();
    let character = |number: u16| {
        let line =
            characters.lines().find(|line| line.starts_with(&format!("<{number:04X}> <")))?;
        char::from_u32(u32::from_str_radix(line.get(8..12)?, 16).ok()?)
    };
    let page = content_texts(&stream(&document, 4));
    let page: Vec<String> =
        page.iter().map(|numbers| numbers.iter().filter_map(|n| character(*n)).collect()).collect();
    let words: Vec<&str> = drawing.texts().iter().map(|text| text.words.as_str()).collect();
    assert_eq!(page, words);
    assert!(words.contains(&"Throughput (kbit/s)") && words.contains(&"no aid, as reported"));
}

/// Numbers of the glyphs of each text that a page shows.
fn content_texts(content: &[u8]) -> Vec<Vec<u16>> {
    let mut texts = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.windows(4).position(|part| part == b" Tm\n") {
        let shown = &rest[at + 4..];
        let end = shown.windows(4).position(|part| part == b" Tj\n").unwrap();
        texts.push(numbers(&shown[..end]));
        rest = &shown[end..];
    }
    texts
}

/// Numbers in a string of PDF, literal or hexadecimal.
fn numbers(string: &[u8]) -> Vec<u16> {
    let inner = &string[1..string.len() - 1];
    let bytes: Vec<u8> = if string[0] == b'<' {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap() as u8;
        inner.chunks(2).map(|pair| digit(&pair[0]) * 16 + digit(&pair[1])).collect()
    } else {
        let mut bytes = Vec::new();
        let mut letters = inner.iter().copied().peekable();
        while let Some(byte) = letters.next() {
            match byte {
                b'\\' if letters.peek().is_some_and(u8::is_ascii_digit) => {
                    let octal = letters.by_ref().take(3).map(|digit| u16::from(digit - b'0'));
                    bytes.push(octal.fold(0, |sum, digit| sum * 8 + digit) as u8);
                }
                b'\\' => bytes.push(match letters.next().unwrap() {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    other => other,
                }),
                byte => bytes.push(byte),
            }
        }
        bytes
    };
    bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

#[test]
fn names_of_files_are_portable_and_unique() {
    let named = |id: &str| PrintFigure { id: id.to_owned(), ..curves() };
    let figures = ["8", "8", "a b/../c", "..", "low-0.8", "é"].map(named);
    assert_eq!(file_names(&figures), ["8", "8-2", "a-b-..-c", "figure", "low-0.8", "figure-2"]);
}

#[test]
fn labels_that_do_not_fit_in_a_column_make_a_page() {
    let mut figure = heat_map();
    let font = Font::new();
    let width = |figure: &PrintFigure, width| figure.draw(width, Intervals::Bars, &font).width;
    assert!((width(&figure, Width::Column) - millimetres(84.0)).abs() < 1e-9);
    let Content::HeatMap(map) = &mut figure.content else { panic!() };
    map.columns = vec!["aid".to_owned(); 14];
    map.rows[0].1 = vec![None; 14];
    assert!((width(&figure, Width::Column) - millimetres(174.0)).abs() < 1e-9);
    assert!((width(&curves(), Width::Page) - millimetres(174.0)).abs() < 1e-9);
}

/// Whatever a label is, the files are well-formed.
#[test]
fn strange_labels_are_drawn() {
    let mut figure = curves();
    let Content::Curves(chart) = &mut figure.content else { panic!() };
    chart.curves[0].name = "漢字 <b>&\u{0} \u{202e}".repeat(30);
    chart.y_title = "x".repeat(300);
    chart.x_title = String::new();
    let font = Font::new();
    let drawing = figure.draw(Width::Column, Intervals::Bands, &font);
    assert_eq!(outside(&drawing, &font), [""; 0]);
    let text = svg::svg(&drawing, &font);
    assert!(!text.contains('\0') && !text.contains("<b>"));
    assert!(pdf::pdf(&drawing, &font).starts_with(b"%PDF"));
}
