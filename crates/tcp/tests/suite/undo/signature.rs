//! One transfer over a path that stalls for a while and loses nothing: the effect of each detection
//! on the timeout that it causes.

use driftway_base::{Duration, Instant};

use super::*;
use crate::common::{DELAY, Pair, WireAction};

#[derive(Debug, PartialEq, Eq)]
struct Trace {
    timeouts: u64,
    retransmissions: u64,
    undone: u64,
    /// Bytes acknowledged at the undo.
    undone_at: Option<u64>,
    done: Instant,
}

/// A transfer of 300 segments; the path stalls from 250 ms on, for less than two timeouts.
fn trace(config: &Config) -> Trace {
    let mut pair = Pair::new(config, config);
    pair.ends[0].tcp.write(300_000);
    pair.policy = Box::new(move |from, _, transmit| {
        // Our timestamps are the time in milliseconds.
        let now = transmit.segment.options.timestamps.map_or(0, |t| u64::from(t.value));
        let late = from == 0 && (250..2300).contains(&now);
        WireAction::Deliver(DELAY + Duration::from_millis(if late { 2300 - now } else { 0 }))
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
fn each_detection_has_its_characteristic_savings() {
    let sack = Config { recovery: RecoveryKind::Sack, sack: true, timestamps: true, ..plain() };
    let sack = Config { receive_buffer: 1 << 20, window_scale: true, ..sack };
    let plain = trace(&sack);
    let dsack = trace(&Config { dsack: true, ..sack });
    let f_rto = trace(&Config { f_rto: true, ..sack });
    let eifel = trace(&Config { eifel: true, ..sack });
    let seen = format!("{plain:#?}\n{dsack:#?}\n{f_rto:#?}\n{eifel:#?}");
    assert!([&plain, &dsack, &f_rto, &eifel].iter().all(|t| t.timeouts == 1), "{seen}");
    // Without detection: all outstanding data is retransmitted.
    assert!(plain.undone == 0 && plain.retransmissions > 10, "{seen}");
    // D-SACK: the same, but the window is restored finally.
    assert!(dsack.undone == 1 && dsack.retransmissions > 10, "{seen}");
    // F-RTO: one retransmission and one round trip.
    assert_eq!((f_rto.undone, f_rto.retransmissions), (1, 1), "{seen}");
    // Eifel: one retransmission, detected by the first acknowledgment.
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
