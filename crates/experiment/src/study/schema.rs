//! The JSON schema and the reference of a study's file, with the notations that serde cannot describe.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use driftway_scenario::{toml_reference, toml_schema};
use serde_json::{Value, json};

use super::flow_selector::FlowSelector;
use super::format::{Divisor, Study};
use super::number::{OneOrMany, PaperNumber, SettingValue};
use super::order::Order;

/// The beginning of `docs/study.md`.
const HEAD: &str = "\
# The study file

A study is one TOML file beside the scenarios that it runs: figures, the arms that they compare, and what is
measured. A paper is a study with the paper's values, its statements and their causes, in a folder of its own as
`paper.toml`. This page lists all keys; it is generated from the types that read the file (`driftway check
--schema=study` prints the same as a JSON schema for editors). `driftway check FILE` reports errors; nothing is
run. `studies/pauses.toml` is an example of a study, `papers/liu-singh-2001/paper.toml` one of a paper.

The number of runs of a figure is fixed before its verdicts are looked at, and is equal for all its arms.
`driftway paper NAME --record` writes `results.csv`, `verdicts.csv`, and the tables of the README.

In lists of figures, arms, groups and readings `*` stands for any text: `[\"50-*\"]` is each figure whose name
begins with `50-`, in the order of the file. The arms of predicates, such as `order`, are named in full. In the
commands `shown_by`, `{paper}` stands for `driftway paper NAME`, and `{run FILE}` for `driftway run
paper:NAME/FILE`. In those of causes, and in their texts, `{figure}` and `{reading}` stand for the figure and
the reading of the statement, `{ARM}` for the arm that represents ARM in this reading, and `{set ARM}` for its
overrides as options `--set` of `driftway run`; in those of open questions, `{set ARM}` for an arm's.

A paper of one's own is a folder `papers/NAME` in the working directory, or any folder, with `paper.toml`:
`driftway paper NAME`. Its page begins with the first numbered list of its README.md. A whole one, which `driftway paper NAME --record` runs:
";

/// A paper of the shortest kind.
const EXAMPLE: &str = include_str!("example.toml");

/// The part of `docs/study.md` about README.md.
const SOURCES: &str = "\
## Sources of numbers

`driftway paper NAME --numbers` compares each number in README.md, in causes and in open questions with its source.
In a README the sources stand in a comment after the text, and are those of all numbers since the last such comment,
but for code, tables, and what stands between `<!-- not checked -->` and `<!-- end -->`; in `paper.toml` they stand in
the key `sources`. Results must be recorded before:

```text
<!-- sources
given 20, 1.5
925 = 8:tcp:10 ms
22.8 = saved chain:dsr-ecn:4 / chain:dsr:4
331, 510 = $ sh papers/yu-2004/why.sh 50-1 elfn | awk '/m.s/ { print $5 }'
925, 134 = completion_s, timeouts in figure-8.toml with { \"flow.0.tcp.delayed_ack\" = false }
-->
```

- `given`: numbers that are not results, such as settings and the paper's.
- `FIGURE:ARM:X`, or `FIGURE:ARM:X:METRIC`: a recorded result. Figures and arms may be lists with commas; X may be `*`,
  `first` or `last`. `A / B`, `A - B`; `least` and `most` of several; `saved`, `more` and `percent` are 1 − A / B,
  A / B − 1 and A / B in per cent; `k` divides by 1000.
- `$`: a command that prints exactly these numbers.
- `METRICS in FILE with { … }`: means over runs of a scenario of the paper.

Numbers with a derivation stand in the order of the text. Numbers of sections, figures and RFCs are names. A table is
generated from its definition in a comment before it:

```text
<!-- table
corner = \"arm\"
rows = [[\"Reno alone\", \"plain\"], [\"EPLN alone\", \"epln\"]]
columns = [\"5 m/s\", \"20 m/s\"]
cell = \"{k parts:{0}:{column}}\"
-->
<!-- end -->
```

`corner` is the heading of the rows' names. A row has a name and texts for `{0}`, `{1}` and so on, a column a
name and a text for `{column}`; without `cell` it is the cell. Other braces are expressions, `{2 …}` with two
decimals, `{± …}` and `{± 1 …}` the half-width of a result's interval.
";

/// The JSON schema (draft 2020-12) of a study's file.
pub fn study_schema() -> Value {
    toml_schema::<Study>()
}

/// The JSON schema of a paper's file: a study with a source and authors.
pub fn paper_schema() -> Value {
    let mut schema = study_schema();
    schema["title"] = json!("Paper");
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let more = ["authors", "source"].map(|key| json!(key));
    schema["required"] = Value::Array([required, more.to_vec()].concat());
    schema
}

/// The reference of a study's file in Markdown: each key with its values, default and meaning.
pub fn study_reference() -> String {
    toml_reference::<Study>(&format!("{HEAD}\n```toml\n{EXAMPLE}```\n\n{SOURCES}"))
}

/// Describes a type by a schema in place.
macro_rules! described {
    ($type:ty, $name:literal, $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let describe: fn(&mut SchemaGenerator) -> Schema = $schema;
                describe(generator)
            }
        }
    };
}

described!(PaperNumber, "PaperNumber", |_| json_schema!({
    "anyOf": [
        { "type": ["number", "string"] },
        {
            "type": "array",
            "items": { "type": ["number", "string"] },
            "minItems": 2,
            "maxItems": 2,
        },
    ],
}));

described!(OneOrMany, "OneOrMany", |_| json_schema!({
    "anyOf": [
        { "type": "string" },
        { "type": "array", "items": { "type": "string" } },
    ],
}));

described!(Order, "Order", |_| json_schema!({ "type": "string" }));

// Any value of a scenario's key.
described!(SettingValue, "SettingValue", |_| json_schema!(true));

described!(FlowSelector, "FlowSelector", |generator| {
    let chosen = generator.subschema_for::<super::flow_selector::ChosenFlows>();
    json_schema!({
        "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "enum": ["sum", "mean", "others", "least", "most"] },
            chosen,
        ],
    })
});

described!(Divisor, "Divisor", |generator| {
    let of = generator.subschema_for::<FlowSelector>();
    json_schema!({
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "properties": {
                    "metric": { "type": "string", "description": "The metric." },
                    "of": of,
                },
                "required": ["metric"],
                "additionalProperties": false,
            },
        ],
    })
});

#[cfg(test)]
mod test {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::super::plan::plan;
    use super::super::source::Source;
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_example_is_a_paper() {
        let source = Source::from_text("example", EXAMPLE.to_owned(), PathBuf::new());
        let plan = plan(source).unwrap();
        assert!(plan.study.is_paper());
        assert_eq!((plan.figures[0].arms.len(), plan.statements.len()), (4, 4), "in two readings");
        assert!(plan.statements.iter().all(|of| of.cause.is_some()));
    }

    /// The files of a folder, and of the folders in it, with this name or end.
    fn files(folder: &str, end: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let inner = path.join(end);
            if inner.is_file() {
                found.push(inner);
            } else if path.is_file() && path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn all_papers_and_studies_are_valid() {
        let study = jsonschema::validator_for(&study_schema()).unwrap();
        let paper = jsonschema::validator_for(&paper_schema()).unwrap();
        let read =
            |path: &Path| -> Value { toml::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
        let papers = files("papers", "paper.toml");
        assert_eq!(papers.len(), 5);
        for path in papers {
            let errors: Vec<_> = paper.iter_errors(&read(&path)).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
        let mut studies = 0;
        for path in files("studies", ".toml") {
            let file = read(&path);
            // Lists of comparisons and hypotheses have forms of their own.
            if file.get("title").is_some() && file.get("y").or(file.get("figure")).is_some() {
                assert!(study.is_valid(&file), "{}", path.display());
                assert!(!paper.is_valid(&file), "{}", path.display());
                studies += 1;
            }
        }
        assert!(studies >= 5, "{studies}");
        let mut wrong = read(&root().join("papers/yu-2004/paper.toml"));
        wrong["reading"][1]["sets"] = json!({});
        assert!(!paper.is_valid(&wrong));
    }

    #[test]
    fn the_reference_matches_the_types() {
        let path = root().join("docs/study.md");
        let reference = study_reference();
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            fs::write(&path, &reference).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == reference, "docs/study.md differs from the types: run `make reference`");
        for key in ["`suffix`", "`shown_by`", "`factors`", "`like`", "`because`"] {
            assert!(reference.contains(&format!("| {key} |")), "{key}");
        }
    }
}
