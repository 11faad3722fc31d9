//! `driftway shim`: runs, queries or stops the shim of a network namespace.

pub mod args;
mod deleted;
mod document;
#[cfg(test)]
mod installed;
mod log;
mod notify;
mod place;
mod serve;
mod status;
mod stop;
mod watchdog;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::thread;

use driftway_host::{
    Field, Heart, OwnUser, Watchdog, come_first, doubts, keep_what_is_needed, lacks,
};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use tracing::{info, warn};

use crate::failure::Failure;
use args::{ShimArgs, ShimCommand, StartArgs};
use deleted::Names;
use notify::ServiceManager;

/// Signals that terminate the shim.
const END: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// Signals by which a terminal stops a program; the shim ignores them.
const PAUSE: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// Runs, queries or stops the shim of this network namespace.
///
/// # Errors
/// Invalid input, or a machine that lacks a requirement.
pub fn shim(args: &ShimArgs) -> Result<(), Failure> {
    match &args.command {
        None => start(&args.start),
        Some(ShimCommand::Status(args)) => status::status(args),
        Some(ShimCommand::Stop(args)) => stop::stop(args.socket.as_deref()),
        Some(ShimCommand::Watchdog(args)) => watchdog::watch(args),
    }
}

/// Runs the shim until a termination signal.
fn start(args: &StartArgs) -> Result<(), Failure> {
    // Dropped last, so that a slow reader of the log delays no packet.
    let mut log = log::log(args.log);
    let shim = args.shim()?;
    match lacks() {
        Ok(None) => {}
        Ok(Some(capability)) => {
            return Err(Failure::Input(format!("this process lacks {capability}: run it as root")));
        }
        Err(error) => return Err(failed("read capabilities", &error)),
    }
    for doubt in doubts() {
        warn!("{doubt}");
    }
    come_first().map_err(|e| failed("raise the priority", &e))?;
    // Before the first thread starts, so that all threads inherit the blocked signals.
    let [end, pause] = [END, PAUSE].map(SigSet::from_iter);
    let asked = end
        .thread_block()
        .and_then(|()| pause.thread_block())
        .and_then(|()| SignalFd::with_flags(&end, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|e| failed("block signals", &e))?;

    let path = place::to_listen(args.socket.as_deref())
        .map_err(|e| failed("find the socket's path", &e))?;
    let manager = ServiceManager::find();
    let names = Names::find().map_err(|e| failed("look for the namespace's name", &e))?;
    let user = OwnUser::choose().map_err(|e| failed("choose a user", &e))?;
    let mut field =
        Field::start_with(&args.interface, shim).map_err(in_use("intercept packets"))?;
    let listener = place::listen(&path).map_err(|e| cannot_listen(&path, &e))?;
    let watchdog = watchdog::start(user);
    keep_what_is_needed(user).map_err(|e| failed("give up privileges", &e))?;

    // Threads started from here on have this thread's reduced privileges.
    let thread = |error| failed("start a thread", &error);
    log.start().map_err(thread)?;
    let heart = watchdog.map(Watchdog::keep).transpose().map_err(thread)?;
    let asker = field.asker();
    spawn("answers", move || serve::serve(&listener, &asker)).map_err(thread)?;
    spawn("pauses", move || refuse_to_pause(&pause)).map_err(thread)?;
    if let Some(names) = names {
        spawn("name", move || end_with(names)).map_err(thread)?;
    }

    for name in &args.interface {
        if !std::path::Path::new("/sys/class/net").join(name).exists() {
            warn!(interface = %name, "no such interface at present");
        }
    }
    let interfaces = match args.interface.is_empty() {
        true => "all".to_owned(),
        false => args.interface.join(" "),
    };
    info!(%interfaces, aid = %args.aid, pid = std::process::id(), "running");
    manager.notify("READY=1");
    field.on_heartbeat(move || {
        heart.iter().for_each(Heart::beat);
        manager.notify("WATCHDOG=1");
    });
    let done = field.run(asked.as_fd());
    // After a change of the user this may fail; the next shim replaces the file.
    let _ = place::remove(&path);
    done.map_err(|e| failed("continue; every connection continues as plain TCP", &e))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Warns on a stop signal such as Ctrl-Z: the packets of all connections would wait for a stopped shim.
fn refuse_to_pause(signals: &SigSet) {
    while let Ok(signal) = signals.wait() {
        warn!(
            %signal,
            "ignored, because every connection would stop too; Ctrl-C or `driftway shim stop` end \
             the shim, and `driftway shim &` starts it in the background"
        );
    }
}

/// Terminates this process when its network namespace is deleted.
fn end_with(names: Names) {
    match names.wait_until_gone() {
        Ok(()) => {
            info!("this network namespace was deleted");
            let _ = kill(Pid::this(), Signal::SIGTERM);
        }
        Err(error) => warn!(%error, "can't watch for the deletion of this namespace"),
    }
}

fn cannot_listen(path: &std::path::Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::Input(format!(
            "can't listen at {path}: {error}; set another path with --socket PATH, also for \
             `driftway shim status` and `stop`"
        )),
        _ => Failure::Failed(format!("can't listen at {path}: {error}")),
    }
}

/// Failure to start, with a message if another shim is running.
fn in_use(doing: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        ErrorKind::AddrInUse => Failure::Input(
            "a shim is already running in this network namespace: see `driftway shim status`; \
             `driftway shim stop` stops it"
                .to_owned(),
        ),
        _ => failed(doing, &error),
    }
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("can't {doing}: {error}"))
}
