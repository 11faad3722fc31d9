//! The flows of a measure, and how their values are put together.

use std::borrow::Cow;
use std::fmt;

use driftway_scenario::value_or::{self, Forms, Found, by_forms};
use driftway_scenario::{Flow, Scenario, Transport};
use serde::Deserialize;
use serde::de::MapAccess;

use super::table::table;

/// The flows of a measure: one by its index (`0`); `"sum"`, `"mean"`, `"least"`, `"most"` of all
/// TCP flows, or of all flows if none uses TCP; `"others"`, the mean of all those but the first; or
/// those of a table ([`ChosenFlows`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowSelector {
    /// The flow with this index, from 0.
    Flow(usize),
    /// The sum over flows.
    Sum,
    /// The mean over flows.
    Mean,
    /// The mean over all flows but the first: what a comparison of the first one does to them.
    Others,
    /// The minimum over flows.
    Least,
    /// The maximum over flows.
    Most,
    /// The chosen flows.
    Chosen(ChosenFlows),
}

table! {
    /// Flows chosen by what they are, `{ transport = "udp" }` or `{ name = "voice", take = "sum" }`:
    /// those for which all keys hold.
    #[derive(PartialEq, Eq)]
    pub struct ChosenFlows expecting "a table with the keys `transport`, `name` and `take`" {
        /// Transport protocol: `"tcp"` or `"udp"`.
        transport: Option<Transport> => "any",
        /// Name: `flow.name` or `traffic.name` in the scenario.
        name: Option<String> => "any",
        /// Their value: `"mean"`, `"sum"`, `"least"` or `"most"`.
        take: Take = default => "`\"mean\"`",
    }
}

/// A value of several flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The mean.
    #[default]
    Mean,
    /// The sum.
    Sum,
    /// The minimum.
    Least,
    /// The maximum.
    Most,
}

impl Default for FlowSelector {
    fn default() -> Self {
        Self::Flow(0)
    }
}

impl FlowSelector {
    /// The indices of the flows.
    pub fn flows(&self, scenario: &Scenario) -> Vec<usize> {
        let any = scenario.flows.iter().any(is_tcp);
        let indices = |is_chosen: &dyn Fn(&Flow) -> bool| -> Vec<usize> {
            let flows = scenario.flows.iter().enumerate();
            flows.filter(|(_, flow)| is_chosen(flow)).map(|(at, _)| at).collect()
        };
        match self {
            Self::Flow(number) => (0..scenario.flows.len()).filter(|at| at == number).collect(),
            Self::Chosen(chosen) => indices(&|flow| chosen.has(flow)),
            Self::Others => indices(&|flow| !any || is_tcp(flow)).into_iter().skip(1).collect(),
            Self::Sum | Self::Mean | Self::Least | Self::Most => {
                indices(&|flow| !any || is_tcp(flow))
            }
        }
    }

    /// The value of flows with these values; `None` without any.
    pub fn take(&self, values: &[f64]) -> Option<f64> {
        let take = match self {
            Self::Flow(_) | Self::Sum => Take::Sum,
            Self::Mean | Self::Others => Take::Mean,
            Self::Least => Take::Least,
            Self::Most => Take::Most,
            Self::Chosen(chosen) => chosen.take,
        };
        if values.is_empty() {
            return None;
        }
        let sum = || values.iter().sum::<f64>();
        match take {
            Take::Sum => Some(sum()),
            Take::Mean => Some(sum() / values.len() as f64),
            Take::Least => values.iter().copied().reduce(f64::min),
            Take::Most => values.iter().copied().reduce(f64::max),
        }
    }
}

fn is_tcp(flow: &Flow) -> bool {
    flow.transport == Transport::Tcp
}

impl ChosenFlows {
    fn has(&self, flow: &Flow) -> bool {
        self.transport.is_none_or(|transport| flow.transport == transport)
            && self.name.as_ref().is_none_or(|name| flow.name.as_ref() == Some(name))
    }
}

/// A description of the flows, for a message.
impl fmt::Display for ChosenFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = self.transport.map(|transport| match transport {
            Transport::Tcp => "of TCP".to_owned(),
            Transport::Udp => "of UDP".to_owned(),
        });
        let name = self.name.as_ref().map(|name| format!("with the name `{name}`"));
        let parts: Vec<String> = transport.into_iter().chain(name).collect();
        f.write_str(&parts.join(" "))
    }
}

impl Forms for FlowSelector {
    fn expecting() -> Cow<'static, str> {
        "a flow's number such as 0, or \"sum\", \"mean\", \"others\", \"least\", \"most\", or a table such as \
         { transport = \"udp\" }"
            .into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        Some(Ok(match found {
            Found::Number(flow) => Self::Flow(usize::try_from(flow).unwrap_or(usize::MAX)),
            Found::Text("sum") => Self::Sum,
            Found::Text("mean") => Self::Mean,
            Found::Text("others") => Self::Others,
            Found::Text("least") => Self::Least,
            Found::Text("most") => Self::Most,
            _ => return None,
        }))
    }
    fn read_table<'de, A: MapAccess<'de>>(table: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::table(table).map(Self::Chosen))
    }
}

by_forms!(FlowSelector);

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Example {
        of: Vec<FlowSelector>,
    }

    fn read(text: &str) -> Result<Vec<FlowSelector>, driftway_scenario::Error> {
        let file = driftway_scenario::TomlFile::parse("a.toml", text.to_owned())?;
        file.read::<Example>().map(|read| read.of)
    }

    fn scenario() -> Scenario {
        let flow = |transport: &str, name: &str| {
            format!(
                "[[flow]]\nfrom = 0\nto = 1\ntransport = '{transport}'\n{name}\
                 application = {{ cbr = {{ every = '1 s', size = '10 B' }} }}\n"
            )
        };
        let text = format!(
            "name = 'four'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 1\n\
             link = {{ rate = '1 Mbit/s', delay = '1 ms' }}\n{}{}{}{}",
            flow("tcp", ""),
            flow("udp", "name = 'voice'\n"),
            flow("udp", ""),
            flow("tcp", "name = 'voice'\n"),
        );
        Scenario::parse("four.toml", &text, &[]).unwrap()
    }

    #[test]
    fn flows_are_chosen_by_transport_and_name() {
        let text = "of = [3, 'sum', 'others', { transport = 'udp' }, { name = 'voice' }, \
                    { name = 'voice', transport = 'tcp' }, { name = 'video' }]";
        let found = read(text).unwrap();
        let flows: Vec<_> = found.iter().map(|of| of.flows(&scenario())).collect();
        let expected: [&[usize]; 7] = [&[3], &[0, 3], &[3], &[1, 2], &[1, 3], &[3], &[]];
        assert_eq!(flows, expected);
    }

    #[test]
    fn a_table_takes_the_mean_or_what_it_says() {
        let text = "of = [{ transport = 'udp' }, { transport = 'udp', take = 'sum' }, \
                    { take = 'least' }, { take = 'most' }]";
        let taken: Vec<_> = read(text).unwrap().iter().map(|of| of.take(&[1.0, 5.0])).collect();
        assert_eq!(taken, [Some(3.0), Some(6.0), Some(1.0), Some(5.0)]);
        assert_eq!(FlowSelector::Mean.take(&[]), None);
    }

    #[test]
    fn other_values_are_rejected() {
        for wrong in ["'all'", "{ transport = 'sctp' }", "{ flow = 1 }", "{ take = 'half' }"] {
            assert!(read(&format!("of = [{wrong}]")).is_err(), "{wrong}");
        }
    }
}
