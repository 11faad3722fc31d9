//! An aid of one's own: it makes TCP wait while the network reports that the destination is unreachable.
//!
//! `cargo run --release [SCENARIO [AID]]`: `scenarios/partition.toml` and `wait` unless they are given, the aid
//! as a scenario has it.

use std::error::Error;
use std::process::ExitCode;

use driftway::aid::options::AidOptions;
use driftway::aid::registry::AidEntry;
use driftway::base::{
    Act, ActResult, Assign, HeldTimers, ProbeSpacing, Release, SignalKind, options,
};
use driftway::wire::TcpSegment;
use driftway::{Aid, Instant, Registry, Scenario, SegmentVerdict, Signal, TcpView, run};

options! {
    /// Its options, as in `aid = { name = "wait", probe = "1 s" }`.
    struct WaitOptions {
        /// Time between two probes.
        probe: time(2 s, 100 ms..=60 s),
    }
}

impl AidOptions for WaitOptions {
    const NAME: &'static str = "wait";
    const SUMMARY: &'static str = "Waits while the destination is unreachable, and probes.";
    const STATES: &'static [(&'static str, &'static str)] =
        &[("open", "TCP sends."), ("waiting", "TCP sends nothing but probes.")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Wait { options: self, waits: false, act: None })
    }
}

/// The aid at one end of one connection.
struct Wait {
    options: WaitOptions,
    waits: bool,
    /// The next act for TCP.
    act: Option<Act>,
}

impl Aid for Wait {
    fn name(&self) -> &'static str {
        WaitOptions::NAME
    }

    fn state(&self) -> &'static str {
        if self.waits { "waiting" } else { "open" }
    }

    fn is_disconnected(&self) -> bool {
        self.waits
    }

    /// A router, or this host, reports something about the connection.
    fn on_signal(&mut self, _now: Instant, signal: &Signal, _view: &TcpView) {
        if matches!(signal.kind, SignalKind::Unreachable(_)) && !self.waits {
            self.waits = true;
            self.act = Some(Act::Hold {
                probe: Some(ProbeSpacing::new(self.options.probe, self.options.probe)),
                rewind_snd_nxt: true,
                timers: HeldTimers::Stop,
                cwnd: Assign::Keep,
                // The answer to a probe ends it.
                release: Release::AnyAck,
            });
        }
    }

    /// A segment arrives for TCP.
    fn on_up(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        self.waits = false;
        SegmentVerdict::Pass
    }

    /// TCP sends a segment.
    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.act.take()
    }

    fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
}

fn main() -> ExitCode {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/partition.toml");
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or(example.to_owned());
    let aid = arguments.next().unwrap_or("wait".to_owned());
    match compare(&file, &aid) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs a scenario without an aid and with this one.
fn compare(file: &str, aid: &str) -> Result<(), Box<dyn Error>> {
    let registry = Registry::new().aid(AidEntry::new::<WaitOptions>());
    for aid in ["none", aid] {
        let scenario = Scenario::load_with(file, &[("flow.0.aid".into(), aid.into())], &registry)?;
        let flow = &run(scenario, 1, None)?.flows[0];
        println!(
            "{aid}: {} kB in {:.1} s, {} retransmissions",
            flow.delivered_bytes / 1000,
            flow.end_s - flow.start_s,
            flow.retransmissions.unwrap_or(0)
        );
    }
    Ok(())
}
