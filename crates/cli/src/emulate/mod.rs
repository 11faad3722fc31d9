//! `driftway emulate`: runs programs over a scenario's network in real time.

mod connections;
mod control_server;
mod devices;
pub mod document;
mod gate;
pub mod mtu;
mod node_argument;
mod node_files;
mod plan;
mod programs;
mod readiness;
mod recording;
mod results;
mod sampler;
mod session;
mod signals;
mod stream_writer;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use driftway_base::NodeId;
use driftway_linux::{
    EmulatedNodes, Emulation, Namespace, NamespaceReaper, RunningEmulation, Uplink,
    check_requirements, current_executable,
};
use driftway_scenario::Scenario;
use driftway_sim::log::EventLog;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{EmulateArgs, GuardianArgs};
use crate::check::load_scenario;
use crate::ctl::protocol::NodeEntry;
use crate::failure::{Failure, failed};
use crate::files::{OutputDir, Staging};
use crate::output::{check_output, json, with_output};
use control_server::{ControlServer, Controlled};
use devices::Devices;
use document::{EmulationDocument, Ends};
use gate::Gate;
use mtu::mtu;
use node_files::{host_resolvers, node_files};
use plan::{Plan, line_not_run, not_run};
use programs::{Names, environment};
use recording::Recording;
use results::EmulationEnd;
use sampler::Sampler;
use session::Session;
use signals::Signals;

/// Runs programs over a scenario's network and reports the results. Returns the exit status of the
/// program with which the emulation ends.
///
/// # Errors
/// An invalid scenario or command, or a machine that lacks a requirement.
pub fn emulate(args: &EmulateArgs) -> Result<ExitCode, Failure> {
    let scenario = load_scenario(&args.scenario)?;
    let plan = Plan::new(args, &scenario)?;
    let out = args.out.as_deref();
    check_output(out)?;
    check_requirements().map_err(|missing| Failure::Input(missing.to_string()))?;
    with_output(out, |destination| {
        let mut staging = destination.map(OutputDir::stage).transpose()?;
        let mut recording =
            Recording::open(args, &scenario, plan.devices.is_ethernet, staging.as_ref())?;
        let (document, end) = run_programs(args, &scenario, &plan, &mut recording)?;
        if let (Some(staging), Some(end)) = (&mut staging, end) {
            end.write(staging)?;
        }
        if let Some(staging) = staging.as_mut().filter(|_| args.events) {
            staging.add_finished(&EventLog::file_name(args.seed), Ok(()))?;
        }
        write_output(args, &scenario, &document, staging)?;
        Ok(ExitCode::from(document.exit_status))
    })
}

/// Creates the namespaces, runs the programs over the network, and ends all processes. With an output directory the
/// connections are sampled.
fn run_programs<'a>(
    args: &EmulateArgs,
    scenario: &'a Scenario,
    plan: &Plan,
    recording: &mut Recording,
) -> Result<(EmulationDocument, Option<EmulationEnd<'a>>), Failure> {
    // Before the first thread starts, so that all threads inherit the blocked signals.
    let mut signals = Signals::block_termination().map_err(|e| failed("block signals", &e))?;
    let (emulation, names) = make_nodes(args, scenario, plan, recording)?;
    let namespaces: Vec<_> = emulation.namespaces().iter().collect();
    let mut guardian = current_executable();
    guardian.arg("guardian");
    if let Some(interface) = emulation.uplink().and_then(Uplink::forwarding) {
        guardian.arg("--forwarding").arg(interface);
    }
    let guardian = NamespaceReaper::start(&mut guardian, &namespaces);
    // Dropped last, when no process is left to be terminated.
    let _guardian = guardian.map_err(|e| failed("start the guardian process", &e))?;
    let gate = Gate::close(plan, &names, &emulation)?;
    // Before the programs: what they send is never too early.
    let running = emulation.start().map_err(|e| failed("start the network", &e))?;
    let sampler = args.out.as_ref().map(|_| Sampler::start(&running, &plan.nodes)).transpose();
    let sampler = sampler.map_err(|e| failed("sample the connections", &e))?;
    let server = ControlServer::start(Controlled {
        control: running.control(),
        source: args.scenario.clone(),
        scenario: scenario.clone(),
        entries: entries(plan, &names, &running),
        names: names.clone(),
        changes: Vec::new(),
    });
    let server = server.map_err(|e| failed("open the socket of driftway ctl", &e))?;
    let (end, starts, ended) = {
        let mut session = Session::new(args, plan, &names, &running, gate)?;
        let line = status_line(args);
        let end = session.run(&mut signals, &line);
        line.finish_and_clear();
        let ended = running.now();
        // In any case no process is left.
        let terminated = session.terminate();
        let end = end?;
        terminated?;
        (end, session.ends(), ended)
    };
    let sampled = sampler.map(Sampler::finish).transpose();
    let sampled = sampled.map_err(|e| failed("sample the connections", &e))?;
    let report = running.stop().map_err(|e| failed("forward packets", &e))?;
    let node = plan.main.node;
    if let (Some(line), None) = (plan.main.line(), end.failed)
        && let Some(why) = line_not_run(&format!("--at {node}"), line, end.status)
    {
        return Err(Failure::Input(why));
    }
    let (_, background) = &starts;
    let mut others = plan.background.iter().zip(background);
    if let Some(why) = others.find_map(|(program, end)| not_run(program, end.status)) {
        return Err(Failure::Failed(why));
    }
    let ends =
        Ends { end, starts: &starts, changes: server.changes(), unrecorded: recording.finish()? };
    let mut document =
        EmulationDocument::new(args, scenario, plan, &names.addresses, ends, &report);
    document.notes.extend(sampled.as_ref().and_then(|of| left_out(of.connections.left_out())));
    let Names { addresses, .. } = names;
    let end = sampled.map(|sampled| EmulationEnd {
        scenario,
        seed: args.seed,
        addresses,
        sampled,
        ended,
        report,
    });
    Ok((document, end))
}

/// Makes the nodes: their namespaces, addresses and uplink, and, unless they share the host's, their files.
fn make_nodes(
    args: &EmulateArgs,
    scenario: &Scenario,
    plan: &Plan,
    recording: &mut Recording,
) -> Result<(Emulation, Names), Failure> {
    let (mtu, observer) = (mtu(scenario), recording.observer());
    let Devices { uplink, attached, addresses: further, is_ethernet } = &plan.devices;
    let setup = EmulatedNodes { mtu, nodes: &plan.nodes, attached, is_ethernet: *is_ethernet };
    let mut emulation = Emulation::build(scenario, args.seed, &setup, observer)
        .map_err(|e| failed("make the namespaces", &e))?;
    let addresses = emulation.node_addresses();
    let nodes = 0..addresses.len() as u32;
    let names = nodes.map(|node| scenario.node_name(node)).collect();
    let ipv6_addresses = emulation.ipv6_node_addresses();
    let names = Names { names, addresses, ipv6_addresses };
    for (node, address) in further {
        emulation
            .add_address(*node, *address)
            .map_err(|e| Failure::Input(format!("--address {node}={address}: {e}")))?;
    }
    let mut resolvers = Vec::new();
    if let Some((node, interface)) = uplink {
        resolvers = host_resolvers();
        emulation
            .add_uplink(*node, interface, &resolvers)
            .map_err(|e| failed(&format!("make the uplink {node}={interface}"), &e))?;
    }
    if !args.share {
        let init = || {
            let mut command = current_executable();
            command.arg("node-init");
            command
        };
        emulation
            .isolate(init, |node| node_files(node, &names, &resolvers))
            .map_err(|e| failed("isolate the nodes (--share does without)", &e))?;
    }
    Ok((emulation, names))
}

/// A note about connections that are not among the results.
fn left_out(ends: usize) -> Option<String> {
    (ends > 0).then(|| {
        format!("{ends} ends of later connections are not in results.json, which has the first 1,000 connections")
    })
}

/// Entries to the nodes with kernels.
fn entries(plan: &Plan, names: &Names, running: &RunningEmulation) -> BTreeMap<NodeId, NodeEntry> {
    let nodes = plan.nodes.iter().zip(running.namespaces());
    let entry = |(node, namespace): (&NodeId, &Namespace)| {
        let descriptor = namespace.as_fd().as_raw_fd();
        let entry = NodeEntry {
            init: namespace.init(),
            network: format!("/proc/{}/fd/{descriptor}", std::process::id()),
            environment: environment(&plan.place(names, *node)),
        };
        (*node, entry)
    };
    nodes.map(entry).collect()
}

/// Runs the guardian: it cleans up after an emulation, however that ends.
///
/// # Errors
/// A process that cannot be terminated.
pub fn guard(args: &GuardianArgs) -> Result<(), Failure> {
    let ended = driftway_linux::reap_namespaces(&args.namespaces, programs::TERMINATION_GRACE);
    if let Some(interface) = &args.forwarding {
        // Also after the uplink has done so itself.
        driftway_linux::stop_forwarding(interface)
            .map_err(|e| failed("stop forwarding packets", &e))?;
    }
    ended.map_err(|e| failed("end the processes in the namespaces", &e))
}

/// Runs the first process of a node.
///
/// # Errors
/// Any error of the kernel.
pub fn node_init() -> Result<(), Failure> {
    driftway_linux::run_node_init(programs::TERMINATION_GRACE)
        .map_err(|e| failed("run a node's first process", &e))
}

/// A status line on standard error, hidden unless only standard error is a terminal.
fn status_line(args: &EmulateArgs) -> ProgressBar {
    if args.json || stdout().is_terminal() || !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed} {msg}").expect("it is well-formed");
    ProgressBar::new_spinner().with_style(style)
}

/// Prints the results, and writes them to the output directory.
fn write_output(
    args: &EmulateArgs,
    scenario: &Scenario,
    document: &EmulationDocument,
    staging: Option<Staging>,
) -> Result<(), Failure> {
    let json = json(document);
    if let Some(mut staging) = staging {
        staging.write_text("scenario.toml", &scenario.show())?;
        staging.write_text("emulation.json", &json)?;
        staging.replace_previous()?;
    }
    if args.json {
        write!(anstream::stdout().lock(), "{json}")?;
    } else {
        // Standard output belongs to the command.
        write!(anstream::stderr().lock(), "{document}")?;
    }
    Ok(())
}
