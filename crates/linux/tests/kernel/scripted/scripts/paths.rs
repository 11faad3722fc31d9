//! Transfers over paths with a loss here and there, late segments, marks, a short queue, outages.
//!
//! Most are Reno's: CUBIC's window is a function of the time, which Linux measures in its ticks of
//! some milliseconds, so that for hundreds of segments each growth is a segment earlier or later.

use crate::scripted::receiver::{CLEAN, Path};
use crate::scripted::script::Script;

pub fn scripts() -> Vec<Script> {
    vec![
        random_losses(),
        random_losses_short_round_trip(),
        random_losses_long_round_trip(),
        random_losses_without_sack(),
        random_losses_delayed_acks(),
        random_losses_cubic(),
        late_segments(),
        very_late_segments(),
        marks(),
        marks_cubic(),
        marks_and_losses(),
        short_queue(),
        short_queue_cubic(),
        outage_with_a_large_window(),
        short_outage(),
    ]
}

/// Positions drawn once, of about one segment in a hundred.
const SCATTERED: &[usize] = &[31, 112, 205, 207, 349, 480, 530, 611, 744, 745, 902];

fn cubic(name: &'static str, about: &'static str) -> Script {
    Script::new(name, about)
}

fn reno(name: &'static str, about: &'static str) -> Script {
    Script::new(name, about).reno()
}

fn transfer(script: Script, path: Path, bytes: u64, end: u64) -> Script {
    script.established().receiver(path).writes(bytes).at(end)
}

fn random_losses() -> Script {
    let path = Path { rtt: 41, lost: SCATTERED, ..CLEAN };
    transfer(reno("random_losses", "a loss in a hundred segments, 40 ms"), path, 600_000, 5000)
}

fn random_losses_short_round_trip() -> Script {
    let path = Path { rtt: 9, lost: SCATTERED, ..CLEAN };
    transfer(reno("random_losses_short_round_trip", "the same, 10 ms"), path, 500_000, 4000)
}

fn random_losses_long_round_trip() -> Script {
    let path = Path { rtt: 299, lost: SCATTERED, ..CLEAN };
    transfer(reno("random_losses_long_round_trip", "the same, 300 ms"), path, 400_000, 9500)
}

fn random_losses_without_sack() -> Script {
    let path = Path { rtt: 41, lost: SCATTERED, ..CLEAN };
    let script = reno("random_losses_without_sack", "the same without SACK").without_sack();
    transfer(script, path, 500_000, 4500)
}

fn random_losses_delayed_acks() -> Script {
    let path = Path { rtt: 41, lost: SCATTERED, delays_acks: true, ..CLEAN };
    transfer(reno("random_losses_delayed_acks", "with delayed ACKs"), path, 400_000, 5000)
}

fn random_losses_cubic() -> Script {
    let path = Path { rtt: 41, lost: SCATTERED, ..CLEAN };
    transfer(cubic("random_losses_cubic", "the same with CUBIC"), path, 250_000, 2000)
}

fn late_segments() -> Script {
    let path = Path { rtt: 41, late: &[(40, 5), (140, 5), (240, 5), (340, 5)], ..CLEAN };
    transfer(
        reno("late_segments", "four segments are 5 ms late, past five others"),
        path,
        450_000,
        2500,
    )
}

fn very_late_segments() -> Script {
    let late = &[(40, 18), (100, 18), (160, 18), (220, 18), (280, 18), (340, 18), (400, 18)];
    let path = Path { rtt: 41, late, ..CLEAN };
    transfer(
        reno("very_late_segments", "18 ms late: longer than RACK waits at first"),
        path,
        450_000,
        2500,
    )
}

const MARKS: Path = Path { rtt: 41, marked: &[30, 120, 121, 250, 400], ..CLEAN };

fn marks() -> Script {
    transfer(reno("marks", "a mark here and there").ecn(), MARKS, 500_000, 3000)
}

fn marks_cubic() -> Script {
    transfer(cubic("marks_cubic", "the same with CUBIC").ecn(), MARKS, 200_000, 1500)
}

fn marks_and_losses() -> Script {
    let path = Path { lost: &[33, 200, 252], ..MARKS };
    transfer(
        reno("marks_and_losses", "marks, and losses in the same windows").ecn(),
        path,
        500_000,
        3500,
    )
}

fn short_queue() -> Script {
    let path = Path { rtt: 41, queue: 30, ..CLEAN };
    transfer(reno("short_queue", "slow start overruns a queue of 30 segments"), path, 500_000, 4000)
}

fn short_queue_cubic() -> Script {
    let path = Path { rtt: 41, queue: 30, ..CLEAN };
    transfer(cubic("short_queue_cubic", "the same with CUBIC and HyStart"), path, 350_000, 2000)
}

fn outage_with_a_large_window() -> Script {
    let path = Path { rtt: 101, outage: Some((700, 1500)), ..CLEAN };
    transfer(
        cubic("outage_with_a_large_window", "a hundred segments are lost"),
        path,
        400_000,
        5000,
    )
}

fn short_outage() -> Script {
    let path = Path { rtt: 41, outage: Some((400, 460)), ..CLEAN };
    transfer(reno("short_outage", "60 ms, shorter than the timeout"), path, 300_000, 3000)
}
