//! Width of text output.

use std::sync::OnceLock;

use rustix::termios::tcgetwinsize;

/// Width without a terminal, and largest width on one, because longer lines are hard to read (columns).
const MAX_COLUMNS: u16 = 100;

/// Smallest width: narrower tables cannot be read (columns).
const MIN_COLUMNS: u16 = 60;

/// Width of tables and wrapped lines on standard output (columns). The terminal is queried once, so
/// that all output of a command has the same width.
pub fn width() -> u16 {
    static WIDTH: OnceLock<u16> = OnceLock::new();
    *WIDTH
        .get_or_init(|| clamped_width(tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col)))
}

/// Width for a terminal with this number of columns; `None` without a terminal, 0 if it is unknown.
fn clamped_width(terminal: Option<u16>) -> u16 {
    terminal
        .filter(|&columns| columns > 0)
        .map_or(MAX_COLUMNS, |c| c.clamp(MIN_COLUMNS, MAX_COLUMNS))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_width_of_the_terminal_is_clamped() {
        for (terminal, width) in
            [(None, 100), (Some(0), 100), (Some(20), 60), (Some(80), 80), (Some(240), 100)]
        {
            assert_eq!(clamped_width(terminal), width, "{terminal:?}");
        }
    }
}
