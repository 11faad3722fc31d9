//! The state diagram is that of the code.

use super::*;
use crate::kit;

#[test]
fn the_committed_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("atcp");
}

#[test]
fn the_transitions_are_those_of_the_paper() {
    use Transition::*;
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
    kit::assert_transitions(&arrows, &[Unsupported, Closed]);
}
