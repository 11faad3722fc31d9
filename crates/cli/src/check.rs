//! `driftway check`: validates scenarios, studies and papers, and summarises them.

use std::io::Write;
use std::path::Path;

use driftway_experiment::Error;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::schema::{paper_schema, study_schema};
use driftway_experiment::study::source::{self, Source};
use driftway_scenario::{
    Adhoc, Air, Application, Fault, Flow, Mac, Network, PartitionHop, PartitionQueue,
    PartitionSignal, Scenario, TomlFile, Transport,
};

use crate::args::{CheckArgs, FileKind, ScenarioArgs, Show};
use crate::failure::Failure;
use crate::short_queue;
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
    if let Some(kind) = args.schema {
        let schema = match kind {
            FileKind::Scenario => Scenario::schema(),
            FileKind::Study => study_schema(),
            FileKind::Paper => paper_schema(),
        };
        writeln!(out, "{schema:#}")?;
        return Ok(());
    }
    let mut errors = Vec::new();
    for path in &args.scenarios {
        match study_source(path) {
            None => {}
            Some(_) if !args.set.is_empty() || args.show.is_some() => {
                let what = "this is a study, to which --set and --show do not apply";
                errors.push(Failure::Input(format!("{}: {what}", path.display())));
                continue;
            }
            Some(source) => {
                match source.and_then(plan) {
                    Ok(plan) => writeln!(out, "ok: {}", study_summary(&plan))?,
                    Err(error) => errors.push(error.into()),
                }
                continue;
            }
        }
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

/// The study at `path`; `None`: it is a scenario, or an error that the reader of scenarios reports.
fn study_source(path: &Path) -> Option<Result<Source, Error>> {
    let name = path.to_str()?;
    if let Some(paper) = name.strip_prefix(source::PAPER_PREFIX) {
        return (!paper.contains(['/', '#'])).then(|| Source::find(paper));
    }
    if path.join(source::PAPER_FILE).is_file() {
        return Some(Source::find(name));
    }
    let table: toml::Table = TomlFile::text(path).ok()?.parse().ok()?;
    // A scenario has a network and no title.
    let is_study = table.contains_key("title") && !table.contains_key("network");
    is_study.then(|| Source::from_file(path))
}

/// Summary such as `Pauses: a study with 2 figures, 4 arms and 96 runs`.
fn study_summary(plan: &Plan) -> String {
    let study = &plan.study;
    let kind = if study.is_paper() { "a paper" } else { "a study" };
    let mut arms: Vec<&str> = plan.figures.iter().flat_map(|figure| figure.arm_names()).collect();
    arms.sort_unstable();
    arms.dedup();
    let mut parts =
        vec![count(plan.figures.len() as u64, "figure"), count(arms.len() as u64, "arm")];
    if !study.readings.is_empty() {
        parts.push(count(study.readings.len() as u64, "reading"));
    }
    if !plan.statements.is_empty() {
        parts.push(count(plan.statements.len() as u64, "statement"));
    }
    parts.push(count(plan.jobs.len() as u64 * study.runs, "run"));
    format!("{}: {kind} with {}", study.title, list(&parts))
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
    let notes = movement_notes(scenario).into_iter().chain(short_queue::notes(scenario));
    text.extend(notes.map(|note| format!("\n  {note}")));
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
