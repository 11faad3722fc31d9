//! Bursts of cross traffic through a hop.

use driftway_base::{Duration, Instant, LinkId};
use driftway_link::Side;
use driftway_scenario::{BitRate, Congestion, FileValue, Schedule, Time};

use super::action::FaultAction;
use super::plan::{FaultPlan, link_of};

/// Floods of a hop.
pub struct CongestionFault {
    link: LinkId,
    side: Side,
    schedule: Schedule,
    duration: Duration,
    bytes: u32,
    gap: Duration,
    marks: bool,
    fired: u32,
    /// Next packet of the current flood, and the flood's end.
    active: Option<(Instant, Instant)>,
}

impl CongestionFault {
    pub(super) fn new(fault: &Congestion, side: Side, plan: &FaultPlan<'_>) -> Option<Self> {
        let rate = fault.rate.map_or_else(|| plan.hop(fault.hop).mean_rate(), |BitRate(rate)| rate);
        let bytes: u32 = fault.size.to_config();
        let Time(duration) = fault.lasts;
        let gap = rate.transmission_time(bytes);
        let (link, schedule) = (link_of(fault.hop), fault.schedule()?);
        let marks = fault.marks;
        Some(Self { link, side, schedule, duration, bytes, gap, marks, fired: 0, active: None })
    }

    pub(super) fn next_instant(&self) -> Option<Instant> {
        self.active.map(|(next, end)| next.min(end)).or_else(|| self.schedule.nth(self.fired))
    }

    pub(super) fn fire(&mut self, now: Instant, actions: &mut Vec<FaultAction>) {
        let (link, side, bytes, marks) = (self.link, self.side, self.bytes, self.marks);
        match self.active {
            Some((_, end)) if end <= now => {
                self.active = None;
                actions.push(FaultAction::Flood { link, side, begins: false, marks });
            }
            Some((_, end)) => {
                self.active = Some((now + self.gap, end));
                actions.push(FaultAction::CrossTraffic { link, side, bytes });
            }
            None => {
                self.fired += 1;
                self.active = Some((now + self.gap, now + self.duration));
                actions.push(FaultAction::Flood { link, side, begins: true, marks });
                actions.push(FaultAction::CrossTraffic { link, side, bytes });
            }
        }
    }
}
