//! Output of commands that run simulations: the files of `--out`, and text or JSON on standard output.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::files::{OutputDir, Staging};
use crate::page::PAGE;

/// Name of the JSON document.
pub const RESULTS: &str = "results.json";

/// A document as JSON.
pub fn json(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("a document of this crate can be serialized") + "\n"
}

/// Runs `work` with the directory of `--out`, which is removed if it was created and `work` fails.
///
/// # Errors
/// A directory that cannot be written to, and those of `work`.
pub fn with_output<T>(
    out: Option<&Path>,
    work: impl FnOnce(Option<&OutputDir>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    check_output(out)?;
    let Some(dir) = out else { return work(None) };
    let dir = OutputDir::open(dir)?;
    let done = work(Some(&dir));
    if done.is_err() {
        dir.remove_if_created();
    }
    done
}

/// Checks that `--out` does not name a file.
///
/// # Errors
/// It does.
pub fn check_output(out: Option<&Path>) -> Result<(), Failure> {
    match out.filter(|dir| dir.exists() && !dir.is_dir()) {
        None => Ok(()),
        Some(dir) => {
            let dir = dir.display();
            Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")))
        }
    }
}

/// Adds the page and the JSON document, and replaces the previous files.
///
/// # Errors
/// A file that cannot be written.
pub fn write_results(
    mut staging: Staging,
    page: &str,
    document: &impl Serialize,
) -> Result<(), Failure> {
    staging.write_text(PAGE, page)?;
    staging.write_text(RESULTS, &json(document))?;
    staging.replace_previous()
}

/// Prints a document as JSON, or its text and where the page is.
///
/// # Errors
/// Standard output cannot be written to.
pub fn print_results(
    as_json: bool,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
    out: Option<&Path>,
) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    if as_json {
        write!(stdout, "{}", json(document))?;
        return Ok(());
    }
    write!(stdout, "{}", text())?;
    if let Some(dir) = out {
        writeln!(stdout, "Written to {}", dir.join(PAGE).display())?;
    }
    Ok(())
}
