//! The receiver: acknowledgments delayed (RFC 5681 §4.2) or at once, SACK, D-SACK.

use crate::scripted::script::Script;
use crate::scripted::segment::data;

pub fn scripts() -> Vec<Script> {
    vec![
        first_acks(),
        later_acks(),
        ping_pong(),
        small_segments(),
        gap(),
        several_gaps(),
        duplicate_data(),
        partly_duplicate_data(),
        beyond_the_window(),
        acks_with_data(),
    ]
}

fn first_acks() -> Script {
    let script = Script::new("first_acks", "the first segments of a stream, 20 ms apart");
    (0..24)
        .fold(script.established(), |script, n| script.receives(data(1 + n * 1000, 1000)).later(20))
        .later(200)
}

fn later_acks() -> Script {
    let script = Script::new("later_acks", "sixty segments, then single ones");
    let script =
        (0..60).fold(script.established(), |script, n| script.receives(data(1 + n * 1000, 1000)));
    (60..63)
        .fold(script, |script, n| script.later(300).receives(data(1 + n * 1000, 1000)))
        .later(300)
}

fn ping_pong() -> Script {
    let script =
        Script::new("ping_pong", "questions and answers: the answer has the ACK, or 40 ms");
    let script = (0..4).fold(script.established(), |script, n| {
        let question = data(1 + n * 100, 100).acking(1 + n * 100);
        script.receives(question).later(5).writes(100).later(95)
    });
    script.receives(data(401, 100).acking(401)).later(300)
}

fn small_segments() -> Script {
    let script = Script::new("small_segments", "ten bytes each, 5 ms apart");
    let script = (0..40)
        .fold(script.established(), |script, n| script.receives(data(1 + n * 10, 10)).later(5));
    script.later(300)
}

fn gap() -> Script {
    Script::new("gap", "a gap, and its end: RFC 5681 §4.2")
        .established()
        .receives(data(1, 1000))
        .later(10)
        .receives(data(2001, 1000))
        .later(10)
        .receives(data(3001, 1000))
        .later(10)
        .receives(data(1001, 1000))
        .later(200)
}

fn several_gaps() -> Script {
    Script::new("several_gaps", "the blocks and their order: RFC 2018 §4")
        .established()
        .receives(data(1001, 1000))
        .later(10)
        .receives(data(3001, 1000))
        .later(10)
        .receives(data(5001, 1000))
        .later(10)
        .receives(data(7001, 1000))
        .later(10)
        .receives(data(2001, 1000))
        .later(10)
        .receives(data(1, 1000))
        .later(200)
}

fn duplicate_data() -> Script {
    Script::new("duplicate_data", "D-SACK: RFC 2883 §4")
        .established()
        .receives(data(1, 1000))
        .receives(data(1001, 1000))
        .later(10)
        .receives(data(1, 1000))
        .later(10)
        .receives(data(3001, 1000))
        .later(10)
        .receives(data(3001, 1000))
        .later(10)
        .receives(data(2001, 1000))
        .later(200)
}

fn partly_duplicate_data() -> Script {
    Script::new("partly_duplicate_data", "a segment that begins with known data")
        .established()
        .receives(data(1, 1000))
        .later(10)
        .receives(data(501, 1000))
        .later(200)
}

fn beyond_the_window() -> Script {
    Script::new("beyond_the_window", "data outside of the window is answered: RFC 9293 §3.10.7.4")
        .established()
        .receives(data(1, 1000))
        .later(100)
        .receives(data(90_000_001, 1000))
        .later(600)
        .receives(data(90_000_001, 1000))
        .later(100)
}

fn acks_with_data() -> Script {
    Script::new("acks_with_data", "data in both directions")
        .established()
        .receives(data(1, 1000))
        .writes(3000)
        .receives(data(1001, 1000))
        .later(100)
        .receives(data(2001, 1000).acking(3001))
        .later(200)
}
