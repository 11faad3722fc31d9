//! The peer's window and ours: RFC 9293 §3.8.6, RFC 5681 §4.1.

use crate::scripted::receiver::CLEAN;
use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, data};

pub fn scripts() -> Vec<Script> {
    vec![
        closes_with_data_in_flight(),
        closes_with_data_in_flight_and_loses_it(),
        probes(),
        probe_is_accepted(),
        opens_by_itself(),
        small_window(),
        shrinks(),
        window_of_seven(),
        idle_restart(),
        idle_restart_after_growth(),
        application_limited(),
        we_close_ours(),
    ]
}

fn closes_with_data_in_flight() -> Script {
    Script::new("closes_with_data_in_flight", "the window closes before all that was sent")
        .in_flight(40)
        .at(200)
        .receives(ack(3001).window(0))
        .at(600)
        .receives(ack(3001).window(0))
        .at(1200)
        .receives(ack(3001).window(0))
        .at(1300)
        .receives(ack(10001).window(100_000))
        .at(1400)
        .receives_all(acks(10001, 13001))
        .later(20)
}

fn closes_with_data_in_flight_and_loses_it() -> Script {
    Script::new("closes_and_discards", "what was in flight beyond the window is discarded")
        .in_flight(40)
        .at(200)
        .receives(ack(3001).window(0))
        .at(1500)
        .receives(ack(3001).window(100_000))
        .at(1600)
        .receives(ack(4001).window(100_000))
        .at(1700)
        .receives(ack(10001).window(100_000))
        .later(20)
}

fn probes() -> Script {
    Script::new("probes", "a closed window: the probes, their contents and their spacing")
        .in_flight(10)
        .at(200)
        .receives(ack(10001).window(0))
        .at(250)
        .writes(5000)
        .at(8000)
}

fn probe_is_accepted() -> Script {
    Script::new("probe_is_answered", "each probe is answered with a closed window, then it opens")
        .in_flight(10)
        .at(200)
        .receives(ack(10001).window(0))
        .at(250)
        .writes(5000)
        .at(600)
        .receives(ack(10001).window(0))
        .at(1300)
        .receives(ack(10001).window(0))
        .at(1500)
        .receives(ack(10001).window(50_000))
        .later(50)
}

fn opens_by_itself() -> Script {
    Script::new("opens_by_itself", "a window update before the first probe")
        .in_flight(20)
        .at(200)
        .receives(ack(10001).window(0))
        .at(300)
        .receives(ack(10001).window(50_000))
        .later(50)
}

fn small_window() -> Script {
    Script::new("small_window", "a window below a segment: RFC 9293 §3.8.6.2.1")
        .in_flight(20)
        .at(200)
        .receives(ack(10001).window(512))
        .at(1000)
        .receives(ack(10513).window(512))
        .later(200)
}

fn shrinks() -> Script {
    Script::new("shrinks", "the right edge moves left: RFC 9293 §3.8.6")
        .in_flight(40)
        .at(200)
        .receives(ack(2001).window(2048))
        .later(20)
        .receives(ack(4001).window(2048))
        .later(20)
        .receives(ack(8001).window(8192))
        .later(300)
}

fn window_of_seven() -> Script {
    Script::new("window_of_seven", "the peer's window limits: cwnd does not grow beyond its use")
        .window(7040)
        .established()
        .receiver(CLEAN)
        .writes(40_000)
        .at(900)
}

fn idle_restart() -> Script {
    Script::new("idle_restart", "nothing to send for longer than the timeout: RFC 5681 §4.1")
        .established()
        .receiver(CLEAN)
        .writes(60_000)
        .at(1500)
        .writes(60_000)
        .at(2000)
}

fn idle_restart_after_growth() -> Script {
    Script::new("long_idle_restart", "the same after many timeouts' time")
        .established()
        .receiver(CLEAN)
        .writes(150_000)
        .at(4000)
        .writes(60_000)
        .at(4500)
}

fn application_limited() -> Script {
    let script = Script::new("application_limited", "two segments in each round trip: RFC 7661");
    let script = script.established().receiver(CLEAN).writes(30_000).at(350);
    (0..12).fold(script, |script, _| script.writes(2000).later(110)).writes(60_000).later(500)
}

fn we_close_ours() -> Script {
    let script = Script::new("we_close_ours", "the application does not read until it is full");
    let script = script.established().stops_reading();
    let script = (0..20).fold(script, |script, n| script.receives(data(1 + n * 1000, 1000)));
    script.later(300).reads().later(100)
}
