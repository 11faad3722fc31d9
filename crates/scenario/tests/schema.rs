//! Tests of the schema, the reference and the comments of `check --show`, all generated from the types.

use std::path::{Path, PathBuf};

use driftway_scenario::{Scenario, quantity};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All scenario files of the project, with their texts.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("scenarios"), root().join("papers"), root().join("studies")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.contains("\n[network]") {
                    files.push((path, text));
                }
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_file_of_the_project_is_valid() {
    let schema = Scenario::schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let files = files();
    assert!(files.len() > 40, "{}", files.len());
    for (path, text) in files {
        let file: Value = toml::from_str(&text).unwrap();
        let errors: Vec<_> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        // The file with its defaults and documentation is valid too.
        let scenario = Scenario::load(&path, &[]).unwrap();
        let shown = scenario.show_documented();
        let file: Value = toml::from_str(&shown).unwrap();
        let errors: Vec<_> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}\n{shown}", path.display());
    }
}

#[test]
fn wrong_files_are_not_valid() {
    let schema = Scenario::schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let (_, text) =
        files().into_iter().find(|(path, _)| path.ends_with("lossy-path.toml")).unwrap();
    for (from, to) in [
        ("duration", "durations"),
        ("kind = \"path\"", "kind = \"paths\""),
        ("hops =", "hop ="),
        ("packet_error_rate =", "packet_errors ="),
        (" s\"", " parsecs\""),
    ] {
        assert!(text.contains(from), "{from}");
        let file: Value = toml::from_str(&text.replacen(from, to, 1)).unwrap();
        assert!(!validator.is_valid(&file), "{from} → {to}");
    }
    let (without_flows, _) = text.split_once("[[flow]]").unwrap();
    let file: Value = toml::from_str(without_flows).unwrap();
    let errors: Vec<_> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
    assert_eq!(errors, ["\"flow\" is a required property"]);
}

#[test]
fn documented_output_covers_each_key_and_round_trips() {
    for (path, _) in files() {
        let scenario = Scenario::load(&path, &[]).unwrap();
        let shown = scenario.show_documented();
        let mut before = "";
        for line in shown.lines() {
            let is_key = line.contains(" = ") && !line.starts_with('#');
            // The documentation of a tag is that of its table.
            let key = line.split(" = ").next().unwrap_or_default();
            let is_tag =
                ["kind", "protocol", "model", "name"].contains(&key) && before.starts_with('[');
            // Lines inside an array are not keys.
            let is_inner = line.starts_with(' ');
            assert!(!is_key || is_tag || is_inner || before.starts_with('#'), "{line}\n{shown}");
            assert!(line.chars().count() <= 100 || !line.starts_with('#'), "{line}");
            before = line;
        }
        let name = path.with_file_name("shown.toml");
        let again = Scenario::parse(&name.to_string_lossy(), &shown, &[]);
        if !shown.contains("file = ") {
            assert_eq!(again.unwrap_or_else(|error| panic!("{error}\n{shown}")), scenario);
        }
    }
}

/// Calls `see` with each key of the schema that has a default.
fn defaults<'a>(schema: &'a Value, see: &mut impl FnMut(&'a str, &'a Value, &'a Value)) {
    if let Some(keys) = schema.get("properties").and_then(Value::as_object) {
        for (key, value) in keys {
            if let Some(default) = value.get("default") {
                see(key, default, value);
            }
        }
    }
    match schema {
        Value::Object(parts) => parts.values().for_each(|part| defaults(part, see)),
        Value::Array(parts) => parts.iter().for_each(|part| defaults(part, see)),
        _ => {}
    }
}

#[test]
fn documented_defaults_are_effective() {
    let schema = Scenario::schema();
    let mut compared = 0;
    defaults(&schema, &mut |key, default, value| {
        let text = value["description"].as_str().unwrap_or_default().replace('\n', " ");
        let Some((_, says)) = text.split_once("Default ") else { return };
        let says = says
            .split([';', ':', '(', ','])
            .next()
            .unwrap_or_default()
            .split(". ")
            .next()
            .unwrap_or_default()
            .trim_end_matches('.');
        let says = says.trim().trim_matches('`').trim_matches('"');
        let is = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        let same = says == is
            || quantity(says).is_some() && quantity(says) == quantity(&is)
            || says.parse::<f64>().is_ok_and(|says| Ok(says) == is.parse());
        if default.is_object() || default.is_array() || says.starts_with("in a scenario") {
            return;
        }
        assert!(same, "{key}: the text has {says}, the default is {is}");
        compared += 1;
    });
    assert!(compared > 100, "{compared}");
}

/// Calls `see` with each key of the schema and its schema.
fn keys<'a>(schema: &'a Value, see: &mut impl FnMut(&'a str, &'a Value)) {
    match schema {
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            properties.into_iter().flatten().for_each(|(key, value)| see(key, value));
            parts.values().for_each(|part| keys(part, see));
        }
        Value::Array(parts) => parts.iter().for_each(|part| keys(part, see)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_schema_has_a_description() {
    let mut count = 0;
    keys(&Scenario::schema(), &mut |key, schema| {
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(text.ends_with('.'), "{key}: {schema}");
        count += 1;
    });
    assert!(count > 300, "{count}");
}

#[test]
fn the_schema_has_no_null() {
    fn check(value: &Value) {
        match value {
            Value::Object(parts) => parts.values().for_each(check),
            Value::Array(parts) => parts.iter().for_each(check),
            other => assert!(!other.is_null() && other != "null"),
        }
    }
    check(&Scenario::schema());
}

#[test]
fn no_cell_of_the_reference_is_empty() {
    let reference = Scenario::reference();
    let rows = reference.lines().filter(|line| line.starts_with("| `"));
    let mut count = 0;
    for row in rows {
        let row_without_escapes = row.replace("\\|", "/");
        let cells: Vec<_> =
            row_without_escapes.trim_matches('|').split('|').map(str::trim).collect();
        let [_, values, default, meaning] = cells.as_slice() else { panic!("{row}") };
        assert!(!values.is_empty() && !default.is_empty() && !meaning.is_empty(), "{row}");
        assert!(!values.contains("`null`") && *default != "`null`", "{row}");
        count += 1;
    }
    assert!(count > 300, "{count}");
}

#[test]
fn the_reference_matches_the_types() {
    let path = root().join("docs/scenario.md");
    let reference = Scenario::reference();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == reference, "docs/scenario.md differs from the types: run `make reference`");
}
