//! Validation beyond the types: ranges, and combinations of keys. Each error refers to the key
//! whose value is invalid.

mod adhoc;
mod airs;
mod application;
mod components;
mod fault;
mod flow;
mod gateway;
mod link;
mod mixed;
mod numbers;
mod path;
mod reference;
mod traffic;

use crate::flow::MAX_FLOWS;
use crate::problem::{CheckResult, require, require_positive, require_range};
use crate::rules::{RuledValue, Table};
use crate::{Network, Scenario};

/// Returns the first error in `scenario`.
pub(crate) fn check(scenario: &Scenario) -> CheckResult {
    require(!scenario.name.trim().is_empty(), "name", || "the name is empty".into())?;
    require_positive("duration".into(), scenario.duration)?;
    let network = &scenario.network;
    network.check_inside("network")?;
    match network {
        Network::Path(path) => path::check(path)?,
        Network::Adhoc(adhoc) => adhoc::check(adhoc)?,
        Network::Mixed(mixed) => mixed::check(mixed, network)?,
    }
    for (i, fault) in network.faults().iter().enumerate() {
        fault::check(&format!("network.fault.{i}"), fault, network, scenario.duration)?;
    }
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        traffic::check(i, traffic, network, scenario.duration)?;
    }
    require(!scenario.flows.is_empty(), "flow", || {
        "no flow, so there is nothing to measure\nadd a [[flow]] with from, to and application"
            .into()
    })?;
    let mut count = 0;
    for (i, flow) in scenario.flows.iter().enumerate() {
        flow.check_ranges(&format!("flow.{i}"))?;
        count += u64::from(flow.copies);
    }
    require_range("flow".into(), "the number of flows", count, 1, MAX_FLOWS)?;
    for (i, flow) in scenario.flows.iter().enumerate() {
        let key = match flow.traffic {
            Some(traffic) => format!("traffic.{traffic}"),
            None => format!("flow.{i}"),
        };
        flow::check(&key, flow, network, scenario.duration)?;
    }
    if let Network::Mixed(mixed) = network {
        mixed::check_flows(mixed, &scenario.flows, network)?;
        if let Some(gateway) = &mixed.gateway {
            gateway::check_flows(mixed, gateway, &scenario.flows)?;
        }
    }
    for (i, reference) in scenario.references.iter().enumerate() {
        reference::check(&format!("reference.{i}"), reference)?;
    }
    Ok(())
}
