//! One vocabulary: words that checks/vocabulary.txt lists are in no name, comment, message or document, and
//! doc comments open with a noun phrase or a verb.
//!
//! `DRIFTWAY_TREE=/another/checkout cargo test -p driftway-cli --test vocabulary -- --nocapture` counts them in
//! another checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is checked, from the root of the repository.
const PLACES: [&str; 22] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "checks/no-std",
    "crates",
    "dist",
    "docs",
    "examples",
    "fuzz/Cargo.toml",
    "fuzz/guided/Cargo.toml",
    "fuzz/guided/src",
    "fuzz/src",
    "papers",
    "python",
    "scenarios",
    "scripts",
    "studies",
    "Cargo.toml",
    "clippy.toml",
    "deny.toml",
    "rustfmt.toml",
];

/// Endings of files that hold text.
const ENDINGS: [&str; 17] = [
    "rs", "md", "toml", "html", "css", "js", "dot", "1", "service", "sh", "awk", "tcl", "c", "txt",
    "py", "pyi", "ipynb",
];

/// Words with which no doc comment begins: they name a question and not a thing.
const OPENINGS: [&str; 10] =
    ["What", "Who", "Whose", "Whom", "How", "Whether", "Where", "When", "Which", "Why"];

/// Verbs with which a question begins.
const QUESTIONS: [&str; 11] =
    ["Is", "Are", "Does", "Do", "Has", "Have", "Can", "May", "Was", "Did", "Will"];

fn root() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("DRIFTWAY_TREE").map_or_else(own, PathBuf::from)
}

/// Every text file, with its path from the root.
fn files() -> Vec<(String, String)> {
    let root = root();
    let mut files = Vec::new();
    let mut places: Vec<PathBuf> = PLACES.iter().map(|place| root.join(place)).collect();
    while let Some(place) = places.pop() {
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "target" || place.is_symlink() || name == "vocabulary.rs" {
            continue;
        }
        if place.is_dir() {
            let entries = fs::read_dir(&place).unwrap();
            places.extend(entries.map(|entry| entry.unwrap().path()));
            continue;
        }
        let ending = place.extension().unwrap_or_default().to_string_lossy();
        let is_text = ENDINGS.contains(&&*ending) || (ending.is_empty() && !name.starts_with('.'));
        if is_text && let Ok(text) = fs::read_to_string(&place) {
            let path = place.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            files.push((path, text));
        }
    }
    files.sort();
    assert!(files.len() > 500, "{} files", files.len());
    files
}

/// The parts of a line's names and words, in lower case: `told_at`, `toldAt` and `ToldAt` are told and at.
fn parts(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split(|c: char| !c.is_alphabetic()).flat_map(|word| {
        let mut parts = Vec::new();
        let mut start = 0;
        let chars: Vec<(usize, char)> = word.char_indices().collect();
        for pair in chars.windows(2) {
            if pair[0].1.is_lowercase() && pair[1].1.is_uppercase() {
                parts.push(word[start..pair[1].0].to_lowercase());
                start = pair[1].0;
            }
        }
        parts.push(word[start..].to_lowercase());
        parts
    })
}

/// The name that a line of code defines: of an item or a field.
fn defined(line: &str) -> Option<&str> {
    const ITEMS: [&str; 8] = ["struct", "enum", "trait", "type", "mod", "fn", "static", "const"];
    let is_modifier = |word: &&str| word.starts_with("pub") || ["unsafe", "async"].contains(word);
    let mut words = line.split_whitespace().skip_while(is_modifier);
    let first = words.next()?;
    let end = |word: &str| word.find(|c: char| !c.is_alphanumeric() && c != '_');
    if ITEMS.contains(&first) {
        let next = words.next()?;
        let name = if ITEMS.contains(&next) { words.next()? } else { next };
        return Some(&name[..end(name).unwrap_or(name.len())]);
    }
    // A field is `name: Type,`, alone on its line.
    let name = &first[..end(first).unwrap_or(first.len())];
    let is_field = &first[name.len()..] == ":" && line.trim_end().ends_with(',');
    is_field.then_some(name)
}

/// A rule of checks/vocabulary.txt.
struct Rule {
    kind: String,
    word: String,
    instead: String,
}

fn rules() -> Vec<Rule> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/vocabulary.txt");
    let text = fs::read_to_string(own).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rules = lines.map(|line| {
        let (kind, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (word, instead) = rest.trim().split_once("  ").unwrap_or_else(|| panic!("{line}"));
        Rule { kind: kind.into(), word: word.into(), instead: instead.trim().into() }
    });
    rules.collect()
}

#[test]
fn private_words_are_gone() {
    let rules = rules();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places = Vec::new();
    for (path, text) in files() {
        // The name of the file is a name, too.
        for rule in rules.iter().filter(|rule| rule.kind == "word") {
            if parts(&path).any(|part| part == rule.word) {
                *counts.entry(&rule.word).or_default() += 1;
                places.push(format!("{path}: `{}`: say {}", rule.word, rule.instead));
            }
        }
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            let parts: Vec<String> = parts(line).collect();
            for rule in &rules {
                let found = match rule.kind.as_str() {
                    "word" => parts.iter().filter(|part| **part == rule.word).count(),
                    "name" => {
                        usize::from(path.ends_with(".rs") && defined(line) == Some(&*rule.word))
                    }
                    "phrase" => lower.matches(&rule.word).count(),
                    other => panic!("{other} is no kind of rule"),
                };
                if found > 0 {
                    *counts.entry(&rule.word).or_default() += found;
                    let Rule { word, instead, .. } = rule;
                    places.push(format!("{path}:{}: `{word}`: say {instead}", number + 1));
                }
            }
        }
    }
    let total: usize = counts.values().sum();
    println!("{total} private words: {counts:?}");
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn doc_comments_open_with_what_the_thing_is() {
    let mut places = Vec::new();
    for (path, text) in files().iter().filter(|(path, _)| path.ends_with(".rs")) {
        let doc = |line: &str| {
            let line = line.trim_start();
            let text = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
            Some(text.trim().to_owned())
        };
        let lines: Vec<Option<String>> = text.lines().map(doc).collect();
        for number in 0..lines.len() {
            let Some(first) = &lines[number] else { continue };
            if number > 0 && lines[number - 1].is_some() {
                continue;
            }
            let word = first.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            let block: Vec<&str> =
                lines[number..].iter().map_while(|line| line.as_deref()).collect();
            let block = block.join(" ");
            let sentence = block.split_inclusive(['.', '?', ':']).next().unwrap_or_default();
            let asks = QUESTIONS.contains(&word) && sentence.ends_with('?');
            if OPENINGS.contains(&word) || asks {
                places.push(format!("{path}:{}: {first}", number + 1));
            }
        }
    }
    println!("{} doc comments open with a question", places.len());
    assert!(places.is_empty(), "{}", places.join("\n"));
}

#[test]
fn the_check_finds_what_it_is_for() {
    let found = |line: &str, word: &str| parts(line).any(|part| part == word);
    assert!(found("    pub told_at: Instant,", "told"));
    assert!(found("struct ToldSource;", "told"));
    assert!(found("/// The source is Told of it.", "told"));
    assert!(!found("a threshold, household, Retold", "told"));
    assert_eq!(defined("    pub(crate) struct Held<'a> {"), Some("Held"));
    assert_eq!(defined("pub const fn happens(&self)"), Some("happens"));
    assert_eq!(defined("    pub waiting: Vec<u32>,"), Some("waiting"));
    assert_eq!(defined("const AGAIN: u32 = 1;"), Some("AGAIN"));
    assert_eq!(defined("let held = 3;"), None);
}
