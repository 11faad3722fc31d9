//! `driftway shim`

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

/// What asks a program to end.
const END: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// What a terminal has to stop a program.
const PAUSE: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

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
    come_first().map_err(|e| failed("take precedence", &e))?;
    // Before the first thread: all have these signals blocked then, and only we take them.
    let [end, pause] = [END, PAUSE].map(SigSet::from_iter);
    let termination = end
        .thread_block()
        .and_then(|()| pause.thread_block())
        .and_then(|()| SignalFd::with_flags(&end, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|e| failed("take signals", &e))?;

    let path = place::to_listen(args.socket.as_deref()).map_err(|e| failed("name a socket", &e))?;
    let manager = ServiceManager::find();
    let names = Names::find().map_err(|e| failed("look for the namespace's name", &e))?;
    let user = OwnUser::choose().map_err(|e| failed("choose a user", &e))?;
    let mut field =
        Field::start_with(&args.interface, shim).map_err(in_use("take the kernel's packets"))?;
    let listener = place::listen(&path).map_err(|e| cannot_listen(&path, &e))?;
    let watchdog = watchdog::start(user);
    keep_what_is_needed(user).map_err(|e| failed("give up privileges", &e))?;

    // Threads that have as few privileges as this one.
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
        heart.iter().for_each(Heart::beat);
        manager.notify("WATCHDOG=1");
    });
    let done = field.run(termination.as_fd());
    // Whoever has become another user may not, and leaves a file that the next one replaces.
    let _ = place::remove(&path);
    done.map_err(|e| failed("go on; every connection goes on as plain TCP", &e))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Says, to whoever presses Ctrl-Z, what to do instead: packets would wait for one that is stopped.
fn refuse_to_pause(signals: &SigSet) {
    while let Ok(signal) = signals.wait() {
        warn!(
            %signal,
            "not stopped, because every connection would be; Ctrl-C or `driftway shim stop` end it, \
             and `driftway shim &` starts it in the background"
        );
    }
}

/// Ends this process as soon as its namespace has lost its name.
fn end_with(names: Names) {
    match names.wait_until_gone() {
        Ok(()) => {
            info!("this network namespace was deleted");
            let _ = kill(Pid::this(), Signal::SIGTERM);
        }
        Err(error) => warn!(%error, "whether this namespace is deleted is not known"),
    }
}

fn cannot_listen(path: &std::path::Path, error: &io::Error) -> Failure {
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
fn in_use(doing: &'static str) -> impl Fn(io::Error) -> Failure {
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
