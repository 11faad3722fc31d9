//! A helper process that kills this one if it hangs.
//!
//! Packets that the kernel no longer intercepts (`shim_daemon/dead_man_switch.rs`) pass, but those
//! in the queue of a hanging process stay there, and Linux retransmits no segment whose first copy
//! is still on this host. Therefore the queue must be removed, and with it its owner.

use std::fs::File;
use std::io::{self, ErrorKind, Write, stderr, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{getppid, read};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tracing::{info, warn};

use crate::helper_process;
use crate::shim_daemon::{DedicatedUser, drop_all_privileges, raise_priority};

/// Time without a heartbeat after which the process is killed, in steps of so many milliseconds.
/// Steps are counted instead of measured, so that a suspended host does not count as a hang.
const SILENCE_MAX_MS: u32 = 700;
const STEP_MS: u16 = 100;
/// The same if it did not have a processor: then it does not hang, and will work if it gets one,
/// while packets that are sent meanwhile pass after a second. But those that it has wait for it.
const STARVED_MAX_MS: u32 = 5000;

/// Delay before a new watchdog is started; it doubles each time, up to a minute.
const RESTART_DELAY: Duration = Duration::from_secs(1);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(60);

/// The daemon's handle.
#[derive(Debug)]
pub struct Watchdog {
    command: Command,
    child: Child,
    socket: UnixStream,
}

impl Watchdog {
    /// Starts `command`, which has to call [`run_watchdog`]. From now on this process is killed if
    /// there is no [`beat`](Heartbeat::beat) for 0.7 s, not counting the time for which it had to wait
    /// for a processor, or for five seconds.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (child, socket) = spawn_watchdog(&mut command)?;
        Ok(Self { command, child, socket })
    }

    /// Returns the sender of heartbeats. A thread of its own, with the privileges of the calling
    /// one, starts another watchdog whenever one has ended.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn supervise(self) -> io::Result<Heartbeat> {
        let Self { command, child, socket } = self;
        let heart = Heartbeat(Arc::new(Mutex::new(Some(socket))), Arc::default());
        let watched = heart.clone();
        let work = move || restart_loop(command, child, &watched);
        thread::Builder::new().name("watchdog".into()).spawn(work)?;
        Ok(heart)
    }
}

/// Sender of heartbeats.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Mutex<Option<UnixStream>>>, Arc<AtomicBool>);

impl Heartbeat {
    /// Sends a heartbeat to the present watchdog. Never blocks.
    pub fn beat(&self) {
        // Locked only while the watchdog is replaced.
        let Ok(mut pair) = self.0.try_lock() else { return };
        let said = pair.as_mut().map(|pair| pair.write(&[0]));
        // A watchdog whose socket is full hangs itself, which does no harm.
        if said.is_some_and(|said| said.is_err_and(|e| e.kind() != ErrorKind::WouldBlock)) {
            *pair = None;
        }
    }

    /// Ends the watchdog: this process intercepts no packet any more, and its end may take as long as
    /// the kernel needs on a busy machine to remove what belongs to it.
    pub fn finish(&self) {
        self.1.store(true, Ordering::Relaxed);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn attach(&self, pair: UnixStream) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
    }
}

fn spawn_watchdog(command: &mut Command) -> io::Result<(Child, UnixStream)> {
    let (child, mut pair) = helper_process::spawn(command)?;
    pair.set_nonblocking(true)?;
    pair.write_all(&[0])?;
    Ok((child, pair))
}

fn restart_loop(mut command: Command, mut child: Child, heart: &Heartbeat) {
    let mut rest = RESTART_DELAY;
    loop {
        let status = child.wait().map(|status| status.to_string());
        if heart.1.load(Ordering::Relaxed) {
            return;
        }
        warn!(
            status = status.ok(),
            "the watchdog has ended; until there is another one, if this process hangs, new packets \
             pass, and those that it has wait"
        );
        loop {
            thread::sleep(rest);
            rest = (rest * 2).min(RESTART_DELAY_MAX);
            match spawn_watchdog(&mut command) {
                Ok((started, pair)) => {
                    info!("there is another watchdog");
                    heart.attach(pair);
                    child = started;
                    break;
                }
                Err(error) => warn!(%error, "there is no other watchdog"),
            }
        }
    }
}

/// Runs as the watchdog of the process that started this one, as this user: kills it if its
/// heartbeats stop, and returns when it has ended. Returns whether it was killed.
///
/// # Errors
/// Any error of the kernel.
pub fn run_watchdog(user: Option<DedicatedUser>) -> io::Result<bool> {
    helper_process::detach()?;
    let parent = getppid();
    let number = Pid::from_raw(parent.as_raw()).ok_or(ErrorKind::NotFound)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    if getppid() != parent {
        // The process has ended, and its number may belong to another one by now.
        return Ok(false);
    }
    // Opened with the privileges that this may need.
    let mut processor = ProcessorTime::open(parent.as_raw());
    // It has a session of its own by now.
    raise_priority()?;
    drop_all_privileges(user)?;
    let mut bytes = [0; 64];
    let mut silence = Silence::default();
    while !silence.is_too_long() {
        if !is_ready(&stdin(), PollFlags::POLLIN, STEP_MS)? {
            silence.add(processor.waited_ms());
        } else if read(stdin(), &mut bytes)? == 0 {
            return Ok(false);
        } else {
            silence = Silence::default();
            processor.waited_ms();
        }
    }
    pidfd_send_signal(&process, Signal::KILL)?;
    // The reader of that may hang, too.
    if is_ready(&stderr(), PollFlags::POLLOUT, 0)? {
        let seconds = f64::from(silence.all_ms) / 1000.0;
        let why = if silence.own_ms < SILENCE_MAX_MS { "had no processor" } else { "hung" };
        let _ = writeln!(
            stderr(),
            "driftway: the shim (process {parent}) {why} for {seconds} s and was killed; every \
             connection goes on as plain TCP"
        );
    }
    Ok(true)
}

/// Time since the last heartbeat.
#[derive(Debug, Default)]
struct Silence {
    all_ms: u32,
    /// The time without that for which the process had to wait for a processor.
    own_ms: u32,
}

impl Silence {
    /// Adds a step, in which the process waited for a processor for this time.
    fn add(&mut self, waited_ms: u32) {
        let step = u32::from(STEP_MS);
        self.all_ms += step;
        self.own_ms += step - waited_ms.min(step);
    }

    fn is_too_long(&self) -> bool {
        self.own_ms >= SILENCE_MAX_MS || self.all_ms >= STARVED_MAX_MS
    }
}

/// Processor time of a process' main thread, from the kernel (proc(5)).
#[derive(Debug)]
struct ProcessorTime {
    /// `schedstat` and `stat` of the thread; `None`: this kernel, or this mount of /proc, does not
    /// have them, and a process that waits cannot be distinguished from one that hangs.
    files: Option<(File, File)>,
    last: SchedStat,
}

/// Time with a processor, and time of waiting for one, up to the last time that it got one (ns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SchedStat {
    ran: u64,
    waited: u64,
}

impl ProcessorTime {
    fn open(process: i32) -> Self {
        let open = |name| File::open(format!("/proc/{process}/task/{process}/{name}"));
        let mut times = Self {
            files: open("schedstat").ok().zip(open("stat").ok()),
            last: SchedStat::default(),
        };
        times.waited_ms();
        times
    }

    /// Time since the last call for which the thread had to wait for a processor (ms), a step at
    /// most.
    fn waited_ms(&mut self) -> u32 {
        let read = |file: &File| {
            let mut buffer = [0; 1024];
            let len = file.read_at(&mut buffer, 0).ok()?;
            Some(String::from_utf8_lossy(buffer.get(..len)?).into_owned())
        };
        let texts =
            self.files.as_ref().and_then(|(times, state)| Some((read(times)?, read(state)?)));
        let Some((times, state)) = texts else { return 0 };
        let Some(now) = SchedStat::parse(&times) else { return 0 };
        let waited = waited_ms(self.last, now, is_runnable(&state));
        self.last = now;
        waited
    }
}

impl SchedStat {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
        Some(Self { ran: numbers.next()?, waited: numbers.next()? })
    }
}

/// Time of waiting in a step (ms). The kernel adds it to the sum only when the thread gets a
/// processor; of a thread that can run now, all is waiting that is not running.
fn waited_ms(before: SchedStat, now: SchedStat, is_runnable: bool) -> u32 {
    // Without these statistics all are zero.
    if now == SchedStat::default() {
        return 0;
    }
    let step = u64::from(STEP_MS);
    let ms = |now: u64, before: u64| now.saturating_sub(before) / 1_000_000;
    let (ran, waited) = (ms(now.ran, before.ran), ms(now.waited, before.waited));
    let waits = if is_runnable { step.saturating_sub(ran) } else { waited };
    u32::try_from(waits.min(step)).unwrap_or(0)
}

/// Returns whether a thread runs or could run, from its `stat`. The name, in parentheses, may
/// contain anything.
fn is_runnable(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
}

/// Waits for at most so many milliseconds; returns whether the file is ready.
fn is_ready(file: &impl AsFd, what: PollFlags, patience: u16) -> io::Result<bool> {
    let mut watched = [PollFd::new(file.as_fd(), what)];
    match poll(&mut watched, PollTimeout::from(patience)) {
        Ok(_) => Ok(watched[0].any().unwrap_or(true)),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const STEP: u32 = STEP_MS as u32;

    fn stat(ran_ms: u64, waited_ms: u64) -> SchedStat {
        SchedStat { ran: ran_ms * 1_000_000, waited: waited_ms * 1_000_000 }
    }

    /// Steps without a heartbeat until the process counts as hanging.
    fn steps_until_too_long(waited_ms: u32) -> u32 {
        let mut silence = Silence::default();
        (1..)
            .find(|_| {
                silence.add(waited_ms);
                silence.is_too_long()
            })
            .unwrap()
    }

    #[test]
    fn a_process_without_a_processor_has_more_time() {
        assert_eq!(steps_until_too_long(0) * STEP, 700);
        assert_eq!(steps_until_too_long(STEP / 2) * STEP, 1400);
        assert_eq!(steps_until_too_long(STEP) * STEP, 5000);
    }

    #[test]
    fn waiting_is_distinguished_from_hanging() {
        let before = stat(1000, 500);
        // It sleeps, or is stopped: the sums stand still.
        assert_eq!(waited_ms(before, before, false), 0);
        // It can run, but does not.
        assert_eq!(waited_ms(before, before, true), STEP);
        // It runs without an end, alone and beside others.
        assert_eq!(waited_ms(before, stat(1100, 500), true), 0);
        assert_eq!(waited_ms(before, stat(1020, 500), true), 80);
        // It had to wait, and sleeps now.
        assert_eq!(waited_ms(before, stat(1010, 560), false), 60);
        assert_eq!(waited_ms(before, stat(1010, 1560), false), STEP);
        // A kernel without these statistics.
        assert_eq!(waited_ms(stat(0, 0), stat(0, 0), true), 0);
    }

    #[test]
    fn the_files_of_proc_are_understood() {
        assert_eq!(SchedStat::parse("12 34 5\n"), Some(SchedStat { ran: 12, waited: 34 }));
        assert_eq!(SchedStat::parse(""), None);
        assert!(is_runnable("7 (a) R) R 1 7") && !is_runnable("7 (a R) S 1 7"));
        let me = ProcessorTime::open(std::process::id() as i32);
        assert!(me.files.is_some());
    }
}
