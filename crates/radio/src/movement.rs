//! Movement files: of ns-2 ([`ns2`]), BonnMotion ([`bonnmotion`]) and SUMO ([`sumo_fcd`]), GPX tracks
//! ([`gpx`]), and comma-separated values ([`table`]). [`decode`] converts a file's bytes to text, [`read`]
//! reads one file or several, and detects the format.

pub mod bonnmotion;
mod contents;
mod error;
mod format;
mod globe;
pub mod gpx;
pub mod ns2;
mod number;
mod options;
mod shift;
pub mod sumo_fcd;
pub mod table;
mod tracks;
mod xml;

pub use contents::{Bounds, Movement, NodeTrack};
pub use error::MovementError;
pub use format::Format;
pub use options::ReadOptions;

use error::Line;

/// Decodes a movement file.
///
/// # Errors
/// Bytes that are not UTF-8, with a hint for the compressed files that BonnMotion writes.
pub fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, MovementError> {
    let line = Line { file: name, number: 1, text: "" };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let help = format!("unpack it: gunzip {name}");
        return Err(line.error_at(0, "this file is compressed by gzip", help));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let lines = good.iter().filter(|byte| **byte == b'\n').count();
        let start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&good[start..]).unwrap_or_default();
        let line = Line { file: name, number: lines + 1, text };
        line.error_at(text.len(), "this file is not UTF-8 text", "a movement file is plain text")
    })
}

/// Reads the movement of the nodes of one file or several, given by name and text. The nodes of a
/// file follow those of the previous one; GPX files share the first instant of all.
///
/// # Errors
/// The first problem and its location.
pub fn read(files: &[(&str, &str)], options: &ReadOptions) -> Result<Movement, MovementError> {
    let mut format = None;
    let mut tracks = Vec::new();
    for &(name, text) in files {
        let line = Line { file: name, number: 1, text: "" };
        let own = options.format.unwrap_or_else(|| Format::detect(text));
        let first = *format.get_or_insert(own);
        if own != first {
            let message = format!("this is {}, the first file is {}", own.label(), first.label());
            return Err(line.error_at(0, message, "several files have one format"));
        }
        if !own.has_tracks() && files.len() > 1 {
            let message = format!("{} as one of several files", own.label());
            return Err(line.error_at(0, message, "one file, with all nodes"));
        }
        tracks.push(match own {
            Format::Ns2 | Format::BonnMotion => {
                let parse = if own == Format::Ns2 { ns2::parse } else { bonnmotion::parse };
                let movement = parse(name, text)?;
                return match options.origin {
                    None => shift::shifted(movement, options),
                    Some(_) => Err(line.error_at(0, tracks::IN_METRES, tracks::NO_ORIGIN)),
                };
            }
            Format::SumoFcd => sumo_fcd::parse(name, text)?,
            Format::Gpx => gpx::parse(name, text)?,
            Format::Csv => table::parse(name, text)?,
        });
    }
    if tracks.is_empty() {
        let line = Line { file: "", number: 1, text: "" };
        return Err(line.error_at(0, "no movement file is given", "one or several"));
    }
    shift::shifted(tracks::movement(&tracks, options.origin)?, options)
}

/// Reads one file with the default options.
///
/// # Errors
/// The first problem and its location.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    read(&[(name, text)], &ReadOptions::default())
}
