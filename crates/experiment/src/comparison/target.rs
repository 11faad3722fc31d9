//! The flow of a scenario that arms set.

use driftway_scenario::{Application, Network, Scenario, Transport};
use toml::{Table, Value};

use super::arms::{ComparedArm, End, arms};
use crate::error::Error;

/// The largest window without window scaling (RFC 7323).
const UNSCALED_WINDOW: u64 = 65_535;

/// The part of a scenario that arms set.
#[derive(Debug)]
pub(super) struct CompareTarget {
    /// Index of the compared flow in the file.
    entry: usize,
    /// Index of the compared flow, when all are expanded.
    pub(super) flow: usize,
    /// The compared flow has an end.
    pub(super) is_transfer: bool,
    /// Its window is larger than a TCP without window scaling can advertise.
    has_large_window: bool,
    /// The other end sends data on the same connection, and has the same aid by default.
    has_back: bool,
    is_adhoc: bool,
    has_link_signals: bool,
}

impl CompareTarget {
    /// The first flow of TCP of a scenario with this text.
    ///
    /// # Errors
    ///
    /// There is none, or it has copies.
    pub(super) fn new(place: &str, text: &str, scenario: &Scenario) -> Result<Self, Error> {
        let none = || {
            let help =
                "list the flow whose TCP is to be compared: [[flow]] with from, to and application";
            Error::refused_with(format!("{place}: no [[flow]] of TCP, which is compared"), help)
        };
        let flow = scenario.flows.iter().position(|flow| flow.transport == Transport::Tcp);
        let flow = flow.filter(|at| scenario.flows[*at].traffic.is_none()).ok_or_else(none)?;
        let table: Table =
            text.parse().map_err(|error| Error::refused(format!("{place}: {error}")))?;
        let entries = table.get("flow").and_then(Value::as_array).ok_or_else(none)?;
        let is_tcp = |entry: &&Value| entry.get("transport").and_then(Value::as_str) != Some("udp");
        let (entry, own) =
            entries.iter().enumerate().find(|(_, entry)| is_tcp(entry)).ok_or_else(none)?;
        if own.get("copies").and_then(Value::as_integer).is_some_and(|copies| copies > 1) {
            return Err(Error::refused_with(
                format!("{place}: the first flow of TCP has copies, and one flow is compared"),
                "list it once, and its copies as another [[flow]]",
            ));
        }
        let network = table.get("network");
        Ok(Self {
            entry,
            flow,
            is_transfer: is_transfer(&scenario.flows[flow].application),
            has_large_window: scenario.flows[flow]
                .tcp
                .as_ref()
                .is_some_and(|tcp| tcp.window_bytes() > UNSCALED_WINDOW),
            has_back: own.get("back").is_some(),
            is_adhoc: matches!(scenario.network, Network::Adhoc(_)),
            has_link_signals: network.is_some_and(|of| of.get("link_signals").is_some()),
        })
    }

    /// An arm of a study for each of [`arms`].
    pub(super) fn arms(&self, prefix: &str) -> Vec<Value> {
        let arm = |arm: &ComparedArm| {
            let name = format!("{prefix}{}", arm.name());
            let mut table = Table::new();
            table.insert("name".into(), name.clone().into());
            table.insert("label".into(), name.into());
            table.insert("set".into(), self.settings(arm).into());
            Value::Table(table)
        };
        arms().iter().map(arm).collect()
    }

    /// The overrides of an arm.
    fn settings(&self, arm: &ComparedArm) -> Table {
        let key = |name: &str| format!("flow.{}.{name}", self.entry);
        let mut set = Table::new();
        set.insert(key("tcp.preset"), arm.tcp.name.into());
        if self.has_large_window && !arm.tcp.scales_window {
            set.insert(key("tcp.window"), format!("{UNSCALED_WINDOW} B").into());
        }
        set.insert(key("aid"), "none".into());
        if !self.has_back {
            set.insert(key("receiver_aid"), "none".into());
        }
        let Some(aid) = arm.aid else { return set };
        let end = match aid.end {
            End::Sender => "aid",
            End::Receiver => "receiver_aid",
        };
        set.insert(key(end), inline(&aid.value()));
        if self.is_adhoc {
            let free =
                |key: &&(&str, &str)| !(self.has_link_signals && key.0.ends_with("link_signals"));
            for (name, value) in aid.adhoc.iter().filter(free) {
                set.insert((*name).to_owned(), inline(value));
            }
        }
        set
    }
}

/// Returns whether an application has an end.
pub(super) fn is_transfer(application: &Application) -> bool {
    matches!(application, Application::Transfer(_))
}

/// A value as in `--set`.
fn inline(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| text.into())
}
