//! An aid that breaks the rules by which time goes on.

use driftway::aid::options::AidOptions;
use driftway::base::{Act, ActResult, RouteProbe, options};
use driftway::wire::TcpSegment;
use driftway::{Aid, Instant, SegmentVerdict, Signal, TcpView};

options! {
    /// The rule that it breaks.
    pub struct RestlessOptions {
        /// Its timeout stays due; else its acts do not end.
        timeouts: flag(true),
    }
}

impl AidOptions for RestlessOptions {
    const NAME: &'static str = "restless";
    const SUMMARY: &'static str = "Is due at once, or acts without end.";
    const STATES: &'static [(&'static str, &'static str)] = &[("restless", "Always.")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(Restless { options: self, since: None })
    }
}

struct Restless {
    options: RestlessOptions,
    /// Arrival of the first segment.
    since: Option<Instant>,
}

impl Aid for Restless {
    fn name(&self) -> &'static str {
        RestlessOptions::NAME
    }

    fn state(&self) -> &'static str {
        "restless"
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}

    fn on_up(&mut self, now: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        self.since.get_or_insert(now);
        SegmentVerdict::Pass
    }

    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.since.filter(|_| !self.options.timeouts)?;
        Some(Act::ProbeRoute(RouteProbe::Off))
    }

    fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}

    fn next_timeout(&self) -> Option<Instant> {
        self.since.filter(|_| self.options.timeouts)
    }

    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
}
