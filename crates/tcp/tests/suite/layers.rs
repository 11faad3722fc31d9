//! The modules of this crate form layers: no module uses one that uses it, directly or indirectly.
//! A parent counts as using its children.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The path of each module, and its code without comments and unit tests, which are also files
/// called `test` or `…_test`.
fn modules(folder: &Path, path: &[String], found: &mut BTreeMap<Vec<String>, String>) {
    for entry in fs::read_dir(folder).expect("the crate's own source") {
        let file = entry.expect("the crate's own source").path();
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        if name.split('_').next_back() == Some("test") {
            continue;
        }
        let mut inner = path.to_vec();
        if !["lib", "mod"].contains(&name.as_str()) {
            inner.push(name);
        }
        if file.is_dir() {
            modules(&file, &inner, found);
            continue;
        }
        let text = fs::read_to_string(&file).expect("text");
        let code = text.split("#[cfg(test)]\nmod test").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        found.insert(inner, lines.collect::<Vec<_>>().join("\n"));
    }
}

/// The paths of names after each `head` in `code`; `{…}` stands for each of its parts.
fn paths(code: &str, head: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in code.match_indices(head) {
        if code[..at].chars().next_back().is_some_and(|c| is_name(c) || c == ':') {
            continue;
        }
        let rest = &code[at + head.len()..];
        let parts = match rest.strip_prefix('{') {
            Some(inner) => inner.split('}').next().unwrap_or_default(),
            None => rest.split(|c: char| !is_name(c) && c != ':').next().unwrap_or_default(),
        };
        for part in parts.split(',') {
            all.push(part.trim().split("::").map(str::to_owned).collect());
        }
    }
    all
}

/// The module to which a path from `base` leads: the longest match.
fn target<'a>(
    modules: &'a BTreeMap<Vec<String>, String>,
    base: &[String],
    path: &[String],
) -> Option<&'a Vec<String>> {
    (0..=path.len()).rev().find_map(|len| {
        let whole = [base, &path[..len]].concat();
        modules.get_key_value(&whole).map(|(name, _)| name)
    })
}

fn uses(modules: &BTreeMap<Vec<String>, String>) -> BTreeMap<&Vec<String>, Vec<&Vec<String>>> {
    let edges = modules.iter().map(|(name, code)| {
        let parent = name.split_last().map_or(&[][..], |(_, parent)| parent);
        let mut to = Vec::new();
        for (head, base) in [("crate::", &[][..]), ("super::", parent), ("self::", &name[..])] {
            to.extend(paths(code, head).iter().filter_map(|path| target(modules, base, path)));
        }
        let children = modules.keys().filter(|other| {
            other.split_last().is_some_and(|(_, above)| above == &name[..]) && *other != name
        });
        to.extend(children);
        to.retain(|other| *other != name);
        (name, to)
    });
    edges.collect()
}

/// A path of uses from `at` back to `start`.
fn cycle<'a>(
    uses: &BTreeMap<&'a Vec<String>, Vec<&'a Vec<String>>>,
    start: &'a Vec<String>,
    at: &'a Vec<String>,
    seen: &mut Vec<&'a Vec<String>>,
) -> Option<Vec<String>> {
    for next in &uses[at] {
        if *next == start {
            return Some(vec![at.join("::"), start.join("::")]);
        }
        if !seen.contains(next) {
            seen.push(next);
            if let Some(mut path) = cycle(uses, start, next, seen) {
                path.insert(0, at.join("::"));
                return Some(path);
            }
        }
    }
    None
}

#[test]
fn module_dependencies_have_no_cycles() {
    let mut found = BTreeMap::new();
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut found);
    assert!(found.len() > 25, "{:?}", found.keys());
    let uses = uses(&found);
    let known = |name: &str| name.split("::").map(str::to_owned).collect::<Vec<_>>();
    assert!(
        uses[&known("recovery::rack")].contains(&&known("recovery::newreno")),
        "within a folder"
    );
    assert!(uses[&known("connection::ack")].contains(&&known("send_state")), "between folders");
    for module in found.keys() {
        let path = cycle(&uses, module, module, &mut Vec::new());
        assert!(path.is_none(), "a cycle: {}", path.unwrap_or_default().join(" -> "));
    }
}
