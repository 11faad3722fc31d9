//! The modules of each crate form layers: at every level, from the files and folders directly under `src`
//! down to the files of a folder, no module imports one that imports it, directly or indirectly.
//!
//! A module imports another by a path of a `use` or of its code. A name that is re-exported counts as an
//! import of the module that defines it. A parent that declares and re-exports its children does not import
//! them; one whose own code uses them does. Unit tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules whose files may import each other, with the reason: each is one state machine, whose state is
/// private to the folder and whose files have one kind of event each.
const ONE_PROTOCOL: [(&str, &str); 2] =
    [("shim::flow", "one carried connection"), ("route::dsr", "one node's DSR")];

type Name = Vec<String>;

/// A name that a module binds by `use`.
#[derive(Clone, Debug)]
struct Import {
    path: Name,
    /// The name bound; `None`: all of the module.
    alias: Option<String>,
    is_public: bool,
}

#[derive(Debug, Default)]
struct Module {
    /// The code without comments, strings, tests and `use`.
    code: String,
    imports: Vec<Import>,
}

type Modules = BTreeMap<Name, Module>;

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The code with comments left out and literals empty.
fn without_comments(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut at) = (String::new(), 0);
    let starts = |at: usize, what: &str| {
        what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c))
    };
    while let Some(&c) = chars.get(at) {
        if starts(at, "//") {
            while chars.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
        } else if starts(at, "/*") {
            while at < chars.len() && !starts(at, "*/") {
                at += 1;
            }
            at += 2;
        } else if c == 'r' && (starts(at, "r\"") || starts(at, "r#\"")) && !code.ends_with(is_name)
        {
            let end = if starts(at, "r#") { "\"#" } else { "\"" };
            at += 1 + end.len();
            while at < chars.len() && !starts(at, end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' {
            at += 1;
            while chars.get(at).is_some_and(|c| *c != '"') {
                at += 1 + usize::from(chars[at] == '\\');
            }
            at += 1;
        } else if c == '\'' && chars.get(at + 1) == Some(&'\\') {
            at += 3;
            while chars.get(at).is_some_and(|c| *c != '\'') {
                at += 1;
            }
            at += 1;
        } else if c == '\'' && chars.get(at + 2) == Some(&'\'') {
            at += 3;
        } else {
            code.push(c);
            at += 1;
        }
    }
    code
}

/// The end of the item that begins at `start`: behind its `;` or its braces.
fn end_of_item(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' if depth <= 1 => return start + at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return start + at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Takes the items that exist in tests only out of the code; adds the modules among them that are files.
fn take_tests(code: &mut String, path: &[String], tests: &mut BTreeSet<Name>) {
    for head in ["#[cfg(test)]", "#[cfg(all(test"] {
        while let Some(start) = code.find(head) {
            // Behind this attribute and those that follow.
            let mut item = start;
            while code[item..].trim_start().starts_with("#[") {
                item += code[item..].find(']').map_or(code.len() - item, |end| end + 1);
            }
            let end = end_of_item(code, item);
            let declared = code[item..end].trim().trim_end_matches(';');
            if let Some((_, name)) = declared.rsplit_once("mod ")
                && name.chars().all(is_name)
            {
                tests.insert([path, &[name.to_owned()]].concat());
            }
            code.replace_range(start..end, "");
        }
    }
}

/// The paths of a tree of `use`, with the names that they bind.
fn paths_of_tree(tree: &str, before: &[String], found: &mut Vec<(Name, Option<String>)>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let head = tree[..open].split("::").map(str::trim).filter(|part| !part.is_empty());
        let before: Name = before.iter().cloned().chain(head.map(str::to_owned)).collect();
        let inner = tree[open + 1..].trim_end().trim_end_matches('}');
        let inner_end = tree.rfind('}').map_or(inner.len(), |end| end - open - 1);
        let (mut depth, mut start) = (0, 0);
        let inner = &tree[open + 1..open + 1 + inner_end];
        for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    paths_of_tree(&inner[start..at], &before, found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let mut path: Name =
        before.iter().cloned().chain(path.split("::").map(|part| part.trim().to_owned())).collect();
    let is_glob = path.last().is_some_and(|last| last == "*");
    if is_glob || path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let alias = alias.map(str::to_owned).or_else(|| path.last().cloned()).filter(|_| !is_glob);
    found.push((path, alias));
}

/// Takes the imports out of the code.
fn take_imports(code: &str) -> Module {
    let mut module = Module::default();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let before = &rest[..at];
        let is_word = before.ends_with(is_name);
        let line = before.rsplit(['\n', ';', '}', '{']).next().unwrap_or_default().trim();
        if is_word || !(line.is_empty() || line.starts_with("pub") || line.starts_with("#[")) {
            module.code.push_str(&rest[..at + 4]);
            rest = &rest[at + 4..];
            continue;
        }
        module.code.push_str(before.trim_end().trim_end_matches(line));
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        let mut paths = Vec::new();
        paths_of_tree(&rest[at + 4..end], &[], &mut paths);
        let is_public = line.contains("pub");
        module.imports.extend(paths.into_iter().map(|(path, alias)| Import {
            path,
            alias,
            is_public,
        }));
        rest = &rest[end..];
    }
    module.code.push_str(rest);
    module
}

fn read_folder(folder: &Path, path: &[String], modules: &mut Modules, tests: &mut BTreeSet<Name>) {
    for entry in fs::read_dir(folder).expect("a folder of source") {
        let file = entry.expect("source").path();
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut inner = path.to_vec();
        if !["lib", "main", "mod"].contains(&name.as_str()) {
            inner.push(name);
        }
        if file.is_dir() {
            read_folder(&file, &inner, modules, tests);
        } else if file.extension().is_some_and(|ending| ending == "rs") {
            let mut code = without_comments(&fs::read_to_string(&file).expect("text"));
            take_tests(&mut code, &inner, tests);
            modules.insert(inner, take_imports(&code));
        }
    }
}

fn modules_of(source: &Path) -> Modules {
    let (mut modules, mut tests) = (Modules::new(), BTreeSet::new());
    read_folder(source, &[], &mut modules, &mut tests);
    modules.retain(|name, _| !tests.iter().any(|test| name.starts_with(test)));
    modules
}

/// True if the module defines this name itself.
fn defines(module: &Module, name: &str) -> bool {
    ["struct", "enum", "fn", "const", "static", "type", "trait", "union", "macro_rules!", "mod"]
        .iter()
        .any(|kind| {
            let head = format!("{kind} {name}");
            module.code.match_indices(&head).any(|(at, _)| {
                !module.code[at + head.len()..].starts_with(is_name)
                    && !module.code[..at].ends_with(is_name)
            })
        })
}

/// The module that defines what a path in the module `from` names; `None` if it is outside of the crate.
fn target(modules: &Modules, from: &[String], path: &[String], depth: usize) -> Option<Name> {
    let (head, mut rest) = path.split_first()?;
    let mut at = match head.as_str() {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from.split_last()?.1.to_vec(),
        _ => {
            let child = [from, &path[..1]].concat();
            if !modules.contains_key(&child) {
                return None;
            }
            rest = path;
            from.to_vec()
        }
    };
    while let Some((part, further)) = rest.split_first() {
        rest = further;
        let inner = [&at[..], std::slice::from_ref(part)].concat();
        if part == "super" {
            at.pop();
        } else if modules.contains_key(&inner) {
            at = inner;
        } else {
            let module = modules.get(&at)?;
            if depth > 8 || defines(module, part) {
                return Some(at);
            }
            let named = module.imports.iter().find(|import| import.alias.as_ref() == Some(part));
            if let Some(import) = named {
                let whole = [&import.path[..], rest].concat();
                return target(modules, &at, &whole, depth + 1);
            }
            let globs = module.imports.iter().filter(|import| import.alias.is_none());
            let inside = globs.filter_map(|glob| target(modules, &at, &glob.path, depth + 1));
            let found =
                inside.into_iter().find(|to| modules.get(to).is_some_and(|to| defines(to, part)));
            let macros = modules.iter().find(|(_, module)| {
                at.is_empty() && defines(module, part) && module.code.contains("macro_rules!")
            });
            return found.or_else(|| macros.map(|(name, _)| name.clone())).or(Some(at));
        }
    }
    Some(at)
}

/// The paths of names in code.
fn paths_in(code: &str) -> Vec<Name> {
    let mut paths = Vec::new();
    for part in code.split(|c: char| !is_name(c) && c != ':' && c != '$') {
        let path = part.trim_matches(':').trim_start_matches('$');
        if !path.is_empty() {
            paths.push(path.split("::").map(str::to_owned).collect());
        }
    }
    paths
}

/// The modules that each module imports.
fn imports_of(modules: &Modules) -> BTreeMap<Name, BTreeSet<Name>> {
    let edges = modules.iter().map(|(name, module)| {
        let mut to = BTreeSet::new();
        for import in module.imports.iter().filter(|import| !import.is_public) {
            to.extend(target(modules, name, &import.path, 0));
        }
        let code = module.code.replace("(in crate::", "(");
        for path in paths_in(&code) {
            if path.len() > 1 {
                to.extend(target(modules, name, &path, 0));
            }
            // A name that the module both re-exports and uses.
            let public = module.imports.iter().filter(|import| import.is_public);
            for import in public.filter(|import| import.alias.as_ref() == path.first()) {
                to.extend(target(modules, name, &import.path, 0));
            }
        }
        to.remove(name);
        (name.clone(), to)
    });
    edges.collect()
}

/// The shortest circle through `start`.
fn circle(edges: &BTreeMap<Name, BTreeMap<Name, String>>, start: &Name) -> Option<Vec<Name>> {
    let mut before: BTreeMap<&Name, &Name> = BTreeMap::new();
    let mut layer = vec![start];
    while !layer.is_empty() {
        let mut next = Vec::new();
        for at in layer {
            for to in edges.get(at).into_iter().flat_map(BTreeMap::keys) {
                if to == start {
                    let mut path = vec![start.clone(), at.clone()];
                    while let Some(&at) = before.get(path.last()?) {
                        path.push(at.clone());
                    }
                    path.reverse();
                    if path.first() != Some(start) {
                        path.insert(0, start.clone());
                    }
                    return Some(path);
                }
                if !before.contains_key(to) {
                    before.insert(to, at);
                    next.push(to);
                }
            }
        }
        layer = next;
    }
    None
}

/// A circle of the modules directly within `within`, if there is one, for each of the modules that are in one.
fn circles(imports: &BTreeMap<Name, BTreeSet<Name>>, within: &Name) -> Vec<String> {
    let node = |name: &Name| name[..name.len().min(within.len() + 1)].to_vec();
    let mut edges: BTreeMap<Name, BTreeMap<Name, String>> = BTreeMap::new();
    for (from, all) in imports.iter().filter(|(from, _)| from.starts_with(within)) {
        for to in all.iter().filter(|to| to.starts_with(within) && node(from) != node(to)) {
            let example = format!("{} imports {}", from.join("::"), to.join("::"));
            edges.entry(node(from)).or_default().entry(node(to)).or_insert(example);
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut seen: BTreeSet<BTreeSet<Name>> = BTreeSet::new();
    for start in edges.keys() {
        if let Some(path) = circle(&edges, start)
            && seen.insert(path.iter().cloned().collect())
        {
            let steps = path.windows(2).filter_map(|two| edges.get(&two[0])?.get(&two[1]).cloned());
            found.push(steps.collect::<Vec<_>>().join(", "));
        }
    }
    found
}

/// True if the module of this crate is one of the list, or within one.
fn is_within(krate: &str, module: &Name, list: &str) -> bool {
    let whole: Name = std::iter::once(krate.to_owned()).chain(module.iter().cloned()).collect();
    let listed: Name = list.split("::").map(str::to_owned).collect();
    whole.starts_with(&listed)
}

#[test]
fn no_module_imports_one_that_imports_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut errors, mut checked) = (Vec::new(), 0);
    let mut entries: Vec<_> =
        fs::read_dir(crates).expect("crates").map(|entry| entry.expect("a crate").path()).collect();
    entries.sort();
    for entry in entries {
        let krate = entry.file_name().expect("a name").to_string_lossy().into_owned();
        let modules = modules_of(&entry.join("src"));
        let imports = imports_of(&modules);
        for within in modules.keys() {
            if ONE_PROTOCOL.iter().any(|(list, _)| is_within(&krate, within, list)) {
                continue;
            }
            checked += 1;
            let found = circles(&imports, within).into_iter();
            errors.extend(found.map(|circle| format!("{krate}: {circle}")));
        }
    }
    assert!(checked > 350, "{checked} modules");
    assert!(errors.is_empty(), "{} circles:\n{}", errors.len(), errors.join("\n"));
}
