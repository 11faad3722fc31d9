//! Tests of the schema, the reference and the comments of `check --show`, all generated from the types.

use std::path::{Path, PathBuf};

use driftway_scenario::Scenario;
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
    let rows = rows();
    for row in &rows {
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert!(!row[1].contains("`null`") && row[2] != "`null`", "{row:?}");
    }
    assert!(rows.len() > 300, "{}", rows.len());
}

/// Rows of the reference: the cells of each key.
fn rows() -> Vec<[String; 4]> {
    let reference = Scenario::reference();
    let rows = reference.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| {
        let row = row.replace("\\|", "/");
        let cells = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        cells.collect::<Vec<_>>().try_into().unwrap_or_else(|cells| panic!("{cells:?}"))
    };
    rows.map(cells).collect()
}

#[test]
fn the_reference_states_each_default_once() {
    for [key, _, _, meaning] in rows() {
        let states =
            ["Default:", "Default `", "Default \""].iter().any(|word| meaning.contains(word));
        assert!(!states, "{key}: {meaning}");
    }
    // For editors and comments, the description of a key ends with its default.
    let mut described = 0;
    keys(&Scenario::schema(), &mut |key, schema| {
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(schema.get("x-default").is_none(), "{key}");
        if schema.get("default").is_some() {
            assert!(text.contains(" Default: "), "{key}: {text}");
            described += 1;
        }
    });
    assert!(described > 200, "{described}");
}

#[test]
fn the_reference_lists_only_forms_that_are_read() {
    let rows = rows();
    let with_delay = rows.iter().filter(|[key, ..]| key == "`lasts`" || key == "`delay`");
    let mut forms = 0;
    for [key, values, ..] in with_delay.filter(|[_, values, ..]| values.contains("uniform")) {
        let range = "[time: `\"20 ms\"`, time: `\"20 ms\"`]";
        let only_as_uniform = values.replace(&format!("`{{ uniform = … }}` ({range})"), "");
        assert!(!only_as_uniform.contains(range), "{key}: {values}");
        forms += 1;
    }
    assert!(forms >= 4, "{forms}");
    let (path, text) =
        files().into_iter().find(|(path, _)| path.ends_with("lossy-path.toml")).unwrap();
    let delay = text.lines().find(|line| line.starts_with("delay = ")).unwrap();
    let range = text.replacen(delay, "delay = [\"10 ms\", \"30 ms\"]", 1);
    let refused = Scenario::parse(&path.to_string_lossy(), &range, &[]).unwrap_err();
    assert!(refused.message().starts_with("expected a time"), "{refused}");
}

/// A key with the name of a keyword of JSON schema is a key like others.
#[test]
fn the_format_of_a_movement_file_is_in_the_reference() {
    let format = rows().into_iter().find(|[key, ..]| key == "`format`").unwrap();
    assert_eq!(format[1], "`\"ns-2\"`, `\"bonnmotion\"`, `\"sumo-fcd\"`, `\"gpx\"`, `\"csv\"`");
    assert_eq!(format[2], "detected from its content");
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
