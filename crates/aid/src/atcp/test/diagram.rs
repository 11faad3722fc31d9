//! The state diagram is the code's.

use super::*;
use crate::atcp::diagram;

/// `DRIFTWAY_BLESS=1 cargo test -p driftway-aid diagram` writes it anew.
#[test]
fn the_committed_diagram_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/atcp.dot");
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(path, diagram()).expect("docs/ can be written");
    }
    let committed = std::fs::read_to_string(path).expect("docs/atcp.dot is committed");
    assert_eq!(committed, diagram());
}

#[test]
fn the_arrows_are_the_papers() {
    use Cause::*;
    let arrows = [
        (State::Normal, ThirdDuplicate, State::Loss),
        (State::Normal, TimeoutImminent, State::Loss),
        (State::Normal, CongestionEcho, State::Congested),
        (State::Normal, Unreachable, State::Disconnected),
        (State::Congested, TcpSends, State::Normal),
        (State::Congested, Unreachable, State::Disconnected),
        (State::Loss, NewAck, State::Normal),
        (State::Loss, NewData, State::Normal),
        (State::Loss, CongestionEcho, State::Congested),
        (State::Loss, SourceQuench, State::Congested),
        (State::Loss, Unreachable, State::Disconnected),
        (State::Disconnected, TcpLeavesPersist, State::Normal),
    ];
    for from in State::ALL {
        for cause in Cause::ALL.into_iter().filter(|cause| !matches!(cause, Refused | Closed)) {
            let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, cause));
            assert_eq!(from.after(cause), arrow.map_or(from, |arrow| arrow.2), "{cause:?}");
        }
    }
}
