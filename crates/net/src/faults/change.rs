//! Changes of the rate and the delay of a hop.

use driftway_base::{Instant, LinkId, RandomStream};
use driftway_scenario::{BitRate, HopChange, Time};

use super::action::FaultAction;
use super::plan::{FaultPlan, link_of};

/// Changes of a hop.
pub struct ChangeFault {
    pub(super) link: LinkId,
    pub(super) fault: HopChange,
    stream: RandomStream,
    rate: BitRate,
    delay: driftway_scenario::Delay,
    pub(super) next: Option<Instant>,
}

impl ChangeFault {
    pub(super) fn new(fault: &HopChange, plan: &FaultPlan<'_>, number: u64) -> Self {
        let link = plan.hop(fault.hop);
        let unset = driftway_scenario::Delay::Fixed(Time::default());
        let delay = link.delay.as_ref().map_or(unset, driftway_scenario::LinkDelay::distribution);
        Self {
            link: link_of(fault.hop),
            fault: fault.clone(),
            stream: RandomStream::new(plan.seed, "change", number),
            rate: BitRate(link.mean_rate()),
            delay,
            next: fault.at.map(|Time(at)| Instant::ZERO + at),
        }
    }

    /// liu-singh-2001 §V-E: picks one of the listed values that differ from the current one, at
    /// random.
    pub(super) fn pick_new_values(&mut self, actions: &mut Vec<FaultAction>) {
        let link = self.link;
        if let Some(rate) = draw_other(&self.fault.rate, self.rate, &mut self.stream) {
            self.rate = rate;
            actions.push(FaultAction::Rate { link, rate: rate.0 });
        }
        if let Some(chosen) = draw_other(&self.fault.delay, self.delay, &mut self.stream) {
            self.delay = chosen;
            actions.push(FaultAction::Delay { link, delay: chosen.config() });
        }
    }
}

/// Draws one of `listed` other than the `present` one, uniformly.
fn draw_other<T: Copy + PartialEq>(
    listed: &[T],
    present: T,
    stream: &mut RandomStream,
) -> Option<T> {
    let others = || listed.iter().filter(|value| **value != present);
    let count = others().count() as u64;
    if count == 0 { None } else { others().nth(stream.uniform_below(count) as usize).copied() }
}
