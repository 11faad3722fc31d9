//! How wide text for people may be.

use std::sync::OnceLock;

use rustix::termios::tcgetwinsize;

/// What fits without a terminal, and the most on a wide one: longer lines are hard to read (columns).
const MAX_COLUMNS: u16 = 100;

/// Tables that are narrower than this can't be read (columns).
const MIN_COLUMNS: u16 = 60;

/// How wide tables and wrapped lines on standard output may be (columns). The terminal is asked once,
/// so that all that a command prints has one width.
pub fn width() -> u16 {
    static WIDTH: OnceLock<u16> = OnceLock::new();
    *WIDTH
        .get_or_init(|| clamped_width(tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col)))
}

/// The width for a terminal of so many columns. `None`: there is no terminal; 0: it does not say.
fn clamped_width(terminal: Option<u16>) -> u16 {
    terminal
        .filter(|&columns| columns > 0)
        .map_or(MAX_COLUMNS, |c| c.clamp(MIN_COLUMNS, MAX_COLUMNS))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_narrow_terminal_counts_within_bounds() {
        for (terminal, width) in
            [(None, 100), (Some(0), 100), (Some(20), 60), (Some(80), 80), (Some(240), 100)]
        {
            assert_eq!(clamped_width(terminal), width, "{terminal:?}");
        }
    }
}
