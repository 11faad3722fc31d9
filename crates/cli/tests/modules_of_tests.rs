//! Each file of a test that consists of several is one of its modules: a file that no `mod` names would be
//! neither compiled nor run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The modules that a file declares.
fn declared(file: &Path) -> BTreeSet<String> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let names = text.lines().filter_map(|line| {
        line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    });
    names.collect()
}

/// Adds the files of `folder`, whose modules `parent` declares, that are no modules.
fn undeclared(folder: &Path, parent: &Path, found: &mut Vec<PathBuf>) {
    let declared = declared(parent);
    for path in entries(folder) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let own = path.join("mod.rs");
            let file = if own.is_file() { own } else { path.with_extension("rs") };
            if file.is_file() {
                undeclared(&path, &file, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs")
            && ![folder.join("main.rs"), folder.join("mod.rs")].contains(&path)
            && !declared.contains(&name)
        {
            found.push(path);
        }
    }
}

#[test]
fn each_file_of_a_test_is_one_of_its_modules() {
    let (mut tests, mut found) = (0, Vec::new());
    for krate in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        for folder in entries(&krate.join("tests")) {
            let main = folder.join("main.rs");
            if main.is_file() {
                tests += 1;
                undeclared(&folder, &main, &mut found);
            }
        }
    }
    assert!(tests > 5, "{tests} tests consist of several files");
    assert_eq!(found, Vec::<PathBuf>::new(), "no `mod` declares these files");
}
