//! `driftway shim`

pub mod args;
mod document;
#[cfg(test)]
mod installed;
mod serve;
mod status;

use std::io::{self, ErrorKind, IsTerminal, stderr};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use host::{Field, keep_what_is_needed, lacks};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use tracing::{info, level_filters::LevelFilter, warn};

use crate::failure::Failure;
use args::{Level, ShimArgs, ShimCommand, StartArgs};

/// How long one that is asked to end may take, in steps.
const STEPS: u32 = 300;
const STEP: Duration = Duration::from_millis(10);

/// Begins, looks at, or ends the shim of this network namespace.
///
/// # Errors
/// What is wrong with the input or the machine.
pub fn shim(args: &ShimArgs) -> Result<(), Failure> {
    match &args.command {
        None => start(&args.start),
        Some(ShimCommand::Status(args)) => status::status(args),
        Some(ShimCommand::Stop) => stop(),
    }
}

/// Works until it is asked to end.
fn start(args: &StartArgs) -> Result<(), Failure> {
    log(args.log);
    let shim = args.shim()?;
    match lacks() {
        Ok(None) => {}
        Ok(Some(capability)) => {
            return Err(Failure::Input(format!("this process lacks {capability}: run it as root")));
        }
        Err(error) => return Err(failed("read capabilities", &error)),
    }
    // Before the first thread: all have these signals blocked then, and only we take them.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    let asked = signals
        .thread_block()
        .and_then(|()| {
            SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        })
        .map_err(|e| failed("take signals", &e))?;

    let address = serve::address().map_err(|e| failed("name a socket", &e))?;
    let listener = UnixListener::bind_addr(&address).map_err(in_use("listen for questions"))?;
    let mut field =
        Field::start_with(&args.interface, shim).map_err(in_use("take the kernel's packets"))?;
    keep_what_is_needed().map_err(|e| failed("give up privileges", &e))?;
    let asker = field.asker();
    std::thread::Builder::new()
        .name("answers".into())
        .spawn(move || serve::serve(&listener, &asker))
        .map_err(|e| failed("start a thread", &e))?;

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
    field.run(asked.as_fd()).map_err(|e| failed("go on; every connection goes on as plain TCP", &e))
}

/// Ends the one that is at work, and removes what one has left.
fn stop() -> Result<(), Failure> {
    let address = serve::address().map_err(|e| failed("name a socket", &e))?;
    let connect = || UnixStream::connect_addr(&address);
    match connect() {
        Ok(stream) => {
            let peer = getsockopt(&stream, PeerCredentials);
            let pid = peer.map_err(|e| failed("ask who it is", &e))?.pid();
            drop(stream);
            if pid <= 0 {
                return Err(Failure::Failed("it is a process that is not seen from here".into()));
            }
            kill(Pid::from_raw(pid), Signal::SIGTERM)
                .map_err(|e| Failure::Failed(format!("can't end process {pid}: {e}")))?;
            let gone = (0..STEPS).any(|_| {
                std::thread::sleep(STEP);
                connect().is_err()
            });
            if !gone {
                return Err(Failure::Failed(format!("process {pid} does not end")));
            }
            anstream::eprintln!("stopped: process {pid}");
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            anstream::eprintln!("no shim is at work in this network namespace");
        }
        Err(error) => return Err(failed("look for it", &error)),
    }
    match Field::undo() {
        Ok(true) => anstream::eprintln!("removed what one had left"),
        Ok(false) => {}
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(Failure::Input(
                "this process lacks CAP_NET_ADMIN: run it as root".to_owned(),
            ));
        }
        Err(error) => return Err(failed("remove what one has left", &error)),
    }
    Ok(())
}

/// Structured, on standard error.
fn log(level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let colour =
        stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(stderr)
        .with_ansi(colour)
        .with_target(false)
        .init();
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
