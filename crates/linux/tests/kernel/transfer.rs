//! Transfers in both directions between driftway's TCP and the kernel's.

use driftway_base::{Duration, Probability};
use driftway_linux::{ImpairedTun, Impairment, ImpairmentCounts, Namespace, UnmatchedPackets};
use driftway_tcp::{Config, ControlKind, Event, RecoveryKind, recovery_control_pairs};

use crate::application::{
    Application, Opener, PEER, UNIMPAIRED, both_ways, config, peer, unimpaired,
};
use crate::peer::{Options, Outcome, Step};

tests![
    sixty_four_mebibytes_each_way_as_client,
    sixty_four_mebibytes_each_way_as_server,
    every_recovery_over_a_bad_cable,
];

const MIB: u64 = 1 << 20;

/// Both ends send this many bytes at once and close; returns both ends when everything has arrived.
fn exchange(
    namespace: &Namespace,
    cable: ImpairedTun,
    opens: Opener,
    config: &Config,
    options: Options,
    bytes: u64,
) -> (Application, Outcome) {
    let mut application = Application::start(cable, opens, config, bytes);
    let peer = peer(namespace, opens, options, &[Step::Snapshot, Step::Exchange(bytes)]);
    application.run_until("exchange", |a| a.is_over() && a.driver.connection().peer_closed());
    let outcome = peer.outcome();
    assert_eq!(outcome.error, None);
    outcome.received.assert_complete(bytes);
    outcome.received.assert_same(&application.sent);
    application.received.assert_complete(bytes);
    application.received.assert_same(&outcome.sent);
    (application, outcome)
}

fn sixty_four_mebibytes_each_way_as_client() {
    sixty_four_mebibytes_each_way(Opener::We, ControlKind::Cubic, "reno");
}

fn sixty_four_mebibytes_each_way_as_server() {
    sixty_four_mebibytes_each_way(Opener::Kernel, ControlKind::Reno, "cubic");
}

fn sixty_four_mebibytes_each_way(
    opens: Opener,
    growth: ControlKind,
    congestion_control: &'static str,
) {
    let namespace = Namespace::new().unwrap();
    namespace.set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
    // Both ends share the CPU with other tests: a pause is not a loss.
    let min_rto = Duration::from_secs(1);
    let config = Config { recovery: RecoveryKind::Sack, growth, ecn: true, min_rto, ..config() };
    let options = Options { congestion_control, ..PEER };
    let (application, outcome) =
        exchange(&namespace, unimpaired(&namespace), opens, &config, options, 64 * MIB);

    assert_eq!(application.events.first(), Some(&Event::Connected));
    assert_eq!(application.driver.unmatched(), UnmatchedPackets::default());
    let connection = application.driver.connection();
    assert_eq!(
        (connection.config().growth, connection.config().recovery),
        (growth, RecoveryKind::Sack)
    );
    let ours = connection.negotiated();
    assert!(ours.timestamps && ours.sack && ours.window_scale && ours.ecn, "{ours:?}");
    let [theirs] = &outcome.snapshots[..] else { panic!("{outcome:?}") };
    assert_eq!(theirs.congestion_control, congestion_control);
    assert!(theirs.timestamps() && theirs.sack() && theirs.ecn(), "{theirs:?}");
    let (peers, _) = theirs.window_scale().unwrap();
    assert_eq!(peers, config.receive_window_shift());
}

fn every_recovery_over_a_bad_cable() {
    let chance = Probability::from_f64;
    let bad = Impairment {
        delay: Duration::from_millis(3),
        drop: chance(0.02),
        duplicate: chance(0.02),
        reorder: chance(0.03),
        reorder_delay: Duration::from_millis(4),
        corrupt: chance(0.02),
        ..UNIMPAIRED
    };
    let mut total = [ImpairmentCounts::default(); 2];
    for (seed, (recovery, growth)) in (0..).zip(recovery_control_pairs()) {
        for (opens, timestamps, congestion_control) in
            [(Opener::We, true, "cubic"), (Opener::Kernel, false, "reno")]
        {
            let namespace = Namespace::new().unwrap();
            let config = Config { recovery, growth, timestamps, ..config() };
            // The last pair, with timestamps, is configured like Linux.
            let config = if (recovery, timestamps) == (RecoveryKind::RackTlp, true) {
                Config { prr: true, dsack: true, eifel: true, f_rto: true, lcd: true, ..config }
            } else {
                config
            };
            let cable = both_ways(&namespace, (seed, bad));
            let options = Options { congestion_control, ..PEER };
            let (mut application, outcome) =
                exchange(&namespace, cable, opens, &config, options, 300_000);
            assert_eq!(outcome.snapshots[0].congestion_control, congestion_control);
            assert!(application.driver.connection().stats().retransmissions > 0);
            // Only corrupt packets were rejected, and no other packets arrived.
            let (to, from) = application.driver.device().counts();
            assert_eq!(application.driver.unmatched().not_for_connection, 0);
            assert!(application.driver.unmatched().undecodable <= from.corrupted);
            for (sum, counts) in total.iter_mut().zip([to, from]) {
                sum.dropped += counts.dropped;
                sum.duplicated += counts.duplicated;
                sum.reordered += counts.reordered;
                sum.corrupted += counts.corrupted;
            }
        }
    }
    for ImpairmentCounts { dropped, duplicated, reordered, corrupted, .. } in total {
        assert!([dropped, duplicated, reordered, corrupted].iter().all(|n| *n > 10), "{total:?}");
    }
}
