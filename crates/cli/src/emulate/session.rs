//! The programs of an emulation while it runs: when each starts, and with which the emulation ends.

use std::process::Child;

use driftway_base::{Duration, Instant};
use driftway_linux::{Namespace, RunningEmulation};
use driftway_scenario::Time;
use indicatif::ProgressBar;
use nix::sys::signal::Signal;

use super::gate::Gate;
use super::plan::{BackgroundProgram, Plan, not_run};
use super::programs::{Names, Program, forward_signal, terminate_all};
use super::readiness::ReadyCheck;
use super::signals::{Signals, WakeReason};
use crate::args::EmulateArgs;
use crate::exit_status::exit_status;
use crate::failure::{Failure, failed};

/// Time within which the failure of a program ends the emulation.
const EARLY: Duration = Duration::from_secs(1);
/// Longest wait while programs are starting, and while all run (ms).
const STARTING_TICK: u16 = 5;
const RUNNING_TICK: u16 = 200;
/// Time for which a command may continue after a signal.
const SIGNAL_GRACE: Duration = Duration::from_secs(2);

/// The programs of an emulation. Dropping them before [`Session::terminate`], after an error, kills
/// them.
pub struct Session<'a> {
    args: &'a EmulateArgs,
    plan: &'a Plan,
    names: &'a Names,
    running: &'a RunningEmulation,
    main: Option<(Child, Instant)>,
    background: Vec<Background<'a>>,
}

/// A program other than that with which the emulation ends.
struct Background<'a> {
    program: &'a BackgroundProgram,
    check: ReadyCheck,
    /// `None`: its time has not come.
    started: Option<(Child, Instant)>,
    /// Its exit status, and the time at which that was found.
    exited: Option<(u8, Instant)>,
}

/// The end of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The exit status.
    pub status: u8,
    /// The program other than the last whose early failure ended the emulation.
    pub failed: Option<usize>,
}

/// The outcome of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Time at which it was started.
    pub started: Option<Instant>,
    /// Its exit status, if it exited by itself.
    pub status: Option<u8>,
}

impl<'a> Session<'a> {
    /// Releases the programs that wait for the network, which runs, and prepares the others.
    ///
    /// # Errors
    /// A node cannot be inspected, or a program not released.
    pub fn new(
        args: &'a EmulateArgs,
        plan: &'a Plan,
        names: &'a Names,
        running: &'a RunningEmulation,
        gate: Gate,
    ) -> Result<Self, Failure> {
        let mut background = Vec::new();
        let (at, released) = (running.now(), gate.open()?);
        for (program, child) in plan.background.iter().zip(released) {
            let namespace = namespace_of(running.namespace(program.node))?;
            let check = ReadyCheck::new(program.start.ready.clone(), namespace);
            let check = check.map_err(|e| failed("inspect a node", &e))?;
            let started = child.map(|child| (child, at));
            background.push(Background { program, check, started, exited: None });
        }
        Ok(Self { args, plan, names, running, main: None, background })
    }

    /// Starts the programs, each in time, and waits for the end.
    ///
    /// # Errors
    /// A program that cannot be started, or is not ready in time.
    pub fn run(&mut self, signals: &mut Signals, line: &ProgressBar) -> Result<End, Failure> {
        let mut signalled: Option<(Signal, Instant)> = None;
        loop {
            let is_starting = self.start_what_is_due()?;
            if let Some(end) = self.end()? {
                return Ok(end);
            }
            let now = self.running.now();
            if let Some((signal, at)) = signalled
                && (self.main.is_none() || now.since(at) >= SIGNAL_GRACE)
            {
                return Ok(End { status: 128 + signal as u8, failed: None });
            }
            let tick = if is_starting { STARTING_TICK } else { RUNNING_TICK };
            match signals.wait(tick).map_err(|e| failed("wait", &e))? {
                WakeReason::Signal(signal) => {
                    if let Some((main, _)) = &self.main {
                        forward_signal(main, signal)?;
                    }
                    signalled = Some((signal, now));
                }
                WakeReason::ChildExited | WakeReason::Timeout => {}
            }
            line.set_message(format!("{} packets", self.running.delivered()));
        }
    }

    /// Starts the programs whose time has come, and the main one when the others are ready. Returns
    /// whether some have not started, or may still fail early.
    fn start_what_is_due(&mut self) -> Result<bool, Failure> {
        let running = self.running;
        let is_due =
            |after: Option<Time>, now| after.is_none_or(|Time(at)| now >= Instant::ZERO + at);
        let mut is_ready = true;
        let mut is_starting = false;
        for background in &mut self.background {
            let program = background.program;
            let place = self.plan.place(self.names, program.node);
            if background.started.is_none() && is_due(program.start.after, running.now()) {
                let namespace = namespace_of(running.namespace(program.node))?;
                let child = Program::background(&program.line, &place).start(namespace);
                let child = child.map_err(|e| {
                    Failure::Input(format!("{}: cannot start sh: {e}", program.option()))
                })?;
                background.started = Some((child, running.now()));
            }
            match &mut background.started {
                // One that is to start later is waited for only if it says so.
                None => {
                    is_ready &= program.start.ready.is_none();
                    is_starting = true;
                }
                Some((child, at)) => {
                    let is_young = running.now().since(*at) < EARLY;
                    if background.exited.is_none() {
                        background.exited = exited(child, running)?;
                    }
                    if self.main.is_none() && background.exited.is_none() {
                        is_ready &= background.check.check(running, &place, *at)?;
                    }
                    is_starting |= is_young && background.exited.is_none();
                }
            }
        }
        if self.main.is_some() {
            return Ok(is_starting);
        }
        if self.early_failure().is_none()
            && is_ready
            && is_due(self.plan.main.start.after, running.now())
        {
            self.start_main()?;
        }
        Ok(true)
    }

    fn start_main(&mut self) -> Result<(), Failure> {
        let main = &self.plan.main;
        let place = self.plan.place(self.names, main.node);
        let program = Program::main(main.command(), &place, self.args.json);
        let started = program.start(namespace_of(self.running.namespace(main.node))?);
        let child = started
            .map_err(|error| Failure::Input(format!("cannot start {}: {error}", main.name())))?;
        self.main = Some((child, self.running.now()));
        Ok(())
    }

    /// Returns the end, if it has come: the main program has exited, another has failed at once, or the
    /// network has ended.
    fn end(&mut self) -> Result<Option<End>, Failure> {
        if let Some((main, _)) = &mut self.main
            && let Some(status) = main.try_wait().map_err(|e| failed("wait for the command", &e))?
        {
            return Ok(Some(End { status: exit_status(status), failed: None }));
        }
        if let Some((failed, status)) = self.early_failure() {
            // Nothing has run yet that would be lost.
            if self.main.is_none()
                && let Some(why) = not_run(self.background[failed].program, Some(status))
            {
                return Err(Failure::Input(why));
            }
            return Ok(Some(End { status, failed: Some(failed) }));
        }
        // Stopping the network returns the reason.
        Ok(self.running.has_ended().then_some(End { status: 1, failed: None }))
    }

    /// Returns the first program that has failed within a second, with its status, if that ends the
    /// emulation. A line that cannot be run ends it in any case before the main program starts.
    fn early_failure(&self) -> Option<(usize, u8)> {
        self.background.iter().enumerate().find_map(|(number, background)| {
            let (_, started) = background.started.as_ref()?;
            let (status, at) = background.exited.filter(|(status, _)| *status != 0)?;
            let cannot_run = not_run(background.program, Some(status)).is_some();
            let counts = !self.args.keep_going || (cannot_run && self.main.is_none());
            (counts && at.since(*started) < EARLY).then_some((number, status))
        })
    }

    /// Terminates all processes at all nodes, those at the node of the main program before the others.
    ///
    /// # Errors
    /// A process cannot be ended.
    pub fn terminate(&mut self) -> Result<(), Failure> {
        for background in &mut self.background {
            if let (Some((child, _)), None) = (&mut background.started, background.exited) {
                background.exited = exited(child, self.running)?;
            }
        }
        terminate_all(self.running, self.plan.main.node)?;
        for child in self.children() {
            child.wait().map_err(|e| failed("wait for a program", &e))?;
        }
        Ok(())
    }

    /// Returns the start of the main program, and what became of the others, in the order of the plan.
    pub fn ends(&self) -> (Option<Instant>, Vec<ProgramEnd>) {
        let ends = self.background.iter().map(|background| ProgramEnd {
            started: background.started.as_ref().map(|(_, at)| *at),
            status: background.exited.map(|(status, _)| status),
        });
        (self.main.as_ref().map(|(_, at)| *at), ends.collect())
    }

    fn children(&mut self) -> impl Iterator<Item = &mut Child> {
        let background = self.background.iter_mut().filter_map(|of| of.started.as_mut());
        self.main.iter_mut().chain(background).map(|(child, _)| child)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for child in self.children() {
            // Killing an exited process fails, and is not needed.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Returns the exit status of a program that has exited, and the present time.
fn exited(child: &mut Child, running: &RunningEmulation) -> Result<Option<(u8, Instant)>, Failure> {
    let status = child.try_wait().map_err(|e| failed("wait for a program", &e))?;
    Ok(status.map(|status| (exit_status(status), running.now())))
}

/// Returns the namespace of a program, which each of its nodes has.
fn namespace_of(namespace: Option<&Namespace>) -> Result<&Namespace, Failure> {
    namespace.ok_or_else(|| Failure::Failed("a bug in driftway: a node has no namespace".into()))
}
