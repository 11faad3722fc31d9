//! Linux's deviations from the RFCs, each by its option, beside the RFC's rule.

use crate::common::test_connection::*;
use driftway_base::{Duration, Instant};
use driftway_tcp::congestion::{AckedData, CongestionWindow, ControlOptions, new, slow_start};
use driftway_tcp::{Clock, Config, ControlKind, RecoveryKind};
use driftway_wire::TcpFlags;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn sack() -> Config {
    Config { recovery: RecoveryKind::Sack, sack: true, ..plain() }
}

#[test]
fn slow_start_counts_all_acknowledged_bytes() {
    for (slow_start_by_bytes, cwnd) in [(false, 5000), (true, 7000)] {
        let mut conn = TestConnection::in_flight(&Config { slow_start_by_bytes, ..plain() }, 4);
        conn.receives(ack(3001));
        assert_eq!(conn.cwnd(), cwnd);
    }
    // Up to ssthresh; the rest is left for congestion avoidance.
    let acked =
        AckedData { bytes: 3000, mss: 1000, byte_counting: true, cwnd_limited: true, ..no_data() };
    let mut window = CongestionWindow { cwnd: 9000, ssthresh: 10_000 };
    let rest = slow_start(&mut window, &acked).map(|rest| rest.bytes);
    assert_eq!((window.cwnd, rest), (10_000, Some(2000)));
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let mut window = CongestionWindow { cwnd: 9000, ssthresh: 10_000 };
        new(growth, &ControlOptions::default()).on_ack(Instant::ZERO, &mut window, &acked);
        assert!((10_001..10_300).contains(&window.cwnd), "{growth:?} {window:?}");
    }
}

#[test]
fn timeouts_come_at_the_ends_of_the_wheels_buckets() {
    // Ticks of 4 ms. Without a sample 1 s, which is 250 ticks, in buckets of 32 ms; from 504 ticks on of 256 ms.
    let wheel = Clock { timer_tick: MS(4), wheel: true, ..Clock::default() };
    let mut conn = TestConnection::established(&Config { clock: wheel, ..plain() });
    conn.writes(1000);
    conn.sends(["1..1001"]);
    // Established at 100 ms: 100 + 1000 lies in the bucket that ends at 1120; 1120 + 2000 in that to 3136.
    for ms in [1120, 3136, 7168, 15_360] {
        conn.quiet_until(ms - 1);
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
    // The timeout is a whole number of ticks before it is backed off: 300 ms are 43 of 7 ms.
    let clock = Clock { timer_tick: MS(7), ..wheel };
    let config = Config { clock, linux_rto: true, min_rto: MS(200), ..plain() };
    assert_eq!(TestConnection::established(&config).rto(), MS(301));
}

#[test]
fn a_drop_by_the_own_interface_is_a_final_reduction() {
    // Ten in flight when the carrier is lost; the acknowledgment of three of them was lost with it. The timeout is
    // spurious, but the window before is not restored: it is one segment, and three for those acknowledged.
    for local_drops in [true, false] {
        let config = Config {
            timestamps: true,
            prr: true,
            ssthresh_from_cwnd: true,
            recovery_keeps_ssthresh: true,
            slow_start_by_bytes: true,
            eifel: true,
            initial_window: 10,
            local_drops,
            ..sack()
        };
        let mut conn = TestConnection::established(&config);
        let segment = 988;
        conn.writes(10 * segment);
        assert_eq!(conn.sends_some().len(), 10);
        let before = conn.cwnd();
        conn.does(|tcp, now| tcp.on_local_drop(now));
        assert_eq!(conn.ssthresh() < 10_000, local_drops);
        conn.at(1100);
        assert_eq!(conn.sends_some().len(), 1);
        // The echo is that of the first transmission.
        conn.receives(ack(1 + 3 * segment as u32).timestamps(5001, 1));
        conn.sends_some();
        let expected = if local_drops { 4 * segment as u32 } else { before + 3 * segment as u32 };
        assert_eq!(conn.cwnd(), expected);
    }
}

#[test]
fn ssthresh_is_computed_from_cwnd_even_if_unused() {
    for (ssthresh_from_cwnd, ssthresh) in [(false, 3000), (true, 5000)] {
        let config = Config { ssthresh_from_cwnd, initial_window: 10, ..sack() };
        let mut conn = TestConnection::established(&config);
        conn.writes(6000);
        conn.sends_some();
        conn.receives(ack(1).sack(&[(1001, 4001)]));
        assert_eq!(conn.ssthresh(), ssthresh);
    }
}

#[test]
fn a_timeout_in_fast_recovery_leaves_ssthresh_unchanged() {
    // RFC 5681 §3.1: half of the window of fast recovery, which is half already.
    for (recovery_keeps_ssthresh, ssthresh) in [(false, 2500), (true, 5000)] {
        let config = Config { recovery_keeps_ssthresh, ..sack() };
        let mut conn = TestConnection::in_flight(&config, 10);
        conn.at(200);
        conn.receives(ack(1).sack(&[(1001, 4001)]));
        assert_eq!(
            (conn.sends_some().first().unwrap().as_str(), conn.ssthresh()),
            ("1..1001", 5000)
        );
        conn.at(1200);
        conn.sends(["1..1001"]);
        assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, ssthresh));
    }
}

#[test]
fn the_minimum_bounds_the_variation_instead_of_the_sum() {
    // RFC 6298 §2.4: 100 + 4 · 50 ms, and less with each steady round trip.
    for (linux_rto, first, tenth) in [(false, 300, 200), (true, 300, 300)] {
        let config = Config { linux_rto, min_rto: MS(200), timestamps: true, ..plain() };
        let mut conn = TestConnection::established(&config);
        assert_eq!(conn.rto(), MS(first));
        for n in 1..30_u32 {
            conn.writes(988);
            conn.sends_some();
            conn.at(RTT + 100 * u64::from(n));
            let echo = conn.last[0].segment.options.timestamps.unwrap().value;
            conn.receives(ack(n * 988 + 1).timestamps(5000 + 100 * n, echo));
        }
        assert_eq!(conn.rto(), MS(tenth));
    }
}

#[test]
fn the_timer_restarts_with_the_retransmission_of_the_head() {
    // The first retransmission restarts it in any case; the second, after a SACK of later data,
    // only with the option.
    for (rearm_with_head, timeout) in [(false, 1200), (true, 1301)] {
        let config = Config {
            recovery: RecoveryKind::RackTlp,
            sack: true,
            prr: true,
            rearm_with_head,
            ..plain()
        };
        let mut conn = TestConnection::in_flight(&config, 10);
        conn.writes(10_000);
        conn.at(200);
        conn.receives(ack(1).sack(&[(1001, 4001)]));
        assert_eq!(conn.sends_some(), ["1..1001"]);
        conn.at(201);
        conn.receives(ack(1).sack(&[(1001, 10_001)]));
        assert!(!conn.sends_some().is_empty());
        conn.at(301);
        conn.receives(ack(1).sack(&[(1001, 11_001)]));
        assert_eq!(conn.sends_some()[0], "1..1001");
        assert_eq!(
            conn.tcp.view().retransmission_deadline.value().unwrap(),
            Some(Instant::from_millis(timeout))
        );
    }
}

#[test]
fn f_rto_is_tried_at_each_timeout_of_a_segment() {
    for (f_rto_again, undone) in [(false, 0), (true, 1)] {
        let config = Config { f_rto: true, f_rto_again, limited_transmit: false, ..sack() };
        let mut conn = TestConnection::in_flight(&config, 8);
        conn.writes(9000);
        for ms in [1100, 3100] {
            conn.at(ms);
            conn.sends(["1..1001"]);
        }
        conn.at(3200);
        conn.receives(ack(1001));
        conn.sends_some();
        conn.receives(ack(2001));
        assert_eq!(conn.tcp.stats().responses_undone, undone);
    }
}

#[test]
fn an_overtaken_acknowledgment_counts() {
    let config = Config { timestamps: true, ..sack() };
    let report = ack(1).sack(&[(1001, 4001)]);
    for (disordered_acks, value, refused) in [
        (false, 5099, 1),
        (true, 5099, 0),
        // Older than the timeout of one second.
        (true, 4099, 1),
    ] {
        let mut conn = TestConnection::in_flight(&Config { disordered_acks, ..config }, 6);
        conn.at(200);
        conn.receives(ack(1).timestamps(5100, 100));
        conn.sends_some();
        conn.receives(report.timestamps(value, 100));
        assert_eq!(conn.tcp.stats().segments_rejected, refused);
        assert_eq!(conn.tcp.stats().fast_retransmits, u64::from(refused == 0));
        conn.sends_some();
    }
    // Not if it carries data, or changes the window or the acknowledgment number.
    for peer in [report.carrying(10), report.window(0), report.acking(1001), report.seq(2)] {
        let mut conn = TestConnection::in_flight(&Config { disordered_acks: true, ..config }, 6);
        conn.at(200);
        conn.receives(ack(1).timestamps(5100, 100));
        conn.sends_some();
        conn.receives(peer.timestamps(5098, 100));
        assert_eq!(conn.tcp.stats().segments_rejected, 1);
        conn.sends_some();
    }
    // By one tick, any segment may be older.
    let mut conn = TestConnection::in_flight(&Config { disordered_acks: true, ..config }, 6);
    conn.at(200);
    conn.receives(ack(1).timestamps(5100, 100));
    conn.sends_some();
    conn.receives(ack(1001).timestamps(5099, 100));
    assert_eq!((conn.tcp.stats().segments_rejected, conn.tcp.acknowledged_bytes()), (0, 1000));
}

fn linux() -> Config {
    Config {
        recovery: RecoveryKind::RackTlp,
        sack: true,
        prr: true,
        slow_start_by_bytes: true,
        ssthresh_from_cwnd: true,
        linux_growth: true,
        linux_persist: true,
        ..plain()
    }
}

#[test]
fn the_window_grows_by_what_is_delivered_once() {
    // Ten segments in flight; 2 and 3 are overtaken by none, reported, and acknowledged with 1.
    for sack in [true, false] {
        let recovery = if sack { RecoveryKind::RackTlp } else { RecoveryKind::NewReno };
        let config = Config { sack, recovery, limited_transmit: false, ..linux() };
        let mut conn = TestConnection::in_flight(&config, 10);
        conn.writes(10_000);
        conn.at(200);
        for reported in [2001, 3001] {
            let peer = ack(1);
            conn.receives(if sack { peer.sack(&[(1001, reported)]) } else { peer });
            conn.quiet();
        }
        conn.receives(ack(3001));
        assert_eq!((conn.sends_some().len(), conn.cwnd()), (4, 11_000), "SACK: {sack}");
    }
}

#[test]
fn reordering_slows_growth_down() {
    // Groups of four that arrive as 2, 3, 1, 4: two of four segments count. What a kernel does.
    let config = Config { limited_transmit: false, ..linux() };
    let mut conn = TestConnection::in_flight(&config, 10);
    conn.writes(1_000_000);
    let (mut una, mut windows) = (1, vec![]);
    for round in 0..4 {
        conn.at(200 + 100 * round);
        let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
        while una < end {
            let left = (end - una) / MSS;
            if left >= 4 {
                for reported in [2 * MSS, 3 * MSS] {
                    conn.receives(ack(una).sack(&[(una + MSS, una + reported)]));
                    conn.sends_some();
                }
                conn.receives(ack(una + 3 * MSS));
                conn.sends_some();
                una += 4 * MSS;
            } else {
                una += MSS;
            }
            conn.receives(ack(una));
            conn.sends_some();
        }
        windows.push(conn.cwnd() / MSS);
    }
    assert_eq!(windows, [16, 24, 36, 54]);
}

const MSS: u32 = 1000;

#[test]
fn the_reduction_for_an_ecn_echo_is_proportional() {
    let config = Config { ecn: true, growth: ControlKind::Cubic, ..linux() };
    let mut conn = TestConnection::in_flight(&config, 10);
    conn.writes(100_000);
    conn.at(200);
    let sent: Vec<_> = (1..=10)
        .map(|n| {
            let peer = ack(n * MSS + 1);
            conn.receives(if n == 1 { peer.with(TcpFlags::ECE) } else { peer });
            conn.sends_some().len()
        })
        .collect();
    assert_eq!(sent, [1, 1, 1, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (7000, 7000));
}

#[test]
fn with_a_closed_window_retransmissions_are_the_probes() {
    let mut conn = TestConnection::in_flight(&Config { limited_transmit: false, ..linux() }, 4);
    conn.writes(4000);
    conn.at(200);
    conn.receives(ack(1001).window(0));
    conn.quiet();
    // The timeout of the first segment, which was sent at 100 ms.
    conn.at(1100);
    conn.sends(["1001..2001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 2000));
    // The window opens: only the next timeout goes on.
    conn.at(1300);
    conn.receives(ack(1001));
    conn.quiet_until(3099);
    conn.at(3100);
    assert_eq!(conn.sends_some()[0], "1001..2001");
}

#[test]
fn with_nothing_outstanding_a_probe_has_no_data() {
    let mut conn = TestConnection::in_flight(&linux(), 2);
    conn.writes(1000);
    conn.at(200);
    conn.sends_some();
    let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
    conn.receives(ack(end).window(0));
    conn.writes(1000);
    conn.at(1200);
    conn.sends(["ack 1"]);
    assert_eq!(conn.last[0].segment.seq, OURS + end - 1);
    assert_eq!(conn.tcp.stats().probes, 1);
}

#[test]
fn the_window_halves_for_each_timeout_of_an_idle_period() {
    for (idle, cwnd) in [(900, 40), (1500, 20), (2500, 10), (3500, 5), (60_000, 2)] {
        let config = Config { initial_window: 2, window_validation: false, ..linux() };
        let mut conn = TestConnection::in_flight(&config, 2);
        let mut acked = 1;
        for _ in 0..18 {
            acked += MSS;
            conn.writes(2000);
            conn.sends_some();
            conn.receives(ack(acked));
            conn.sends_some();
        }
        let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
        conn.receives(ack(end));
        assert_eq!(conn.cwnd(), 40_000);
        conn.at(RTT + idle);
        conn.writes(1000);
        conn.sends_some();
        assert_eq!(conn.cwnd(), cwnd * MSS, "{idle} ms");
    }
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let delayed_ack = Some(driftway_tcp::DelayedAck { timeout: MS(40), on_tick: false });
    let config = Config { quick_acks: true, delayed_ack, ..linux() };
    let mut conn = TestConnection::established(&config);
    let mut at_once = 0;
    for n in 0..40 {
        conn.receives(data(1 + n * MSS, MSS));
        at_once += u32::from(!conn.sends_some().is_empty());
    }
    // Sixteen, then every second one.
    assert_eq!(at_once, 16 + 12);
}

#[test]
fn the_first_timeouts_of_a_syn_are_not_backed_off() {
    let mut conn = TestConnection::syn_sent(&Config { syn_linear_timeouts: 4, ..linux() });
    for ms in [1000, 2000, 3000, 4000, 5000, 7000, 11_000] {
        conn.quiet_until(ms - 1);
        conn.at(ms);
        conn.sends(["SYN"]);
    }
}

#[test]
fn one_lost_syn_leaves_the_initial_window() {
    for (timeouts, cwnd) in [(1, 10_000), (2, 1000)] {
        let config = Config { initial_window: 10, ..linux() };
        let mut conn = TestConnection::syn_sent(&config);
        for ms in [1000, 3000].into_iter().take(timeouts) {
            conn.at(ms);
            conn.sends(["SYN"]);
        }
        conn.receives(syn_ack().options(|o| o.sack_permitted = true));
        conn.sends(["ack 1"]);
        assert_eq!(conn.cwnd(), cwnd);
    }
}

#[test]
fn the_sack_of_a_tail_loss_probe_shows_losses_below() {
    // The SACK above a hole echoes an old timestamp; it is of the probe all the same.
    let config = Config { timestamps: true, dsack: true, ..linux() };
    let mut conn = TestConnection::in_flight(&config, 4);
    conn.at(200);
    let len = 988;
    conn.receives(ack(len + 1).timestamps(5200, 100));
    conn.at(400);
    let probe = conn.sends_some();
    assert_eq!(probe.len(), 1);
    conn.at(500);
    let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
    let start = conn.last[0].segment.seq.since(OURS);
    conn.receives(ack(len + 1).sack(&[(start, end)]).timestamps(5500, 100));
    assert!(!conn.sends_some().is_empty());
    assert_eq!(conn.tcp.stats().fast_retransmits, 1);
}

#[test]
fn an_acknowledgment_of_a_retransmission_is_measured_by_its_echo() {
    // Two segments arrive, and their acknowledgments are lost; that of the retransmission repeats the
    // timestamp that the peer has: the round trip is that of an outage, in which all has arrived.
    let config = Config { timestamps: true, linux_rto: true, ..linux() };
    let mut conn = TestConnection::in_flight(&config, 2);
    let before = conn.tcp.view().srtt.value().flatten().expect("measured by the handshake");
    let stamp = conn.last[0].segment.options.timestamps.expect("timestamps").value;
    let mut now = conn.now.as_millis();
    while conn.losses.is_empty() {
        now += 1;
        conn.at(now);
        conn.sends_some();
    }
    conn.at(now + 40);
    let end = conn.tcp.view().snd_max.value().expect("exact").since(OURS);
    conn.receives(ack(end).timestamps(5001, stamp));
    let since = MS(now + 40 - RTT);
    let measured = conn.tcp.view().srtt.value().flatten().expect("measured");
    // RFC 6298 §2.3: an eighth of it counts.
    assert!(
        measured.abs_diff(before + since.saturating_sub(before).over(8)) < MS(2),
        "{measured:?}"
    );
}
