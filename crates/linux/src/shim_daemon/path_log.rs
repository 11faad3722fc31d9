//! Log of outages: one line for all flows together, because a link that fails interrupts all of them.

use driftway_base::{Duration, FlowKey, Instant};
use driftway_shim::{Counts, FlowState, Shim};
use tracing::{Level, debug, enabled, info};

/// Time for which changes are collected.
const INTERVAL: Duration = Duration::from_secs(1);

/// Changes since the last line of the log.
#[derive(Debug, Default)]
pub struct PathLog {
    /// Time of the next line; `None`: nothing has changed.
    due: Option<Instant>,
    /// Numbers of flows whose route on this host has failed, or was restored.
    routes_lost: u64,
    routes_restored: u64,
    /// Numbers of outages begun and survived at the last line, and at the last change.
    logged: (u64, u64),
    seen: (u64, u64),
    /// States at the last change, for the names of flows.
    states: Vec<(FlowKey, FlowState)>,
}

impl PathLog {
    /// Counts a change of a flow's route on this host.
    pub fn count_route_change(&mut self, is_there: bool) {
        *(if is_there { &mut self.routes_restored } else { &mut self.routes_lost }) += 1;
    }

    /// Logs what has changed, a second after the first change.
    pub fn update(&mut self, now: Instant, shim: &Shim) {
        let Counts { outages, survived, .. } = *shim.counts();
        if self.seen != (outages, survived) {
            self.seen = (outages, survived);
            // This compares all flows.
            if enabled!(Level::DEBUG) {
                self.log_flows(shim);
            }
        }
        if self.seen == self.logged && self.routes_lost + self.routes_restored == 0 {
            return;
        }
        let due = *self.due.get_or_insert(now + INTERVAL);
        if now >= due {
            self.flush(shim);
        }
    }

    /// Logs what has changed.
    pub fn flush(&mut self, shim: &Shim) {
        let Counts { outages, survived, .. } = *shim.counts();
        let (lost, restored) = (self.routes_lost, self.routes_restored);
        let (began, ended) = (outages - self.logged.0, survived - self.logged.1);
        if began + ended + lost + restored > 0 {
            info!(
                outages = began,
                survived = ended,
                routes_lost = lost,
                routes_restored = restored,
                "paths of flows"
            );
        }
        (self.routes_lost, self.routes_restored, self.due) = (0, 0, None);
        (self.logged, self.seen) = ((outages, survived), (outages, survived));
    }

    /// Logs each flow whose state has changed.
    fn log_flows(&mut self, shim: &Shim) {
        let states = shim.flows().map(|flow| (flow.key, flow.state)).collect();
        let before = std::mem::replace(&mut self.states, states);
        for flow in shim.flows() {
            let place = before.binary_search_by_key(&flow.key, |(key, _)| *key);
            let was = place.map_or(FlowState::Open, |place| before[place].1);
            let ends = format_flow(flow.key);
            let (stored_bytes, state) = (flow.stored_bytes, flow.state);
            match (was, state) {
                (FlowState::Open, FlowState::Open) => {}
                (_, FlowState::Open) => {
                    let resumed = flow.time_to_resume.map(Duration::as_secs_f64);
                    debug!(flow = %ends, survived = flow.survived, resumed_s = resumed, "resumed");
                }
                (FlowState::Open, _) => debug!(flow = %ends, stored_bytes, "no path"),
                _ => debug!(flow = %ends, stored_bytes, state = state.name(), "still no path"),
            }
        }
    }
}

/// Both endpoints of a flow, for logs.
pub fn format_flow(FlowKey { source, destination }: FlowKey) -> String {
    format!("{}:{} {}:{}", source.address, source.port, destination.address, destination.port)
}
