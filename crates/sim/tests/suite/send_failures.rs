//! The events that westin-2003 §4.3 describes after a send failure at one hop, in the runs of its
//! figures 14 to 18; and the congestion windows of figures 10 to 13 (§4.1.2).

use std::path::Path;

use crate::common::logged;
use driftway_scenario::Scenario;
use driftway_sim::log::{Entry, Event, Layer};

/// One of the five figures.
struct Figure {
    /// The events of 1.6 s from the first send failure on.
    rows: Vec<Entry>,
}

/// One run of the paper's static one-hop network.
fn one_hop(duration: &str, changes: &[(&str, &str)]) -> Vec<Entry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/westin-2003/one-hop.toml");
    let duration = [("duration", duration)];
    let changes = duration.iter().chain(changes);
    let changes: Vec<_> =
        changes.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::load(path, &changes).unwrap_or_else(|error| panic!("{error}"));
    logged(&scenario, 1).1
}

impl Figure {
    fn new(changes: &[(&str, &str)]) -> Self {
        let rows = one_hop("14 s", changes);
        let failed = rows.iter().position(|row| row.event == Event::FalseLinkFailure).unwrap();
        let end = rows[failed].time_s.as_nanos() + 1_600_000_000;
        let within = rows.into_iter().skip(failed);
        Self { rows: within.take_while(|row| row.time_s.as_nanos() < end).collect() }
    }

    fn of(&self, layer: Layer, event: Event) -> impl Iterator<Item = &Entry> {
        self.rows.iter().filter(move |row| (row.layer, row.event) == (layer, event))
    }

    fn count(&self, event: Event) -> usize {
        self.of(Layer::Tcp, event).count()
    }

    fn drops(&self, node: u32, kind: &str) -> usize {
        let dropped = self.of(Layer::Routing, Event::Dropped);
        dropped.filter(|row| row.node == node && row.kind == kind).count()
    }

    /// The number of segments that reach the receiver after one that comes later in the stream.
    fn overtaken(&self) -> usize {
        let arrived = self.of(Layer::Routing, Event::Delivered).filter(|row| row.node == 1);
        let offsets: Vec<_> = arrived.filter_map(|row| row.offset_bytes).collect();
        offsets.windows(2).filter(|pair| pair[1] < pair[0]).count()
    }

    /// The congestion window of the first segment after the first acknowledgment that follows a fast
    /// retransmit (bytes).
    fn window_after_recovery(&self) -> u32 {
        let tcp = self.rows.iter().filter(|row| row.layer == Layer::Tcp);
        let after = tcp.skip_while(|row| row.event != Event::FastRetransmit);
        let mut after = after.skip_while(|row| row.event != Event::Acked);
        after.find_map(|row| row.cwnd_bytes).unwrap()
    }

    /// The congestion window before the failure has any effect (bytes).
    fn window_before(&self) -> u32 {
        self.rows.iter().find_map(|row| row.cwnd_bytes).unwrap()
    }
}

const ATCP: (&str, &str) = ("flow.0.aid", "atcp-partial");
const NEWRENO: (&str, &str) = ("flow.0.tcp.recovery", "newreno");
const AODV: (&str, &str) = ("network.routing", r#"{ protocol = "aodv" }"#);

#[test]
fn under_dsr_requeued_segments_arrive_late_and_are_retransmitted() {
    for changes in [&[][..], &[ATCP], &[NEWRENO], &[NEWRENO, ATCP]] {
        let figure = Figure::new(changes);
        assert_eq!(figure.of(Layer::Routing, Event::Dropped).count(), 0, "{changes:?}");
        assert!(figure.overtaken() > 0, "{changes:?}");
        assert!(figure.count(Event::FastRetransmit) > 0, "{changes:?}");
        // No packet was lost, so all of these are unnecessary.
        assert!(figure.count(Event::Retransmitted) > 0, "{changes:?}");
        assert_eq!(figure.count(Event::Timeout), 0, "{changes:?}");
    }
}

#[test]
fn atcp_restores_the_window_and_tahoe_then_retransmits_more() {
    let (tahoe, atcp) = (Figure::new(&[]), Figure::new(&[ATCP]));
    assert!(tahoe.window_after_recovery() < tahoe.window_before() / 8);
    assert!(atcp.window_after_recovery() >= atcp.window_before());
    let again = |figure: &Figure| figure.count(Event::Retransmitted);
    assert!(again(&atcp) > 5 * again(&tahoe), "{} {}", again(&atcp), again(&tahoe));
    // NewReno retransmits one segment and waits (figures 16 and 17).
    for changes in [&[NEWRENO][..], &[NEWRENO, ATCP]] {
        assert!(again(&Figure::new(changes)) < again(&tahoe), "{changes:?}");
    }
}

#[test]
fn under_aodv_both_ends_drop_and_tcp_waits_for_a_timeout() {
    for changes in [&[AODV][..], &[AODV, ATCP], &[AODV, NEWRENO]] {
        let figure = Figure::new(changes);
        assert!(figure.drops(0, "tcp-data") > 0 && figure.drops(1, "tcp-ack") > 0, "{changes:?}");
        assert_eq!((figure.count(Event::FastRetransmit), figure.overtaken()), (0, 0));
        assert_eq!(figure.count(Event::Timeout), 1, "{changes:?}");
        let tcp = figure.rows.iter().filter(|row| row.layer == Layer::Tcp);
        let of_sender =
            |row: &&Entry| matches!(row.event, Event::Sent | Event::Retransmitted | Event::Timeout);
        let first = tcp.clone().find(of_sender).unwrap();
        assert_eq!(first.event, Event::Timeout, "nothing is sent before it");
        let pause = first.time_s.as_secs_f64() - figure.rows[0].time_s.as_secs_f64();
        assert!(pause > 0.9, "{pause} s");
    }
}

/// The congestion windows of figures 10 to 13 (bytes): for each reduction by `event`, the window
/// before it, and the window after the next acknowledgment. Both are read where a segment is sent.
fn windows(changes: &[(&str, &str)], event: Event) -> Vec<(u32, u32)> {
    let rows = one_hop("40 s", changes);
    let tcp: Vec<&Entry> = rows.iter().filter(|row| row.layer == Layer::Tcp).collect();
    let reduced = (0..tcp.len()).filter(|&at| tcp[at].event == event);
    let windows = reduced.filter_map(|at| {
        let before = tcp[..at].iter().rev().find_map(|row| row.cwnd_bytes)?;
        let mut after = tcp[at..].iter().skip_while(|row| row.event != Event::Acked);
        Some((before, after.find_map(|row| row.cwnd_bytes)?))
    });
    windows.collect()
}

#[test]
fn windows_restart_at_one_segment_except_with_newreno_or_atcp() {
    const SEGMENT: u32 = 1460;
    let all = |changes: &[(&str, &str)], event, holds: fn(u32, u32) -> bool| {
        let windows = windows(changes, event);
        assert!(windows.len() > 5, "{changes:?} {windows:?}");
        for &(before, after) in &windows {
            assert!(holds(before, after), "{changes:?} {windows:?}");
        }
    };
    // Figure 10: reset to one segment, which the acknowledgment increases to two.
    all(&[], Event::FastRetransmit, |_, after| after <= 2 * SEGMENT);
    // Figure 11: restored after the next new acknowledgment, but not after a timeout.
    all(&[ATCP], Event::FastRetransmit, |before, after| after >= before);
    all(&[AODV, ATCP], Event::Timeout, |_, after| after <= 2 * SEGMENT);
    // Figure 12: Fast Recovery instead.
    all(&[NEWRENO], Event::FastRetransmit, |_, after| after > 2 * SEGMENT);
    // Figure 13: as with Tahoe.
    all(&[NEWRENO, ATCP], Event::FastRetransmit, |before, after| after >= before);
}
