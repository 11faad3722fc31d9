//! Continuous cross traffic through hops.

use driftway_base::{Duration, Instant, LinkId, RandomStream};
use driftway_link::Side;
use driftway_scenario::{FileValue, Interference, InterferenceHop, Spacing, Time};

use super::action::{FaultAction, sides};
use super::plan::{FaultPlan, link_of};

/// A stream of cross traffic.
pub struct InterferenceStream {
    pub(super) link: LinkId,
    pub(super) side: Side,
    bytes: u32,
    gap: Duration,
    poisson: bool,
    stream: RandomStream,
    pub(super) next: Instant,
}

impl InterferenceStream {
    /// Creates a stream for each hop and direction concerned.
    pub(super) fn all(
        fault: &Interference,
        plan: &FaultPlan<'_>,
        number: u64,
    ) -> impl Iterator<Item = Self> {
        let Time(gap) = fault.every;
        let sides = sides(fault.direction);
        let concerns = |link: LinkId, side: Side| match fault.hop {
            InterferenceHop::Number(hop) => link == link_of(hop),
            // liu-singh-2001 §V-E: each intermediate hop, except at the sender and the receiver.
            InterferenceHop::Intermediate => match side {
                Side::A => link.index() > 0,
                Side::B => link.index() + 1 < plan.hops.len(),
            },
        };
        let poisson = fault.spacing == Spacing::Poisson;
        let bytes: u32 = fault.size.to_config();
        let mut all = Vec::new();
        for link in plan.hops.keys() {
            for &side in sides.iter().filter(|side| concerns(link, **side)) {
                let entity = number << 32 | u64::from(link) << 1 | u64::from(side == Side::B);
                let mut stream = RandomStream::new(plan.seed, "interference", entity);
                // Streams of several hops start unsynchronized.
                let next = Instant::ZERO + stream.uniform_duration(Duration::ZERO, gap);
                all.push(Self { link, side, bytes, gap, poisson, stream, next });
            }
        }
        all.into_iter()
    }

    pub(super) fn fire(&mut self, actions: &mut Vec<FaultAction>) {
        let gap = if self.poisson { self.stream.exponential_duration(self.gap) } else { self.gap };
        self.next += gap.max(Duration::from_nanos(1));
        actions.push(FaultAction::CrossTraffic {
            link: self.link,
            side: self.side,
            bytes: self.bytes,
        });
    }
}
