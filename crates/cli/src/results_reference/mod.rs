//! The reference of all results, `docs/results.md`, generated from the types and tables that write them.
//! `make reference` writes it.

pub mod committed;
mod generate;
mod markdown;

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use committed::Committed;

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md"))
}

/// Asserts that the section with this anchor has every field of a document.
pub fn assert_documented(anchor: &str, document: &impl Serialize) {
    let committed = Committed::read(&path());
    let document = serde_json::to_value(document).unwrap();
    let missing = committed.undocumented_fields(anchor, &document);
    assert!(missing.is_empty(), "docs/results.md lacks {missing:?}: `make reference` updates it");
}

#[test]
fn the_committed_reference_is_generated() {
    let reference = generate::reference();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        fs::write(path(), &reference).unwrap();
    }
    let committed = fs::read_to_string(path()).unwrap_or_default();
    assert!(committed == reference, "docs/results.md is out of date: `make reference` updates it");
}

#[test]
fn every_row_has_a_meaning() {
    let reference = generate::reference();
    for line in reference.lines().filter(|line| line.starts_with("| ")) {
        assert!(!line.ends_with("|  |"), "no meaning: {line}");
    }
    // Names of Rust items have no place in it.
    for wrong in ["::", "`None`", "`Some`"] {
        assert_eq!(reference.lines().find(|line| line.contains(wrong)), None, "{wrong}");
    }
    for after in reference.split("`]").skip(1) {
        assert!(after.starts_with('('), "a link without target before {after:.40}");
    }
}

#[test]
fn links_have_targets() {
    let reference = generate::reference();
    let committed = Committed::parse(&reference);
    for link in reference.split("](#").skip(1) {
        let anchor = link.split(')').next().unwrap();
        assert!(committed.has_section(anchor), "{anchor}");
    }
}
