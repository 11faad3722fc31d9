//! `driftway shim`: runs, queries or stops the shim of a network namespace.

pub mod args;
#[cfg(test)]
mod dist_files;
pub mod document;
mod log;
mod namespace;
mod notify;
mod serve;
mod signals;
mod socket_cleaner;
mod socket_path;
mod status;
mod stop;
mod watchdog;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::thread;

use driftway_linux::{
    DedicatedUser, Heartbeat, ShimDaemon, Watchdog, drop_privileges, missing_capability,
    raise_priority, startup_warnings,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracing::{info, warn};

use crate::failure::{Failure, failed};
use args::{ShimArgs, ShimCommand, StartArgs};
use namespace::NamespaceMounts;
use notify::ServiceManager;
use signals::Signals;
use socket_cleaner::SocketCleaner;

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
        Some(ShimCommand::Cleaner(args)) => socket_cleaner::run(args),
    }
}

/// Runs the shim until a termination signal.
fn start(args: &StartArgs) -> Result<(), Failure> {
    // Dropped last, so that a slow reader of the log delays no packet.
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
    raise_priority().map_err(|e| failed("raise the priority", &e))?;
    // Before the first thread starts, so that all threads inherit the blocked signals.
    let Signals { termination, ignored } =
        Signals::block().map_err(|e| failed("block signals", &e))?;

    let path = socket_path::listen_path(args.socket.as_deref())
        .map_err(|e| failed("find the socket's path", &e))?;
    let manager = ServiceManager::find();
    let names = NamespaceMounts::find().map_err(|e| failed("look for the namespace's name", &e))?;
    let user = DedicatedUser::choose().map_err(|e| failed("choose a user", &e))?;
    let mut field = ShimDaemon::start_with_shim(&args.interface, shim)
        .map_err(start_failure("intercept packets"))?;
    let listener = socket_path::listen(&path).map_err(|e| listen_failure(&path, &e))?;
    let watchdog = watchdog::start(user);
    let cleaner = user.and_then(|_| SocketCleaner::start(&path));
    drop_privileges(user).map_err(|e| failed("give up privileges", &e))?;

    // Threads started from here on have this thread's reduced privileges.
    let thread = |error| failed("start a thread", &error);
    log.start().map_err(thread)?;
    let heart = watchdog.map(Watchdog::supervise).transpose().map_err(thread)?;
    let asker = field.status_handle();
    spawn("answers", move || serve::serve(&listener, &asker)).map_err(thread)?;
    spawn("signals", move || signals::report_ignored(&ignored)).map_err(thread)?;
    if let Some(names) = names {
        spawn("name", move || terminate_with_namespace(names)).map_err(thread)?;
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
    let beating = heart.clone();
    field.on_heartbeat(move || {
        beating.iter().for_each(Heartbeat::beat);
        manager.notify("WATCHDOG=1");
    });
    let done = field.run(termination.as_fd());
    heart.iter().for_each(Heartbeat::finish);
    // After a change of the user this process may not.
    match cleaner {
        Some(cleaner) => cleaner.finish(),
        None => drop(socket_path::remove(&path)),
    }
    done.map_err(|e| failed("continue; every connection continues as plain TCP", &e))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Terminates this process when its network namespace is deleted.
fn terminate_with_namespace(names: NamespaceMounts) {
    match names.wait_until_unmounted() {
        Ok(()) => {
            info!("this network namespace was deleted");
            let _ = kill(Pid::this(), Signal::SIGTERM);
        }
        Err(error) => warn!(%error, "cannot watch for the deletion of this namespace"),
    }
}

fn listen_failure(path: &std::path::Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::Input(format!(
            "cannot listen at {path}: {error}; set another path with --socket PATH, also for \
             `driftway shim status` and `stop`"
        )),
        _ => Failure::Failed(format!("cannot listen at {path}: {error}")),
    }
}

/// Failure to start, with a message if another shim is running.
fn start_failure(doing: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        ErrorKind::AddrInUse => Failure::Input(
            "a shim is already running in this network namespace: see `driftway shim status`; \
             `driftway shim stop` stops it"
                .to_owned(),
        ),
        _ => failed(doing, &error),
    }
}
