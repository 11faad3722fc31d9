//! `driftway ctl`: looks into a running emulation, and changes it.

pub mod args;
pub mod protocol;
mod text;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use driftway_linux::Namespace;
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::exit_status::exit_status;
use crate::failure::{Failure, failed};
use crate::output::json;
use args::{CtlArgs, CtlCommand};
use protocol::{Answer, NodeEntry, Request, Status, ask, emulations};

/// Runs one command.
///
/// # Errors
/// No such emulation, or what it refuses.
pub fn ctl(args: &CtlArgs) -> Result<ExitCode, Failure> {
    if let CtlCommand::List { json: as_json } = args.command {
        return list(as_json).map(|()| ExitCode::SUCCESS);
    }
    let pid = choose(args.emulation)?;
    let request = request(&args.command);
    let answer = ask(pid, &request).map_err(|e| unreachable_emulation(pid, &e))?;
    match (answer, &args.command) {
        (Answer::Error(why), _) => Err(Failure::Input(why)),
        (Answer::Node(node), CtlCommand::Exec { command, .. }) => exec(&node, command),
        (Answer::Status(status), CtlCommand::Status { json: as_json }) => {
            let text = if *as_json { json(&status) } else { text::status(&status) };
            write!(anstream::stdout().lock(), "{text}")?;
            Ok(ExitCode::SUCCESS)
        }
        (Answer::Done(time_s), _) => {
            writeln!(anstream::stdout().lock(), "done at {time_s:.3} s of the scenario")?;
            Ok(ExitCode::SUCCESS)
        }
        (Answer::Node(_) | Answer::Status(_), _) => {
            Err(Failure::Failed("the emulation has answered another request".into()))
        }
    }
}

fn request(command: &CtlCommand) -> Request {
    match command {
        CtlCommand::List { .. } | CtlCommand::Status { .. } => Request::Status,
        CtlCommand::Exec { node, command } => Request::Exec {
            node: node.clone(),
            words: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        },
        CtlCommand::Set { keys } => Request::Set { keys: keys.clone() },
        CtlCommand::Down { what, which } => {
            Request::Toggle { what: *what, which: which.clone(), is_up: false }
        }
        CtlCommand::Up { what, which } => {
            Request::Toggle { what: *what, which: which.clone(), is_up: true }
        }
        CtlCommand::Move { node, x, y } => Request::Move { node: node.clone(), x: *x, y: *y },
    }
}

/// Chooses the emulation: that of an option, or the only one.
fn choose(wanted: Option<u32>) -> Result<u32, Failure> {
    match (wanted, &running()?[..]) {
        (Some(pid), _) => Ok(pid),
        (None, [pid]) => Ok(*pid),
        (None, []) => Err(Failure::Input(
            "no emulation is running: start one with driftway emulate, in this network namespace"
                .into(),
        )),
        (None, several) => {
            let pids: Vec<String> = several.iter().map(u32::to_string).collect();
            Err(Failure::Input(format!(
                "several emulations are running ({}): choose one with --emulation",
                pids.join(", ")
            )))
        }
    }
}

fn running() -> Result<Vec<u32>, Failure> {
    let sockets = fs::read_to_string("/proc/net/unix");
    Ok(emulations(&sockets.map_err(|e| failed("read /proc/net/unix", &e))?))
}

fn unreachable_emulation(pid: u32, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            Failure::Input(format!("--emulation {pid}: there is no such emulation"))
        }
        _ => Failure::Failed(format!("emulation {pid} does not answer: {error}")),
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    let mut found: Vec<Status> = Vec::new();
    for pid in running()? {
        // One that has ended meanwhile is not listed.
        if let Ok(Answer::Status(status)) = ask(pid, &Request::Status) {
            found.push(*status);
        }
    }
    let text = if as_json { json(&found) } else { found.iter().map(text::line).collect() };
    write!(anstream::stdout().lock(), "{text}")?;
    Ok(())
}

/// Runs a command in a node, with the terminal of this process.
fn exec(node: &NodeEntry, words: &[std::ffi::OsString]) -> Result<ExitCode, Failure> {
    let namespace = match node.init {
        Some(init) => Namespace::open_isolated(init),
        None => Namespace::open(Path::new(&node.network)),
    };
    let namespace = namespace.map_err(|e| failed("enter the node", &e))?;
    let (program, arguments) =
        words.split_first().ok_or_else(|| Failure::Input("no COMMAND".into()))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(node.environment.iter().cloned());
    // The terminal sends them to the command as well, which decides.
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(|e| failed("handle signals", &e))?;
    }
    let child = namespace.spawn(&mut command);
    let mut child = child
        .map_err(|e| Failure::Input(format!("cannot start {}: {e}", program.to_string_lossy())))?;
    let status = child.wait().map_err(|e| failed("wait for the command", &e))?;
    Ok(ExitCode::from(exit_status(status)))
}
