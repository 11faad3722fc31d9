//! `driftway emulate`: runs programs over a scenario's network in real time.

pub mod document;
mod plan;
mod programs;
mod signals;

use std::ffi::OsStr;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use driftway_linux::{
    Emulation, Namespace, NamespaceReaper, RunningEmulation, check_requirements, current_executable,
};
use driftway_scenario::{Scenario, Size};
use indicatif::{ProgressBar, ProgressStyle};
use nix::sys::signal::Signal;

use crate::args::{EmulateArgs, GuardianArgs};
use crate::check::load_scenario;
use crate::failure::{Failure, failed};
use crate::files::OutputDir;
use crate::output::{check_output, json, with_output};
use document::EmulationDocument;
use plan::{BackgroundProgram, Plan};
use programs::{Place, Program, Programs};
use signals::{Signals, WakeReason};

/// MTU of the devices if no flow has a segment size (bytes).
const MTU: u64 = 1500;
/// IPv4 and TCP headers without options (bytes).
const TCP_IP_HEADERS: u64 = 40;
/// Time for which a command may continue after a signal, in ticks of [`Signals::wait`].
const SIGNAL_GRACE_TICKS: u32 = 10;
/// Smallest and largest MTU of an interface (bytes).
const MTU_RANGE: (u64, u64) = (68, 65_535);

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
        let document = run_programs(args, &scenario, &plan)?;
        write_output(args, &scenario, &document, destination)?;
        Ok(ExitCode::from(document.exit_status))
    })
}

/// Creates the namespaces, runs the programs over the network, and ends all processes.
fn run_programs(
    args: &EmulateArgs,
    scenario: &Scenario,
    plan: &Plan,
) -> Result<EmulationDocument, Failure> {
    // Before the first thread starts, so that all threads inherit the blocked signals.
    let mut signals = Signals::block_termination().map_err(|e| failed("block signals", &e))?;
    let emulation = Emulation::new(scenario, args.seed, mtu(scenario), &plan.nodes)
        .map_err(|e| failed("make the namespaces", &e))?;
    let addresses = emulation.node_addresses();
    let names = (0..addresses.len() as u32).map(|node| scenario.node_name(node));
    let names: Vec<String> = names.collect();
    let place =
        |node| Place { node, remote: plan.remote_of(node), addresses: &addresses, names: &names };
    let namespaces: Vec<_> = emulation.namespaces().iter().collect();
    let guardian = NamespaceReaper::start(current_executable().arg("guardian"), &namespaces);
    // Dropped last, when no process is left to be terminated.
    let _guardian = guardian.map_err(|e| failed("start the guardian process", &e))?;
    let mut programs = Programs::default();
    for BackgroundProgram { node, line, is_far } in &plan.background {
        let option = if *is_far { "--far".to_owned() } else { format!("--at {node}") };
        let program = Program::background(line, &place(*node));
        let child = program.start(namespace_of(emulation.namespace(*node))?);
        let child = child.map_err(|e| Failure::Input(format!("{option}: cannot start sh: {e}")))?;
        programs.background.push((*node, child));
    }
    programs.wait_for_listeners(&emulation).map_err(|e| failed("inspect the nodes", &e))?;
    // Nothing has run yet that would be lost.
    let early = programs.background_statuses()?;
    if let Some(why) = plan.background.iter().zip(&early).find_map(not_run) {
        return Err(Failure::Input(why));
    }

    let running = emulation.start().map_err(|e| failed("start the network", &e))?;
    let node = plan.main.node;
    let main = Program::main(plan.main.command(), &place(node), args.json);
    match main.start(namespace_of(running.namespace(node))?) {
        Ok(main) => programs.main = Some(main),
        Err(error) => {
            programs.terminate(&running, node)?;
            return Err(Failure::Input(format!("cannot start {}: {error}", plan.main.name())));
        }
    }
    let waited = wait_for_exit(args, &mut signals, &running, &mut programs);
    // In any case no process is left.
    let ended = programs.terminate(&running, node);
    let exit_status = waited?;
    let statuses = ended?;
    let report = running.stop().map_err(|e| failed("forward packets", &e))?;
    if let Some(why) =
        plan.main.line().and_then(|line| line_not_run(&format!("--at {node}"), line, exit_status))
    {
        return Err(Failure::Input(why));
    }
    if let Some(why) = plan.background.iter().zip(&statuses).find_map(not_run) {
        return Err(Failure::Failed(why));
    }
    Ok(EmulationDocument::new(args, scenario, plan, &addresses, exit_status, &statuses, &report))
}

/// Message about a program that the shell could not run, if that is its status.
fn not_run((program, status): (&BackgroundProgram, &Option<u8>)) -> Option<String> {
    let BackgroundProgram { node, line, is_far } = program;
    let option = if *is_far { "--far".to_owned() } else { format!("--at {node}") };
    line_not_run(&option, line, (*status)?)
}

/// The same about the line of an option. The statuses are those of POSIX, of any shell.
fn line_not_run(option: &str, line: &OsStr, status: u8) -> Option<String> {
    let why = match status {
        126 => "the shell cannot execute a program of this line",
        127 => "the shell does not find a program of this line",
        _ => return None,
    };
    let line = line.to_string_lossy();
    Some(format!("{option} '{line}': {why} (status {status}): give its path, or one in PATH"))
}

/// Returns the namespace of a program, which each of its nodes has.
fn namespace_of(namespace: Option<&Namespace>) -> Result<&Namespace, Failure> {
    namespace.ok_or_else(|| Failure::Failed("a bug in driftway: a node has no namespace".into()))
}

/// Runs the guardian: it cleans up after an emulation, however that ends.
///
/// # Errors
/// A process that cannot be terminated.
pub fn guard(args: &GuardianArgs) -> Result<(), Failure> {
    driftway_linux::reap_namespaces(&args.namespaces, programs::TERMINATION_GRACE)
        .map_err(|e| failed("end the processes in the namespaces", &e))
}

/// Waits for the command to exit, forwarding signals to it; returns its exit status.
fn wait_for_exit(
    args: &EmulateArgs,
    signals: &mut Signals,
    running: &RunningEmulation,
    programs: &mut Programs,
) -> Result<u8, Failure> {
    let line = status_line(args);
    let mut signalled: Option<(Signal, u32)> = None;
    let status = loop {
        if let Some(status) = programs.main_status()? {
            break status;
        }
        if running.has_failed() {
            // Stopping it returns the reason.
            break 1;
        }
        match (signals.wait().map_err(|e| failed("wait", &e))?, &mut signalled) {
            (WakeReason::Signal(signal), _) => {
                programs.forward_signal(signal)?;
                signalled = Some((signal, 0));
            }
            (WakeReason::Timeout, Some((signal, SIGNAL_GRACE_TICKS))) => break 128 + *signal as u8,
            (WakeReason::Timeout, Some((_, ticks))) => *ticks += 1,
            (WakeReason::ChildExited | WakeReason::Timeout, _) => {}
        }
        line.set_message(format!("{} packets", running.delivered()));
    };
    line.finish_and_clear();
    Ok(status)
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
    destination: Option<&OutputDir>,
) -> Result<(), Failure> {
    let json = json(document);
    if let Some(destination) = destination {
        let mut staging = destination.stage()?;
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

/// MTU for the flows' largest segment without TCP options (bytes).
pub fn mtu(scenario: &Scenario) -> u16 {
    let segments = scenario.flows.iter().filter_map(|flow| flow.tcp.as_ref());
    let largest = segments
        .map(|tcp| {
            let Size(mss) = tcp.mss;
            mss + TCP_IP_HEADERS
        })
        .max();
    largest.unwrap_or(MTU).clamp(MTU_RANGE.0, MTU_RANGE.1) as u16
}
