//! Options: MSS, timestamps and PAWS, SACK and D-SACK generation.

use crate::common::test_connection::*;
use driftway_base::Known;
use driftway_tcp::{Config, State};

fn mss(conn: &TestConnection) -> Known<u32> {
    conn.tcp.view().mss
}

#[test]
fn the_smaller_mss_is_used_and_536_without_the_option() {
    // RFC 9293 §3.7.1
    let of =
        |peer| mss(&TestConnection::established_by(&plain(), syn_ack().options(|o| o.mss = peer)));
    assert_eq!(of(Some(700)), Known::Exact(700));
    assert_eq!(of(Some(9000)), Known::Exact(1000));
    assert_eq!(of(None), Known::Exact(536));
    assert_eq!(of(Some(0)), Known::Exact(48));
}

#[test]
fn the_syn_offers_the_configuration_and_the_syn_ack_the_common_options() {
    let config = Config { sack: true, timestamps: true, window_scale: true, ecn: true, ..plain() };
    let mut conn = TestConnection::syn_sent(&config);
    let options = conn.last[0].segment.options;
    assert!(options.sack_permitted && options.timestamps.is_some());
    assert_eq!((options.mss, options.window_scale), (Some(1000), Some(0)));
    conn.at(RTT);
    conn.receives(syn_ack());
    conn.sends(["ack 1"]);
    assert_eq!(conn.tcp.negotiated(), driftway_tcp::NegotiatedOptions::default());
    let mut conn = TestConnection::listening(&config);
    conn.receives(syn().timestamps(7, 0));
    conn.sends(["SYN-ACK 1"]);
    let options = conn.last[0].segment.options;
    assert!(!options.sack_permitted && options.window_scale.is_none());
    assert_eq!(options.timestamps.map(|t| t.echo), Some(7));
}

#[test]
fn options_reduce_the_payload() {
    // RFC 6691: 12 bytes for timestamps, 36 for four SACK blocks.
    let config = Config { timestamps: true, ..plain() };
    let mut conn = TestConnection::established(&config);
    conn.writes(3000);
    conn.sends(["1..989", "989..1977", "1977..2965"]);
    for sent in &conn.last {
        assert_eq!(sent.segment.payload.len + sent.segment.options.len(), 1000);
    }
    let mut conn = TestConnection::established(&Config { sack: true, ..plain() });
    conn.receives(data(1001, 1000));
    conn.sends(["ack 1 sack 1001..2001"]);
    conn.writes(2000);
    let first = conn.sends_some();
    assert!(first[0].starts_with("1..965 sack"), "{first:?}");
    for sent in &conn.last {
        assert!(sent.segment.payload.len + sent.segment.options.len() <= 1000);
    }
}

#[test]
fn the_timestamp_at_rcv_nxt_is_echoed() {
    // RFC 7323 §4.3, and its three cases: delayed acknowledgments, a hole, a filled hole.
    let mut conn = TestConnection::established(&Config { timestamps: true, ..plain() });
    let echo =
        |conn: &TestConnection| conn.last.last().unwrap().segment.options.timestamps.unwrap().echo;
    assert_eq!(echo(&conn), 5000);
    conn.receives(data(1, 1000).timestamps(5001, 1));
    conn.sends(["ack 1001"]);
    assert_eq!(echo(&conn), 5001);
    conn.receives(data(2001, 1000).timestamps(5003, 1));
    conn.sends(["ack 1001"]);
    assert_eq!(echo(&conn), 5001, "not that of an out-of-order segment");
    conn.receives(data(1001, 1000).timestamps(5002, 1));
    conn.sends(["ack 3001"]);
    assert_eq!(echo(&conn), 5002);
}

#[test]
fn a_delayed_acknowledgment_echoes_the_first_segment() {
    let delayed = driftway_tcp::DelayedAck {
        timeout: driftway_base::Duration::from_millis(200),
        on_tick: false,
    };
    let config = Config { timestamps: true, delayed_ack: Some(delayed), ..plain() };
    let mut conn = TestConnection::established(&config);
    conn.receives(data(1, 1000).timestamps(5001, 1));
    conn.receives(data(1001, 1000).timestamps(5002, 1));
    conn.sends(["ack 2001"]);
    assert_eq!(conn.last[0].segment.options.timestamps.unwrap().echo, 5001);
}

#[test]
fn each_echo_is_a_sample_and_weighs_less_in_a_large_flight() {
    // RFC 7323 §4.2: four segments in flight give two samples per round trip.
    let mut conn = TestConnection::established(&Config { timestamps: true, mss: 1012, ..plain() });
    let samples = conn.tcp.stats().rtt_samples;
    conn.writes(4000);
    assert_eq!(conn.sends_some().len(), 4);
    let value = conn.last[0].segment.options.timestamps.unwrap().value;
    conn.at(300);
    conn.receives(ack(1001).timestamps(5001, value));
    let srtt = conn.tcp.view().srtt.value().flatten().unwrap();
    assert_eq!(srtt, driftway_base::Duration::from_micros(100_000 - 6250 + 12_500));
    conn.receives(ack(2001).timestamps(5001, value));
    assert_eq!(conn.tcp.stats().rtt_samples, samples + 2);
    conn.receives(ack(3001).timestamps(5001, value + 1_000_000)); // from the future
    assert_eq!(conn.tcp.stats().rtt_samples, samples + 2);
}

#[test]
fn paws_rejects_old_timestamps() {
    // RFC 7323 §5.3
    let mut conn = TestConnection::established(&Config { timestamps: true, ..plain() });
    conn.receives(data(1, 10).timestamps(6000, 1));
    conn.sends(["ack 11"]);
    conn.receives(data(11, 10).timestamps(5999, 1));
    conn.sends(["ack 11"]);
    assert_eq!(conn.tcp.stats().segments_rejected, 1);
    conn.receives(data(11, 10).timestamps(6000, 1));
    conn.sends(["ack 21"]);
    // §5.2: resets are exempt.
    conn.receives(rst(21).timestamps(1, 1));
    conn.is(State::Closed);
}

#[test]
fn the_timestamp_of_a_segment_with_an_unacceptable_acknowledgment_does_not_count() {
    // RFC 9293 §3.10.7.4: such a segment is dropped.
    for unacceptable in [data(1, 10).acking(900), data(1, 0).fin().acking(900)] {
        let mut conn = TestConnection::established(&Config { timestamps: true, ..plain() });
        conn.receives(unacceptable.timestamps(900_000, 1));
        conn.sends(["ack 1"]);
        conn.receives(data(1, 10).timestamps(5001, 1));
        conn.sends(["ack 11"]);
    }
}

#[test]
fn after_24_days_ts_recent_is_invalid() {
    // RFC 7323 §5.5
    let mut conn = TestConnection::established(&Config { timestamps: true, ..plain() });
    conn.at(25 * 24 * 3600 * 1000);
    conn.receives(data(1, 10).timestamps(4000, 1));
    conn.sends(["ack 11"]);
    conn.receives(data(11, 10).timestamps(4001, 1));
    conn.sends(["ack 21"]);
}

#[test]
fn sack_blocks_most_recent_first() {
    // RFC 2018 §4
    let mut conn = TestConnection::established(&Config { sack: true, ..plain() });
    conn.receives(data(1001, 1000));
    conn.sends(["ack 1 sack 1001..2001"]);
    conn.receives(data(3001, 1000));
    conn.sends(["ack 1 sack 3001..4001 sack 1001..2001"]);
    conn.receives(data(2001, 500));
    conn.sends(["ack 1 sack 1001..2501 sack 3001..4001"]);
    conn.receives(data(1, 1000));
    conn.sends(["ack 2501 sack 3001..4001"]);
    conn.receives(data(2501, 500));
    conn.sends(["ack 4001"]);
}

#[test]
fn three_blocks_fit_beside_timestamps_four_without() {
    for (timestamps, most) in [(false, 4), (true, 3)] {
        let mut conn = TestConnection::established(&Config { sack: true, timestamps, ..plain() });
        for n in 1..=5 {
            conn.receives(data(1 + n * 2000, 1000).timestamps(5000, 1));
            conn.sends_some();
        }
        let options = conn.last[0].segment.options;
        assert_eq!(options.sack.len(), most);
        assert!(options.len() <= 40);
    }
}

#[test]
fn duplicate_segments_are_reported_once() {
    // RFC 2883 §4: below the acknowledgment, inside a block, and partial.
    let mut conn = TestConnection::established(&Config { sack: true, dsack: true, ..plain() });
    conn.receives(data(1, 1000));
    conn.sends(["ack 1001"]);
    conn.receives(data(1, 1000));
    conn.sends(["ack 1001 sack 1..1001"]);
    conn.receives(data(2001, 1000));
    conn.sends(["ack 1001 sack 2001..3001"]);
    conn.receives(data(2001, 500));
    conn.sends(["ack 1001 sack 2001..2501 sack 2001..3001"]);
    conn.receives(data(501, 1000));
    conn.sends(["ack 1501 sack 501..1001 sack 2001..3001"]);
}
