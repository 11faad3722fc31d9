//! Formats of movement files.

/// Format of a movement file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ns-2's statements ([`super::ns2`]).
    Ns2,
    /// BonnMotion's native format ([`super::bonnmotion`]).
    BonnMotion,
    /// SUMO's floating car data ([`super::sumo_fcd`]).
    SumoFcd,
    /// GPX tracks ([`super::gpx`]).
    Gpx,
    /// Comma-separated values ([`super::table`]).
    Csv,
}

impl Format {
    /// Name of the format, for messages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2's format",
            Self::BonnMotion => "BonnMotion's format",
            Self::SumoFcd => "SUMO's floating car data",
            Self::Gpx => "GPX",
            Self::Csv => "CSV",
        }
    }

    /// Detects the format of a file: XML is GPX or SUMO's, a first line that begins with a number
    /// BonnMotion's, one with a comma and no `$` CSV, and anything else ns-2's.
    pub fn detect(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('<') {
            // The root element is the first that neither `?` nor `!` follows; a comment may have others.
            return if Self::root(text).is_some_and(|root| root.ends_with("gpx")) {
                Self::Gpx
            } else {
                Self::SumoFcd
            };
        }
        let lines = text.lines().map(str::trim_start);
        let first = lines.filter(|line| !line.starts_with('#')).find(|line| !line.is_empty());
        let first = first.unwrap_or_default();
        if first.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            Self::BonnMotion
        } else if first.contains(',') && !first.contains('$') {
            Self::Csv
        } else {
            Self::Ns2
        }
    }

    /// Name of the root element of an XML file.
    fn root(mut text: &str) -> Option<&str> {
        loop {
            text = &text[text.find('<')? + 1..];
            let end = match text.as_bytes().first()? {
                b'?' => "?>",
                b'!' if text.starts_with("!--") => "-->",
                b'!' => ">",
                _ => {
                    return text.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next();
                }
            };
            text = &text[text.find(end)? + end.len()..];
        }
    }

    /// Returns whether a file has each node's positions over time, so that several files are
    /// possible.
    pub(super) const fn has_tracks(self) -> bool {
        matches!(self, Self::SumoFcd | Self::Gpx | Self::Csv)
    }
}
