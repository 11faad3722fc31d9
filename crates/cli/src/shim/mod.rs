//! `driftway shim`

pub mod args;
#[cfg(test)]
mod dist_files;
mod document;
mod log;
mod namespace;
mod notify;
mod serve;
mod socket_path;
mod status;
mod stop;
mod watchdog;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::thread;

use driftway_host::{
    DedicatedUser, Heartbeat, ShimDaemon, Watchdog, doubts, drop_privileges, missing_capability,
    raise_priority,
};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use tracing::{info, warn};

use crate::failure::Failure;
use args::{ShimArgs, ShimCommand, StartArgs};
use namespace::NamespaceMounts;
use notify::ServiceManager;

/// What asks a program to end.
const TERMINATION_SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// What a terminal has to stop a program.
const STOP_SIGNALS: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// Begins, looks at, or ends the shim of this network namespace.
///
/// # Errors
/// What is wrong with the input or the machine.
pub fn shim(args: &ShimArgs) -> Result<(), Failure> {
    match &args.command {
        None => start(&args.start),
        Some(ShimCommand::Status(args)) => status::status(args),
        Some(ShimCommand::Stop(args)) => stop::stop(args.socket.as_deref()),
        Some(ShimCommand::Watchdog(args)) => watchdog::watch(args),
    }
}

/// Works until it is asked to end.
fn start(args: &StartArgs) -> Result<(), Failure> {
    // Dropped last: whoever does not read it waits for no packet.
    let mut log = log::init_log(args.log);
    let shim = args.shim()?;
    match missing_capability() {
        Ok(None) => {}
        Ok(Some(capability)) => {
            return Err(Failure::Input(format!("this process lacks {capability}: run it as root")));
        }
        Err(error) => return Err(failed("read capabilities", &error)),
    }
    for doubt in startup_warnings() {
        warn!("{doubt}");
    }
    raise_priority().map_err(|e| failed("take precedence", &e))?;
    // Before the first thread: all have these signals blocked then, and only we take them.
    let [end, pause] = [TERMINATION_SIGNALS, STOP_SIGNALS].map(SigSet::from_iter);
    let termination = end
        .thread_block()
        .and_then(|()| pause.thread_block())
        .and_then(|()| SignalFd::with_flags(&end, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|e| failed("take signals", &e))?;

    let path = socket_path::listen_path(args.socket.as_deref())
        .map_err(|e| failed("name a socket", &e))?;
    let manager = ServiceManager::find();
    let names = NamespaceMounts::find().map_err(|e| failed("look for the namespace's name", &e))?;
    let user = DedicatedUser::choose().map_err(|e| failed("choose a user", &e))?;
    let mut field = ShimDaemon::start_with_shim(&args.interface, shim)
        .map_err(start_failure("take the kernel's packets"))?;
    let listener = socket_path::listen(&path).map_err(|e| listen_failure(&path, &e))?;
    let watchdog = watchdog::start(user);
    drop_privileges(user).map_err(|e| failed("give up privileges", &e))?;

    // Threads that have as few privileges as this one.
    let thread = |error| failed("start a thread", &error);
    log.start().map_err(thread)?;
    let heart = watchdog.map(Watchdog::supervise).transpose().map_err(thread)?;
    let asker = field.status_handle();
    spawn("answers", move || serve::serve(&listener, &asker)).map_err(thread)?;
    spawn("pauses", move || warn_on_stop_signals(&pause)).map_err(thread)?;
    if let Some(names) = names {
        spawn("name", move || terminate_with_namespace(names)).map_err(thread)?;
    }

    for name in &args.interface {
        if !std::path::Path::new("/sys/class/net").join(name).exists() {
            warn!(interface = %name, "there is none by this name now");
        }
    }
    let interfaces = match args.interface.is_empty() {
        true => "all".to_owned(),
        false => args.interface.join(" "),
    };
    info!(%interfaces, aid = %args.aid, pid = std::process::id(), "at work");
    manager.notify("READY=1");
    field.on_heartbeat(move || {
        heart.iter().for_each(Heartbeat::beat);
        manager.notify("WATCHDOG=1");
    });
    let done = field.run(termination.as_fd());
    // Whoever has become another user may not, and leaves a file that the next one replaces.
    let _ = socket_path::remove(&path);
    done.map_err(|e| failed("go on; every connection goes on as plain TCP", &e))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Says, to whoever presses Ctrl-Z, what to do instead: packets would wait for one that is stopped.
fn warn_on_stop_signals(signals: &SigSet) {
    while let Ok(signal) = signals.wait() {
        warn!(
            %signal,
            "not stopped, because every connection would be; Ctrl-C or `driftway shim stop` end it, \
             and `driftway shim &` starts it in the background"
        );
    }
}

/// Ends this process as soon as its namespace has lost its name.
fn terminate_with_namespace(names: NamespaceMounts) {
    match names.wait_until_unmounted() {
        Ok(()) => {
            info!("this network namespace was deleted");
            let _ = kill(Pid::this(), Signal::SIGTERM);
        }
        Err(error) => warn!(%error, "whether this namespace is deleted is not known"),
    }
}

fn listen_failure(path: &std::path::Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::Input(format!(
            "can't listen for questions at {path}: {error}; --socket PATH names another place, for \
             `driftway shim status` and `stop` as well"
        )),
        _ => Failure::Failed(format!("can't listen for questions at {path}: {error}")),
    }
}

/// What it means if what is needed is somebody else's.
fn start_failure(doing: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        ErrorKind::AddrInUse => Failure::Input(
            "a shim is at work in this network namespace already: see `driftway shim status`; \
             `driftway shim stop` ends it"
                .to_owned(),
        ),
        _ => failed(doing, &error),
    }
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("can't {doing}: {error}"))
}
