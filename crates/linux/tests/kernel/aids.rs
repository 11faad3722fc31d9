//! Aids other than the shim's default, below this kernel's TCP.

use driftway_aid::options::OptionValue;
use driftway_aid::registry::find;
use driftway_base::{Duration, Instant};
use driftway_linux::{ShimDaemon, ShimSettings};
use driftway_shim::{Config, Shim};

use crate::emulate::scenario;
use crate::shimmed::{RunningPath, RunningShim, Transfer, Until};

tests![atcp_carries_this_kernels_tcp_over_losses_and_a_cut, a_limit_bounds_what_this_kernel_sends];

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn shimmed(path: &RunningPath, aid: &str, options: &'static [(&str, OptionValue)]) -> RunningShim {
    let listed = find(aid).expect("the aid is registered");
    let make = move || listed.build(options).expect("the options are valid");
    let interfaces = ShimSettings::default().interfaces;
    RunningShim::start_with(path.near(), || {
        ShimDaemon::start_with_shim(&interfaces, Shim::with_aid(Config::default(), make))
    })
}

/// Loss repairs hidden from the kernel, and probes until there is a route.
fn atcp_carries_this_kernels_tcp_over_losses_and_a_cut() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\npacket_error_rate = 0.005\n\
                queue = { packets = 200, ecn_threshold = 20 }";
    let cut =
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"2 s\"\nlasts = \"3 s\"\n";
    let path = RunningPath::start(&scenario(2, link, cut), 1, true);
    const OPTIONS: &[(&str, OptionValue)] =
        &[("persist_min", OptionValue::Duration(Duration::from_millis(200)))];
    let shim = shimmed(&path, "atcp", OPTIONS);
    let transfer = Transfer::start(&path, "reno", Until::Time(Instant::ZERO + secs(9)));
    let arrived = transfer.finish();
    let stood = shim.stop();
    let counts = stood.counts;
    assert!(counts.discarded_by_aid > 0 && counts.repaired > 0, "{stood:?}");
    assert_eq!((counts.outages, counts.survived), (1, 1), "{stood:?}");
    // Probes leave 0.2, 0.6, 1.4 and 3.0 s after the start of the outage: the last one finds the
    // route.
    let first = arrived.first_after(Instant::ZERO + secs(5));
    assert!(first <= secs(2), "{first:?} {stood:?}");
    path.running.stop().unwrap();
}

/// Four segments per RTT of 40 ms are 1.2 Mbit/s; the path has 10 Mbit/s.
fn a_limit_bounds_what_this_kernel_sends() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { packets = 200 }";
    let path = RunningPath::start(&scenario(2, link, ""), 1, true);
    let shim = shimmed(&path, "cwnd-limit", &[("segments", OptionValue::Count(4))]);
    let end = Instant::ZERO + secs(4);
    let arrived = Transfer::start(&path, "cubic", Until::Time(end)).finish();
    let stood = shim.stop();
    assert_eq!(stood.counts.refused_limit_cwnd, 1, "{stood:?}");
    let in_two = arrived.bytes_by(end) - arrived.bytes_by(end - secs(2));
    assert!((50_000..400_000).contains(&in_two), "{in_two}");
    path.running.stop().unwrap();
}
