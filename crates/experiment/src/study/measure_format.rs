//! Measures of figures, `y`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use driftway_scenario::value_or::{self, Forms, Found, Short, TextOrTable, by_forms};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

use super::flow_selector::FlowSelector;
use super::table::table;
use crate::labels::metric_label;

table! {
    /// A measure of `y`: `["throughput_bps", { metric = "completion_s", label = "transfer time" }]`. A text is
    /// the metric of a measure without other keys.
    #[derive(Default, PartialEq)]
    pub struct Measure expecting "a table with the keys of a measure" {
        /// The metric: a flow's result by its name in `driftway run --json` (`throughput_bps`), or one
        /// of the whole network: `routing.packets_sent`, `mac.collisions`, `drops` (all packets),
        /// `drops.queue-overflow`. A figure may measure one metric of different flows; elsewhere its name
        /// stands for the first of these measures.
        metric: String,
        /// Label, without the unit.
        label: String = default =>
            "that of the file's first measure with this metric; without any, the metric in words",
        /// The flows.
        of: FlowSelector = default => "the first flow",
        /// Divisor in each run, `"sent_packets"` or
        /// `{ metric = "throughput_bps", of = { transport = "tcp" } }`: the measure is then a ratio, and
        /// its name elsewhere is `delivered_packets/sent_packets`. A run without this value, or in which it
        /// is 0, has no ratio.
        over: Option<Divisor>,
        /// Comparison of an arm with the one that it is `against`: `"difference"` or `"ratio"`.
        compare: Comparison = default => "`\"difference\"`",
    }
}

impl Measure {
    /// Name of the measure: its metric, or those of its ratio.
    pub fn name(&self) -> Cow<'_, str> {
        match &self.over {
            None => Cow::Borrowed(&self.metric),
            Some(over) => Cow::Owned(format!("{}/{}", self.metric, over.metric)),
        }
    }
}

/// The divisor of a ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Divisor {
    /// The metric.
    pub metric: String,
    /// The flows. Default: those of the measure.
    pub of: Option<FlowSelector>,
}

impl Forms for Divisor {
    fn expecting() -> Cow<'static, str> {
        "a metric, or a table with the keys `metric` and `of`".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(metric) = found else { return None };
        Some(Ok(Self { metric: metric.to_owned(), of: None }))
    }
    fn read_table<'de, A: MapAccess<'de>>(table: A) -> Option<Result<Self, A::Error>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "a table with the keys `metric` and `of`")]
        struct Keys {
            metric: String,
            of: Option<FlowSelector>,
        }
        Some(value_or::table(table).map(|Keys { metric, of }| Self { metric, of }))
    }
}

by_forms!(Divisor);

/// Comparison of two arms, paired by seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// `"difference"`: the mean of the differences.
    #[default]
    Difference,
    /// `"ratio"`: the ratio of the means. A figure of such measures alone is shown as one table: a
    /// row for each point, a column for each measure.
    Ratio,
}

/// The two forms of a measure in a list.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes the notation")]
pub(super) enum MetricOrMeasure {
    /// A metric.
    Metric(String),
    /// All keys.
    Measure(Measure),
}

impl FromStr for Measure {
    type Err = String;
    fn from_str(metric: &str) -> Result<Self, String> {
        Ok(Self { metric: metric.to_owned(), ..Self::default() })
    }
}

impl TextOrTable for Measure {
    const EXPECTING: &'static str = "a metric, or a table with the keys of a measure";
}

/// Reads a list of metrics and measures.
pub fn measures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Measure>, D::Error> {
    let all = Vec::<Short<Measure>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|Short(measure)| measure).collect())
}

/// Gives each measure without a label that of the first one with its metric, or the metric's own.
pub fn fill_labels<'a>(measures: impl Iterator<Item = &'a mut Measure>) {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for measure in measures {
        let name = measure.name().into_owned();
        if measure.label.is_empty() {
            measure.label = labels.get(&name).cloned().unwrap_or_else(|| metric_label(&name));
        }
        labels.entry(name).or_insert_with(|| measure.label.clone());
    }
}

#[cfg(test)]
mod test {
    use driftway_scenario::TomlFile;

    use super::super::format::Study;
    use super::*;

    fn read(y: &str) -> Result<Study, String> {
        let text = format!(
            "title = 't'\ny = {y}\nfigure = [{{ id = '1', title = 't', y = ['delay_s', 'timeouts', {{ metric = 'delay_s', of = 'sum', label = 'all' }}] }}]"
        );
        let file = TomlFile::parse("s.toml", text).map_err(|error| error.to_string())?;
        let mut study: Study = file.read().map_err(|error| error.to_string())?;
        study.fill_defaults("s.toml");
        Ok(study)
    }

    #[test]
    fn a_measure_may_be_its_metric_alone() {
        let study = read("['completion_s', { metric = 'delay_s', label = 'wait' }]").unwrap();
        let of = |all: &[Measure]| all.iter().map(|of| of.label.clone()).collect::<Vec<_>>();
        assert_eq!(of(&study.y), ["completion time", "wait"]);
        assert_eq!(of(&study.figures[0].y), ["wait", "timeouts", "all"]);
        assert_eq!(study.figures[0].y[2].of, FlowSelector::Sum);
    }

    #[test]
    fn a_measure_has_a_metric() {
        for (wrong, says) in [
            ("[3]", "a metric, or a table with the keys of a measure"),
            ("[{ label = 'wait' }]", "metric"),
            ("[{ metric = 'delay_s', lable = 'wait' }]", "`label`"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.starts_with("s.toml:2:") && error.contains(says), "{error}");
        }
    }
}
