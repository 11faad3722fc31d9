//! A run in its steady state allocates no memory.
//!
//! Only structures that grow once to their final size may allocate: queues of links and events, and
//! TCP's tables of segments and holes. A fifth of the run is allowed for that. Results and traces
//! allocate, but after the run or on request.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};

use driftway_scenario::Scenario;
use driftway_sim::Simulation;

struct CountingAllocator;

/// The number of call sites that a failure shows.
const MAX_CALL_SITES: usize = 3;

thread_local! {
    /// True while allocations of the thread are counted.
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static CALL_SITES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn record_allocation() {
    // Recording an allocation allocates, too, and is not counted.
    if !IS_COUNTING.replace(false) {
        return;
    }
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    CALL_SITES.with_borrow_mut(|places| {
        if places.len() < MAX_CALL_SITES {
            places.push(call_site(&Backtrace::force_capture().to_string()));
        }
    });
    IS_COUNTING.set(true);
}

/// The stack frames of our own code: functions and their callers.
fn call_site(backtrace: &str) -> String {
    let frames: Vec<&str> = backtrace.lines().collect();
    let ours = frames.windows(2).filter(|pair| {
        let at = pair[1].trim_start();
        at.starts_with("at ") && !at.contains("/rustc/") && !at.contains("allocation.rs")
    });
    ours.map(|pair| format!("{}\n{}\n", pair[0], pair[1])).collect()
}

/// Counts the allocations of `work`, and returns their call sites.
fn count_allocations(work: impl FnOnce()) -> (u64, String) {
    ALLOCATIONS.set(0);
    IS_COUNTING.set(true);
    work();
    IS_COUNTING.set(false);
    (ALLOCATIONS.get(), CALL_SITES.take().join("\n"))
}

// SAFETY: the system allocator does all the work; recording touches only data of the thread.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record_allocation();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Checks for no allocations from a fifth of the run to nine tenths.
fn allocates_nothing(scenario: &Scenario) {
    allocates_at_most(scenario, 0.2, 0);
}

/// Checks for at most `most` allocations from this part of the run to nine tenths.
fn allocates_at_most(scenario: &Scenario, part: f64, most: u64) {
    for seed in [1, 2] {
        let mut steps = 0;
        let mut run = Simulation::new(scenario, seed, None).unwrap();
        while run.step().unwrap() {
            steps += 1;
        }
        let events: u64 = steps;
        let (from, to) = ((events as f64 * part) as u64, events * 9 / 10);
        assert!(to - from > 10_000, "only {events} events");
        let mut run = Simulation::new(scenario, seed, None).unwrap();
        for _ in 0..from {
            assert!(run.step().unwrap());
        }
        let (allocations, places) = count_allocations(|| {
            for _ in from..to {
                assert!(run.step().unwrap());
            }
        });
        assert!(
            allocations <= most,
            "{}, seed {seed}, {events} events, {allocations} allocations:\n{places}",
            scenario.name
        );
    }
}

#[test]
fn the_allocator_counts() {
    let (allocations, places) = count_allocations(|| drop(std::hint::black_box(vec![1_u8])));
    assert_eq!(allocations, 1, "{places}");
}

#[test]
fn figure_8_allocates_nothing() {
    for aid in ["none", "atcp"] {
        for receiver_aid in ["none", "atcp"] {
            let changes = [("flow.0.aid", aid), ("flow.0.receiver_aid", receiver_aid)];
            allocates_nothing(&common::example("figure-8-tcp", &changes));
        }
    }
}

#[test]
fn other_recoveries_allocate_nothing() {
    for (recovery, growth) in
        [("tahoe", "reno"), ("newreno", "cubic"), ("sack", "reno"), ("sack", "cubic")]
    {
        let changes = [("flow.0.tcp.recovery", recovery), ("flow.0.tcp.growth", growth)];
        allocates_nothing(&common::example("figure-8-tcp", &changes));
    }
}

/// Ten flows, five in each direction, half of them with an aid, and all faults except partitions.
#[test]
fn ten_flows_among_faults_allocate_nothing() {
    let mut text = r#"
        name = "ten flows among faults"
        duration = "200 s"
        [network]
        kind = "path"
        hops = 4
        link = { rate = "1 Mbit/s", delay = { uniform = ["5 ms", "15 ms"] }, bit_error_rate = 1e-6, queue = { packets = 30, ecn_threshold = 20 } }
        [[network.fault]]
        kind = "congestion"
        hop = 2
        every = "7 s"
        lasts = "1 s"
        [[network.fault]]
        kind = "reordering"
        hop = 1
        every = "3 s"
        [[network.fault]]
        kind = "interference"
        hop = "intermediate"
        every = "20 ms"
        spacing = "poisson"
        direction = "both"
    "#
    .to_owned();
    for at in [5, 50, 60, 90, 150] {
        text += &format!(
            "[[network.fault]]\nkind = \"change\"\nhop = 3\nat = \"{at} s\"\n\
             rate = [\"1 Mbit/s\", \"500 kbit/s\"]\ndelay = [\"10 ms\", \"40 ms\"]\n"
        );
    }
    for n in 0..10 {
        let (from, to) = if n % 2 == 0 { (0, 4) } else { (4, 0) };
        let aid = if n % 4 < 2 { "atcp" } else { "none" };
        let recovery = ["reno", "sack"][n / 5];
        text += &format!(
            "[[flow]]\nfrom = {from}\nto = {to}\napplication = \"ftp\"\naid = \"{aid}\"\n\
             tcp = {{ recovery = \"{recovery}\", mss = \"500 B\", ecn = true }}\n"
        );
    }
    allocates_nothing(&common::parse(&text));
}

/// Fifty nodes that move, ten flows: a node's tables and buffers are allocated at their first use and
/// grow to the size needed, two or three times per node in the second half of this run; nothing is
/// allocated per packet, event or frame.
#[test]
fn fifty_dsr_nodes_allocate_for_tables_alone() {
    let mut text = r#"
        name = "fifty DSR nodes, ten flows"
        duration = "120 s"
        [network]
        kind = "adhoc"
        nodes = 50
        area = ["1500 m", "1000 m"]
        mobility = { model = "random-waypoint", speed = ["9 m/s", "11 m/s"] }
        routing = { protocol = "dsr" }
        compat = "ns-2"
    "#
    .to_owned();
    for n in 0..10 {
        text += &format!(
            "[[flow]]\nfrom = {}\nto = {}\napplication = \"ftp\"\n\
             tcp = {{ recovery = \"reno\", window = 8 }}\n",
            2 * n,
            2 * n + 1
        );
    }
    allocates_at_most(&common::parse(&text), 0.5, 150);
}
