//! What a scenario leaves out is what TCP does when nobody tells it anything.

use scenario::{Growth, Recovery, Scenario, Time};
use tcp::{Config, GrowthKind, RecoveryKind};

const SHORT: &str = r#"
name = "defaults"
duration = "1 s"
[network]
kind = "path"
hops = 1
link = { rate = "1 Mbit/s", delay = "1 ms" }
[[flow]]
from = 0
to = 1
application = "ftp"
tcp = {}
"#;

#[test]
fn the_tcp_of_a_scenario_is_that_of_the_crate() {
    let scenario = Scenario::parse("short", SHORT, &[]).unwrap();
    let ours = scenario.flows[0].tcp.as_ref().unwrap();
    let config = Config::default();
    assert_eq!((ours.recovery, config.recovery), (Recovery::Sack, RecoveryKind::Sack));
    assert!(config.sack);
    assert_eq!((ours.growth, config.growth), (Growth::Reno, GrowthKind::Reno));
    assert_eq!(ours.mss.0, u64::from(config.mss));
    assert_eq!((ours.tick.rtt.0, ours.tick.timer.0), (config.clock.rtt, config.clock.timer));
    let delayed = config.delayed_ack.unwrap();
    assert_eq!((ours.delayed_ack, ours.delayed_ack_timeout.0), (true, delayed.timeout));
    assert_eq!(ours.ecn, config.ecn);
    assert_eq!(ours.timestamps, config.timestamps);
    assert_eq!(ours.window_scale, Some(config.window_scale));
    assert_eq!(ours.nagle, config.nagle);
    assert_eq!(ours.limited_transmit, Some(config.limited_transmit));
    assert_eq!(ours.prr, config.prr);
    assert_eq!(ours.dsack, config.dsack);
    assert_eq!(ours.eifel, config.eifel);
    assert_eq!(ours.f_rto, config.f_rto);
    assert_eq!(ours.lcd, config.lcd);
    assert_eq!(ours.initial_window, config.initial_window);
    assert_eq!(ours.initial_rto.0, config.initial_rto);
    assert_eq!((ours.min_rto.0, ours.max_rto.0), (config.min_rto, config.max_rto));
    assert_eq!(ours.persist_min.0, config.persist_min);
    assert_eq!(ours.persist_max.0, config.persist_max);
    assert_eq!(ours.keep_alive.map(|Time(idle)| idle), config.keep_alive);
    assert_eq!(ours.max_retries, config.max_retries);
    assert_eq!(ours.msl.0, config.msl);
    assert_eq!(ours.source_quench, config.source_quench);
    assert_eq!(ours.challenge_old_acks, config.challenge_old_acks);
    assert_eq!(ours.clear_srtt_after, config.clear_srtt_after);
}
