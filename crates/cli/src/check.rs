//! `driftway check`: validates a scenario and summarises it.

use std::io::Write;

use driftway_experiment::study::source;
use driftway_scenario::{
    Adhoc, Air, Application, Fault, Flow, Mac, Network, PartitionHop, PartitionQueue,
    PartitionSignal, Scenario, Transport,
};

use crate::args::{CheckArgs, ScenarioArgs, Show};
use crate::failure::Failure;
use crate::text::{count, list};

/// Number of flows that get a line of their own.
const MAX_FLOWS_LISTED: usize = 6;

/// Loads a scenario with the changes of the command line.
///
/// # Errors
/// An invalid scenario, with the place of the error.
pub fn load_scenario(args: &ScenarioArgs) -> Result<Scenario, Failure> {
    Ok(source::load_scenario(&args.scenario, &args.set)?)
}

/// Prints a summary of each scenario, or the scenario with its defaults; or prints the schema of all.
///
/// # Errors
/// The errors of each invalid scenario, with their places; the other scenarios are checked all the same.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    if args.schema {
        writeln!(out, "{:#}", Scenario::schema())?;
        return Ok(());
    }
    let mut errors = Vec::new();
    for path in &args.scenarios {
        let scenario = match source::load_scenario(path, &args.set) {
            Ok(scenario) => scenario,
            Err(error) => {
                errors.push(Failure::from(error));
                continue;
            }
        };
        // Several files are one output, in which a comment says where each begins.
        if args.show.is_some() && args.scenarios.len() > 1 {
            writeln!(out, "# {}\n", path.display())?;
        }
        match args.show {
            Some(Show::Full) => write!(out, "{}", scenario.show_documented())?,
            Some(Show::Brief) => write!(out, "{}", scenario.show())?,
            None => writeln!(out, "ok: {}", summary(&scenario))?,
        }
    }
    Failure::of_several(errors)
}

/// Summary such as `four lossy hops: a path with 4 hops, at most 3000 s`, and a line per flow.
fn summary(scenario: &Scenario) -> String {
    let mut text =
        format!("{}: {}, at most {}", scenario.name, network_summary(scenario), scenario.duration);
    let listed = scenario.flows.iter().take(MAX_FLOWS_LISTED);
    text.extend(listed.map(|flow| flow_summary(scenario, flow)));
    if scenario.flows.len() > MAX_FLOWS_LISTED {
        text += &format!("\n  and {} more flows", scenario.flows.len() - MAX_FLOWS_LISTED);
    }
    let notes = movement_notes(scenario);
    text.extend(notes.iter().map(|note| format!("\n  {note}")));
    for fault in scenario.network.faults() {
        text.extend(cut(fault, scenario).map(|cut| format!("\n  {cut}")));
    }
    text
}

/// The network, such as `a path with 4 hops`.
fn network_summary(scenario: &Scenario) -> String {
    match &scenario.network {
        Network::Path(path) => {
            let mut parts = vec![count(path.hops.into(), "hop")];
            if !path.parallel.is_empty() {
                parts.push(count(path.parallel.len() as u64, "parallel route"));
            }
            if !path.faults.is_empty() {
                parts.push(count(path.faults.len() as u64, "kind") + " of fault");
            }
            format!("a path with {}", list(&parts))
        }
        Network::Adhoc(adhoc) => {
            format!("{} that {}", count(adhoc.nodes().into(), "node"), radio_summary(adhoc))
        }
        Network::Mixed(mixed) => {
            let mut parts = vec![count(mixed.wires.len() as u64, "wire")];
            if !mixed.faults.is_empty() {
                parts.push(count(mixed.faults.len() as u64, "kind") + " of fault");
            }
            if let Some(gateway) = mixed.splitting_gateway() {
                let split = scenario.flows.iter().filter(|flow| mixed.is_split(flow)).count();
                parts.push(format!(
                    "a gateway ({}) that splits {}",
                    scenario.node_name(gateway.node),
                    count(split as u64, "connection")
                ));
            }
            for air in &mixed.airs {
                let radios = count(air.radios.len() as u64, "radio");
                parts.push(format!("{radios} that {}", radio_summary(&air.adhoc)));
            }
            format!("{} with {}", count(mixed.nodes.len() as u64, "node"), list(&parts))
        }
    }
}

/// A line about a flow.
fn flow_summary(scenario: &Scenario, flow: &Flow) -> String {
    let mut description = application(flow.application);
    if let Some(back) = flow.back {
        description += &format!(" and in reverse {}", application(back));
    }
    let over = match (flow.transport, &flow.tcp) {
        (Transport::Tcp, Some(tcp)) => {
            format!("TCP {}, {} growth", tcp.recovery.name(), tcp.growth.name())
        }
        (Transport::Tcp, None) => "TCP".to_owned(),
        (Transport::Udp, _) => "UDP".to_owned(),
    };
    let receiver = flow.receiver_aid.as_ref().and_then(|aid| aid.name());
    let aid = match (flow.aid.name(), receiver) {
        (None, None) => "no aid".to_owned(),
        (None, Some(receiver)) => format!("{receiver} at the receiver"),
        (Some(name), None) => name.to_owned(),
        (Some(name), Some(receiver)) => format!("{name}, {receiver} at the receiver"),
    };
    let split = scenario.network.is_split(flow).then_some(", split at the gateway");
    let split = split.unwrap_or_default();
    format!(
        "\n  {} → {} from {}{}: {description}, {over}, {aid}{split}",
        scenario.node_name(flow.from),
        scenario.node_name(flow.to),
        flow.start,
        if flow.traffic.is_some() { " with seed 1" } else { "" }
    )
}

/// Notes about the movement of all radios.
fn movement_notes(scenario: &Scenario) -> Vec<String> {
    match &scenario.network {
        Network::Path(_) => Vec::new(),
        Network::Adhoc(adhoc) => {
            adhoc.movement_notes(scenario.duration, |node| scenario.node_name(node))
        }
        Network::Mixed(mixed) => {
            let of = |air: &Air| {
                let name =
                    |node| air.radios.get(node as usize).map(|node| scenario.node_name(*node));
                air.adhoc.movement_notes(scenario.duration, |node| name(node).unwrap_or_default())
            };
            mixed.airs.iter().flat_map(of).collect()
        }
    }
}

/// Treatment of packets in a partition or an outage, such as `outage of hop 1: queued packets are
/// dropped, nobody is notified`.
fn cut(fault: &Fault, scenario: &Scenario) -> Option<String> {
    let (place, queue, signal) = match fault {
        Fault::Partition(cut) => {
            let hop = match cut.hop {
                PartitionHop::Number(hop) => format!("hop {hop}"),
                PartitionHop::Random => "a random hop".to_owned(),
            };
            (hop, cut.queue, cut.signal)
        }
        Fault::Outage(outage) => {
            let hop = outage.hop.map(|hop| format!("hop {hop}"));
            let node = outage.node.map(|node| format!("node {}", scenario.node_name(node)));
            (hop.or(node)?, outage.queue(), outage.signal())
        }
        _ => return None,
    };
    let queue = match queue {
        PartitionQueue::Wait => "queued packets wait",
        PartitionQueue::Drop => "queued packets are dropped",
    };
    let signal = match signal {
        PartitionSignal::IcmpUnreachable => "routers send ICMP unreachable",
        PartitionSignal::Rfn => "routers send route failure notifications",
        PartitionSignal::Link => "the hosts at the ends are notified",
        PartitionSignal::None => "nobody is notified",
    };
    Some(format!("{} of {place}: {queue}, {signal}", fault.kind()))
}

/// Movement, link layer and routing of nodes with radios, such as `do not move, with 802.11 DCF and AODV`.
fn radio_summary(adhoc: &Adhoc) -> String {
    let (moves, air, finds) = (
        adhoc.mobility.label(),
        match adhoc.mac {
            Mac::Dcf(_) => "802.11 DCF",
            Mac::Tdma(_) => "TDMA",
        },
        adhoc.routing.label(),
    );
    format!("{moves}, with {air} and {finds}")
}

fn application(application: Application) -> String {
    match application {
        Application::Transfer(size) => format!("transfer of {size}"),
        Application::Ftp => "ftp".to_owned(),
        Application::Cbr(cbr) => format!("{} every {}", cbr.size, cbr.every),
        Application::Poisson(of) => format!("{} every {} on average", of.size, of.every),
        Application::OnOff(of) => {
            format!("bursts of {}, {} apart, with {} every {}", of.on, of.off, of.size, of.every)
        }
        Application::RequestResponse(of) => {
            format!("requests of {}, responses of {}", of.request, of.response)
        }
    }
}
