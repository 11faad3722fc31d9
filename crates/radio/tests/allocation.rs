//! The air in its steady state allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use base::{Duration, Instant, RandomStream};
use radio::mobility::{RandomWaypoint, Start};
use radio::{Dcf, DcfConfig, Field, Mobility, Outgoing, Propagation, RadioConfig, Report};
use radio::{Tdma, TdmaConfig};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all work is the system allocator's; counting touches a thread's own cell only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NODES: u32 = 50;

fn field() -> (Field, Propagation) {
    let radio = Propagation::new(&RadioConfig::STANDARD, NODES, 1).unwrap();
    let model = RandomWaypoint {
        area: (1500.0, 1000.0),
        speed: (9.0, 11.0),
        pause: (Duration::ZERO, Duration::ZERO),
        start: Start::Steady,
    };
    let mobility = Mobility::random_waypoint(&model, NODES, 1).unwrap();
    (Field::new(mobility, radio.reach()), radio)
}

/// Every node always has a packet, most for another node, near or far.
fn packet(random: &mut RandomStream, node: u32) -> Outgoing {
    let other = (node + 1 + random.below(u64::from(NODES - 1)) as u32) % NODES;
    let bytes = random.below(1500) as u32;
    Outgoing { id: node, to: (random.below(10) > 0).then_some(other), bytes }
}

macro_rules! steady {
    ($air:expr, $minutes:expr) => {{
        let mut air = $air;
        let mut random = RandomStream::new(1, "packet", 0);
        for node in 0..NODES {
            air.listen(node, node % 2 == 0);
            air.send(Instant::ZERO, node, packet(&mut random, node));
        }
        let mut reports = Vec::with_capacity(1_000);
        let mut warm = u64::MAX;
        loop {
            let now = air.run(Instant::from_secs(60 * $minutes), &mut reports);
            for report in reports.drain(..) {
                if let Report::Sent { node, .. } | Report::Failed { node, .. } = report {
                    air.send(now, node, packet(&mut random, node));
                }
            }
            if warm == u64::MAX && now >= Instant::from_secs(60) {
                warm = ALLOCATIONS.get();
            }
            if now >= Instant::from_secs(60 * $minutes) {
                break;
            }
        }
        assert_eq!(ALLOCATIONS.get(), warm);
        air.totals()
    }};
}

#[test]
fn the_steady_state_allocates_nothing() {
    let before = ALLOCATIONS.get();
    for config in [DcfConfig::STANDARD, DcfConfig::NS2] {
        let (field, radio) = field();
        let counted = steady!(Dcf::new(config, field, radio, 1), 3);
        assert!(counted.acknowledged > 1_000 && counted.broadcasts > 1_000, "{counted:?}");
    }
    let (field, radio) = field();
    let counted = steady!(Tdma::new(TdmaConfig::STANDARD, field, radio, 1), 3);
    assert!(counted.data > 10_000);
    assert!(ALLOCATIONS.get() > before, "the allocator counts");
}
