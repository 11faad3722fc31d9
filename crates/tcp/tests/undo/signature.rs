//! One transfer whose path stands still for a while and loses nothing: what each detection makes of
//! the timeout that it costs.

use driftway_base::{Duration, Instant};

use super::*;
use crate::common::{DELAY, Fate, Pair};

#[derive(Debug, PartialEq, Eq)]
struct Trace {
    timeouts: u64,
    retransmissions: u64,
    undone: u64,
    /// What was acknowledged then.
    undone_at: Option<u64>,
    done: Instant,
}

/// 300 segments; the path stands still from 250 ms on, for less than two timeouts.
fn trace(config: &Config) -> Trace {
    let mut pair = Pair::new(config, config);
    pair.ends[0].tcp.write(300_000);
    pair.fate = Box::new(move |from, _, transmit| {
        // Our timestamps are the time in milliseconds.
        let now = transmit.segment.options.timestamps.map_or(0, |t| u64::from(t.value));
        let late = from == 0 && (250..2300).contains(&now);
        Fate::Deliver(DELAY + Duration::from_millis(if late { 2300 - now } else { 0 }))
    });
    let mut undone_at = None;
    while pair.ends[1].read < 300_000 {
        assert!(pair.step());
        let sender = &pair.ends[0].tcp;
        if sender.stats().responses_undone > 0 {
            undone_at.get_or_insert(sender.acknowledged_bytes());
        }
    }
    let stats = pair.ends[0].tcp.stats();
    Trace {
        timeouts: stats.timeouts,
        retransmissions: stats.retransmissions,
        undone: stats.responses_undone,
        undone_at,
        done: pair.now,
    }
}

#[test]
fn each_saves_what_it_is_known_for() {
    let sack = Config { recovery: RecoveryKind::Sack, sack: true, timestamps: true, ..plain() };
    let sack = Config { receive_buffer: 1 << 20, window_scale: true, ..sack };
    let plain = trace(&sack);
    let dsack = trace(&Config { dsack: true, ..sack });
    let f_rto = trace(&Config { f_rto: true, ..sack });
    let eifel = trace(&Config { eifel: true, ..sack });
    let seen = format!("{plain:#?}\n{dsack:#?}\n{f_rto:#?}\n{eifel:#?}");
    assert!([&plain, &dsack, &f_rto, &eifel].iter().all(|t| t.timeouts == 1), "{seen}");
    // Plain: all that is outstanding goes again.
    assert!(plain.undone == 0 && plain.retransmissions > 10, "{seen}");
    // D-SACK: so it does, but the window comes back in the end.
    assert!(dsack.undone == 1 && dsack.retransmissions > 10, "{seen}");
    // F-RTO: one segment and one round trip.
    assert_eq!((f_rto.undone, f_rto.retransmissions), (1, 1), "{seen}");
    // Eifel: one segment, and the first acknowledgment tells.
    assert_eq!((eifel.undone, eifel.retransmissions), (1, 1), "{seen}");
    assert!(eifel.undone_at < f_rto.undone_at && f_rto.undone_at < dsack.undone_at, "{seen}");
    assert!(
        eifel.done <= f_rto.done && f_rto.done < dsack.done && dsack.done <= plain.done,
        "{seen}"
    );
    let all = [plain, dsack, f_rto, eifel];
    for (n, a) in all.iter().enumerate() {
        assert!(!all[..n].contains(a), "{seen}");
    }
}
