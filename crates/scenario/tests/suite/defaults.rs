//! The defaults of a scenario are those of the crate `tcp`.

use driftway_base::Duration;
use driftway_scenario::Scenario;
use driftway_tcp::{Config, ControlKind, RecoveryKind};

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
fn default_tcp_is_that_of_the_crate() {
    let scenario = Scenario::parse("short", SHORT, &[]).unwrap();
    let ours = scenario.flows[0].tcp.as_ref().unwrap();
    let config = Config::default();
    assert_eq!(
        (ours.tick.rtt.0, ours.tick.timer.0),
        (config.clock.rtt_tick, config.clock.timer_tick)
    );
    // The window has its own default, a round number.
    assert_eq!(ours.config(config.clock), Config { receive_buffer: 64_000, ..config });
    assert_eq!(ours.window_scale, Some(config.window_scale), "it is written once it is read");
    assert_eq!(ours.limited_transmit, Some(config.limited_transmit), "so is this");
    assert_eq!(ours.window_validation, Some(config.window_validation), "and this");
}

/// Every kind of option is set by its key, in its unit.
#[test]
fn keys_reach_the_connection() {
    let keys = "{ recovery = \"newreno\", growth = \"cubic\", ecn = true, nagle = false, \
                limited_transmit = false, window_validation = false, window_scale = true, initial_window = 3, \
                min_rto = \"200 ms\", keep_alive = \"75 s\", clear_srtt_after = 4, \
                delayed_ack = false }";
    let text = SHORT.replace("{}", keys);
    let scenario = Scenario::parse("short", &text, &[]).unwrap();
    let config = Config::default();
    let expected = Config {
        recovery: RecoveryKind::NewReno,
        growth: ControlKind::Cubic,
        receive_buffer: 64_000,
        delayed_ack: None,
        sack: false,
        ecn: true,
        nagle: false,
        limited_transmit: false,
        window_validation: false,
        window_scale: true,
        initial_window: 3,
        min_rto: Duration::from_millis(200),
        keep_alive: Some(Duration::from_secs(75)),
        clear_srtt_after: Some(4),
        ..config
    };
    assert_eq!(scenario.flows[0].tcp.as_ref().unwrap().config(config.clock), expected);
}
