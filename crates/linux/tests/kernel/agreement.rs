//! Option negotiation: options offered by both ends are used by both, others by neither.

use driftway_linux::Namespace;
use driftway_tcp::{Config, NegotiatedOptions};

use crate::application::{Application, Opener, PEER, config, peer, unimpaired};
use crate::peer::{Options, Step};

tests![options_offered_by_both_ends_are_negotiated];

type Set = fn(&mut Config, bool);
type Get = fn(&NegotiatedOptions) -> bool;

/// The kernel's setting, that of driftway's TCP, and its negotiated value there.
const OPTIONS: [(&str, Set, Get); 4] = [
    ("tcp_timestamps", |c, on| c.timestamps = on, |a| a.timestamps),
    ("tcp_sack", |c, on| c.sack = on, |a| a.sack),
    ("tcp_window_scaling", |c, on| c.window_scale = on, |a| a.window_scale),
    ("tcp_ecn", |c, on| c.ecn = on, |a| a.ecn),
];

fn options_offered_by_both_ends_are_negotiated() {
    for (opens, congestion_control) in Opener::BOTH.into_iter().zip(["reno", "cubic"]) {
        for option in OPTIONS {
            for offers in [(true, true), (true, false), (false, true), (false, false)] {
                agree(opens, congestion_control, option, offers);
            }
        }
    }
}

fn agree(
    opens: Opener,
    congestion_control: &'static str,
    (setting, set, agreed): (&str, Set, Get),
    (we, kernel): (bool, bool),
) {
    let case = format!("{opens:?} {setting} {we} {kernel}");
    let namespace = Namespace::new().unwrap();
    let value = if kernel { "1" } else { "0" };
    namespace.set_sysctl(&format!("net/ipv4/{setting}"), value).unwrap();
    let mut config = config();
    set(&mut config, we);
    let mut application = Application::start(unimpaired(&namespace), opens, &config, 10);
    let steps = [Step::Receive(10), Step::Snapshot, Step::Send(10), Step::ReceiveAll];
    let options = Options { congestion_control, ..PEER };
    let peer = peer(&namespace, opens, options, &steps);
    application.run_until("agreement", Application::is_over);
    let outcome = peer.outcome();
    let [theirs] = &outcome.snapshots[..] else { panic!("{outcome:?}") };
    let ours = application.driver.connection().negotiated();
    assert_eq!(agreed(&ours), we && kernel, "{case}");
    let shift = theirs.window_scale();
    let theirs_agreed = NegotiatedOptions {
        sack: theirs.sack(),
        timestamps: theirs.timestamps(),
        window_scale: shift.is_some(),
        ecn: theirs.ecn(),
    };
    assert_eq!(ours, theirs_agreed, "{case}");
    if let Some((peers, _)) = shift {
        assert_eq!(peers, config.receive_window_shift(), "{case}");
    }
    assert_eq!(theirs.congestion_control, congestion_control);
}
