//! `driftway emulate`

mod programs;
mod told;
mod wait;

use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use driftway_host::{Emulation, End, Guardian, Running, available, this_program};
use driftway_scenario::{Network, Path, Scenario, Size};
use indicatif::{ProgressBar, ProgressStyle};
use nix::sys::signal::Signal;

use crate::args::{EmulateArgs, GuardianArgs};
use crate::check::load;
use crate::failure::Failure;
use crate::files::Destination;
use programs::{Program, Programs};
use told::Document;
use wait::{Signals, Woken};

/// The devices' MTU where no flow says how large segments are (bytes).
const MTU: u64 = 1500;
/// IP's and TCP's headers (bytes).
const HEADERS: u64 = 40;
/// How long a command that was sent a signal may go on, in ticks of [`Signals::wait`].
const PATIENCE: u32 = 10;
/// What an interface can have at least, and at most (bytes).
const POSSIBLE: (u64, u64) = (68, 65_535);

/// Runs a command over a scenario's path, and tells how that went. Gives the command's exit status.
///
/// # Errors
/// What is wrong with the scenario, the command or the machine.
pub fn emulate(args: &EmulateArgs) -> Result<ExitCode, Failure> {
    let scenario = load(&args.scenario)?;
    let Network::Path(path) = &scenario.network else {
        return Err(Failure::Input(format!(
            "{}: emulate wants `network.kind = \"path\"`: radios can't be emulated yet",
            args.scenario.scenario.display()
        )));
    };
    if let Some(dir) = args.out.as_deref().filter(|dir| dir.exists() && !dir.is_dir()) {
        let dir = dir.display();
        return Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")));
    }
    available().map_err(|missing| Failure::Input(missing.to_string()))?;
    let destination = args.out.as_deref().map(Destination::open).transpose()?;
    match over(args, &scenario, path) {
        Ok(document) => {
            keep(args, &scenario, &document, destination.as_ref())?;
            Ok(ExitCode::from(document.exit_status))
        }
        Err(failure) => {
            if let Some(destination) = destination {
                destination.abandon();
            }
            Err(failure)
        }
    }
}

/// The command over the path, from the first namespace to the last process.
fn over(args: &EmulateArgs, scenario: &Scenario, path: &Path) -> Result<Document, Failure> {
    // Before the first thread: all have these signals blocked then, and only we take them.
    let mut signals = Signals::block().map_err(|e| failed("take signals", &e))?;
    let emulation = Emulation::new(path, scenario.duration, args.seed, mtu(scenario))
        .map_err(|e| failed("make the namespaces", &e))?;
    let addresses = End::BOTH.map(|end| emulation.address(end));
    let guardian = Guardian::start(
        this_program().arg("guardian"),
        &End::BOTH.map(|end| emulation.namespace(end)),
    );
    // Dropped last, when there is nothing left to be ended.
    let _guardian = guardian.map_err(|e| failed("start what clears up", &e))?;
    let mut programs = Programs::default();
    if let Some(line) = &args.far {
        let namespace = emulation.namespace(End::Far);
        let far = Program::far(line, addresses).start(namespace);
        let far = far.map_err(|e| Failure::Input(format!("--far: can't start sh: {e}")))?;
        programs::wait_for_listener(namespace, programs.far.insert(far))
            .map_err(|e| failed("look at the far end", &e))?;
    }

    let running = emulation.start().map_err(|e| failed("start the path", &e))?;
    let near = Program::near(&args.command, addresses, args.json);
    match near.start(running.namespace(End::Near)) {
        Ok(near) => programs.near = Some(near),
        Err(error) => {
            programs.end(&running)?;
            let program = args.command[0].to_string_lossy();
            return Err(Failure::Input(format!("can't start {program}: {error}")));
        }
    }
    let waited = until_it_ends(args, &mut signals, &running, &mut programs);
    // Whatever happened, nothing stays behind.
    let ended = programs.end(&running);
    let status = waited?;
    let far_status = ended?;
    let report = running.stop().map_err(|e| failed("carry packets", &e))?;
    Ok(Document::new(args, scenario, addresses, status, far_status, &report))
}

/// Is what clears up after an emulation, whatever ends that.
///
/// # Errors
/// What can't be ended.
pub fn guard(args: &GuardianArgs) -> Result<(), Failure> {
    driftway_host::guard(&args.namespaces, programs::PATIENCE)
        .map_err(|e| failed("end what runs in the namespaces", &e))
}

/// Until the command has ended; gives its exit status.
fn until_it_ends(
    args: &EmulateArgs,
    signals: &mut Signals,
    running: &Running,
    programs: &mut Programs,
) -> Result<u8, Failure> {
    let line = status_line(args);
    let mut signalled: Option<(Signal, u32)> = None;
    let status = loop {
        if let Some(status) = programs.near_status()? {
            break status;
        }
        if running.has_failed() {
            // It says why when it is stopped.
            break 1;
        }
        match (signals.wait().map_err(|e| failed("wait", &e))?, &mut signalled) {
            (Woken::Signal(signal), _) => {
                programs.interrupt(signal)?;
                signalled = Some((signal, 0));
            }
            (Woken::Time, Some((signal, PATIENCE))) => break 128 + *signal as u8,
            (Woken::Time, Some((_, ticks))) => *ticks += 1,
            (Woken::Child | Woken::Time, _) => {}
        }
        line.set_message(format!("{} packets", running.delivered()));
    };
    line.finish_and_clear();
    Ok(status)
}

/// Only where a person looks and no program writes.
fn status_line(args: &EmulateArgs) -> ProgressBar {
    if args.json || stdout().is_terminal() || !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed} {msg}").expect("it is well-formed");
    ProgressBar::new_spinner().with_style(style)
}

/// Tells, and puts into its place, what happened.
fn keep(
    args: &EmulateArgs,
    scenario: &Scenario,
    document: &Document,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let json = document.json();
    if let Some(destination) = destination {
        let mut staging = destination.stage()?;
        staging.write_text("scenario.toml", &scenario.show())?;
        staging.write_text("emulation.json", &json)?;
        staging.replace()?;
    }
    if args.json {
        write!(anstream::stdout().lock(), "{json}")?;
    } else {
        // Standard output is the command's.
        write!(anstream::stderr().lock(), "{document}")?;
    }
    Ok(())
}

/// So large that the flows' segments fit, if they have no TCP options.
pub fn mtu(scenario: &Scenario) -> u16 {
    let segments = scenario.flows.iter().filter_map(|flow| flow.tcp.as_ref());
    let largest = segments
        .map(|tcp| {
            let Size(mss) = tcp.mss;
            mss + HEADERS
        })
        .max();
    largest.unwrap_or(MTU).clamp(POSSIBLE.0, POSSIBLE.1) as u16
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("can't {doing}: {error}"))
}
