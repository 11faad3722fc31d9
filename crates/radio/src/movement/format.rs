//! Formats of movement files.

use driftway_base::named;

named! {
    /// Format of a movement file.
    pub enum Format {
        /// Lines such as `$node_(0) set X_ 10` and `$ns_ at 1 "$node_(0) setdest 20 30 5"`, as ns-2's
        /// setdest and BonnMotion's ns-2 export write them. The node with the lowest number is node 0,
        /// the next one node 1, and so on.
        Ns2 = "ns-2",
        /// BonnMotion's native format, one line per node with repeated time, x and y.
        BonnMotion = "bonnmotion",
        /// SUMO's floating car data (`sumo --fcd-output`). Each vehicle, person and container is a node.
        SumoFcd = "sumo-fcd",
        /// Tracks of a satellite receiver. Each `<trk>` is a node; its points have times.
        Gpx = "gpx",
        /// A first line `node,time_s,x_m,y_m` or `node,time_s,latitude,longitude`, and a line for each
        /// position of a node.
        Csv = "csv",
    }
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
