//! The place of a study's scenario: a file beside it, or its own file.

use std::borrow::Cow;

use driftway_scenario::value_or::{self, Forms, Found, by_forms};
use serde::de::{IgnoredAny, MapAccess};

/// Place of a scenario: the name of a file, or a table with the keys of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(untagged)]
pub enum ScenarioPlace {
    /// A file in the directory of the study.
    File(String),
    /// The study's own file.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    Own,
}

impl ScenarioPlace {
    /// Name of the file; `own` is that of the study.
    pub fn file_name(&self, own: &str) -> String {
        match self {
            Self::File(name) => name.clone(),
            Self::Own => own.to_owned(),
        }
    }
}

impl Forms for ScenarioPlace {
    fn expecting() -> Cow<'static, str> {
        "the name of a scenario file, or a table with its keys".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        Some(Ok(Self::File(name.to_owned())))
    }
    /// Its keys are those of a scenario, which is read with the overrides of each arm and point.
    fn read_table<'de, A: MapAccess<'de>>(table: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::table(table).map(|IgnoredAny| Self::Own))
    }
}

by_forms!(ScenarioPlace);

#[cfg(test)]
mod test {
    use std::path::PathBuf;

    use crate::error::Error;
    use crate::study::plan::{Plan, plan};
    use crate::study::source::{STUDY_FILE, Source};

    const STUDY: &str = r#"title = "a study with its scenario"
x = { label = "hops", key = "network.hops", values = [2, 3] }
y = [{ metric = "completion_s", label = "transfer time" }]
set = { "flow.0.to" = 2 }

[scenario]
name = "a path"
duration = "60 s"
network = { kind = "path", hops = 2, link = { rate = "1 Mbit/s", delay = "5 ms" } }

[[scenario.flow]]
from = 0
to = 1
application = { transfer = "10 kB" }
"#;

    fn planned(text: &str) -> Result<Plan, Error> {
        plan(Source::from_text("own", text.to_owned(), PathBuf::new()))
    }

    #[test]
    fn a_study_may_contain_its_scenario() {
        let plan = planned(STUDY).unwrap();
        assert_eq!((plan.jobs.len(), plan.figures[0].figure.scenario.as_str()), (2, STUDY_FILE));
        assert_eq!(plan.jobs[1].scenario.name, "a path");
        assert_eq!(plan.jobs[1].scenario.flows[0].to, 2);
        // No file beside it.
        assert!(plan.files.is_empty(), "{:?}", plan.files);
    }

    #[test]
    fn errors_in_it_have_their_line() {
        let error = planned(&STUDY.replace("from = 0", "form = 0")).unwrap_err().to_string();
        assert!(error.contains("study.toml:12:1: unknown key `form`"), "{error}");
        let error = planned(&STUDY.replace("1 Mbit/s", "1 Mbit")).unwrap_err().to_string();
        assert!(error.contains("study.toml:9:"), "{error}");
        let head = STUDY.split("[scenario]").next().unwrap();
        let error = planned(&format!("{head}scenario = 3\n")).unwrap_err();
        let expected = "the name of a scenario file, or a table with its keys";
        assert!(error.to_string().contains(expected), "{error}");
    }
}
