//! Changes of routes and links on a host with thousands of idle connections: the round trip of one
//! byte over another interface, without and with the shim, and whether the shim outlives them on a
//! busy machine.

use driftway_base::Duration;

use crate::crowd::{Change, Crowd, OWN, UNRELATED, percentile_99, under_load};
use crate::shimmed::ShimProcess;

const LASTS: Duration = Duration::from_secs(5);
const BUSY_LASTS: Duration = Duration::from_secs(30);

/// The 99th percentile of the round trip (ms) with so many connections.
fn percentile(flows: usize, what: Change, with: bool) -> f64 {
    let crowd = Crowd::new().expect("the requirements are met");
    let shim = with.then(|| ShimProcess::start_watched(&crowd.host));
    let connections = crowd.connect(flows);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let times = crowd.ping_pong_during(what, LASTS);
    if let Some(shim) = shim {
        shim.end();
    }
    drop(connections);
    percentile_99(&times).as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Prints the table: medians of pairs, whose order alternates.
pub fn table(runs: u64) {
    println!(
        "\nOne byte over another interface during changes, 99th percentile, ms; medians of {runs} \
         pairs\n{:<44}{:>10}{:>10}{:>14}",
        "", "plain", "shim", "difference"
    );
    for (name, flows, what) in [
        ("4,000 flows, no changes", 4000, Change::Nothing),
        ("4,000 flows, 20 unrelated routes a second", 4000, Change::Route(UNRELATED)),
        ("4,000 flows, 20 routes of theirs a second", 4000, Change::Route(OWN)),
        ("1,500 flows, their link fails every second", 1500, Change::Link),
    ] {
        let pairs: Vec<[f64; 2]> = (0..runs)
            .map(|run| {
                let mut pair = [0.0; 2];
                let order = if run % 2 == 0 { [false, true] } else { [true, false] };
                for with in order {
                    pair[usize::from(with)] = percentile(flows, what, with);
                }
                pair
            })
            .collect();
        let of = |value: fn(&[f64; 2]) -> f64| median(pairs.iter().map(value).collect());
        println!(
            "{name:<44}{:>10.2}{:>10.2}{:>14.2}",
            of(|pair| pair[0]),
            of(|pair| pair[1]),
            of(|pair| pair[1] - pair[0])
        );
    }
    for (flows, what) in [
        (4000, Change::Route(UNRELATED)),
        (4000, Change::Route(OWN)),
        (4000, Change::Link),
        (20_000, Change::Route(OWN)),
    ] {
        let crowd = Crowd::new().expect("the requirements are met");
        let mut shim = ShimProcess::start_watched(&crowd.host);
        let connections = crowd.connect(flows);
        under_load(8, || crowd.ping_pong_during(what, BUSY_LASTS));
        let alive = if shim.is_running() { "alive" } else { "killed" };
        println!("eight busy loops, {} connections, {what:?}: {alive}", connections.len());
        drop((shim, connections));
    }
}
