//! Documents agree with the code and with each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The crates that a crate imports, but for its tests.
fn imports(name: &str) -> Vec<String> {
    let manifest: toml::Table = read(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
    let linux = manifest.get("target").and_then(|t| t.as_table()).into_iter().flatten();
    let of_targets = linux.filter_map(|(_, target)| target.get("dependencies"));
    let tables = manifest.get("dependencies").into_iter().chain(of_targets);
    let names = tables.filter_map(|table| table.as_table()).flat_map(|table| table.keys());
    names.filter_map(|name| name.strip_prefix("driftway-")).map(str::to_owned).collect()
}

#[test]
fn the_drawing_of_the_crates_is_true() {
    let text = read("ARCHITECTURE.md");
    let drawing = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let mut rows = BTreeMap::new();
    for (row, line) in drawing.lines().enumerate() {
        for name in line.split_whitespace().skip(1) {
            assert!(rows.insert(name.to_owned(), row).is_none(), "{name} is drawn twice");
        }
    }
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let mut crates: Vec<String> =
        folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    crates.sort();
    assert_eq!(crates, rows.keys().cloned().collect::<Vec<_>>());
    for name in &crates {
        for import in imports(name) {
            assert!(rows[&import] > rows[name], "{name} imports {import}, which is not below it");
        }
    }
}

#[test]
fn the_table_of_the_crates_has_their_imports() {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [name, _, imports, std] = cells[..] else { return None };
        matches!(std, "yes |" | "no |").then(|| (name.trim_end_matches('`'), imports))
    });
    let mut seen = 0;
    for (name, cell) in rows {
        seen += 1;
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if cell.starts_with("all above") || cell.starts_with("the crates") {
            continue;
        }
        let mut imports = imports(name);
        imports.sort();
        assert_eq!(named, imports, "{name}");
    }
    assert_eq!(seen, fs::read_dir(root().join("crates")).unwrap().count());
}

#[test]
fn architecture_stays_short() {
    assert!(read("ARCHITECTURE.md").lines().count() < 250);
}

/// Numbers of a text as they are written: `455.5`, `2638`.
fn numbers(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
    words.filter(|word| word.contains('.') || word.len() > 2).collect()
}

/// `page` without the comments that define tables and have the sources of numbers.
fn without_comments(page: &str) -> String {
    let parts = page.split("<!--").enumerate();
    let visible = parts.map(|(at, part)| match at {
        0 => part,
        _ => part.split_once("-->").map_or("", |(_, behind)| behind),
    });
    visible.collect()
}

#[test]
fn the_answers_of_the_readme_are_those_of_the_pages() {
    let readme = read("README.md");
    let table = readme.split("## What it answers").nth(1).unwrap().split("\n## ").next().unwrap();
    let papers =
        ["liu-singh-2001", "singh-iyer-2002"].map(|name| format!("papers/{name}/README.md"));
    let pages = ["docs/papers.md", "docs/field.md", &papers[0], &papers[1]]
        .map(|file| without_comments(&read(file)));
    let known: Vec<&str> = pages.iter().flat_map(|page| numbers(page)).collect();
    let mut compared = 0;
    for answer in table.lines().filter_map(|line| line.split(" | ").nth(1)) {
        for number in numbers(answer) {
            assert!(known.contains(&number), "{number} of the README stands on no page");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}
