//! Reordering.

use crate::scripted::receiver::{CLEAN, Path};
use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, growing_block};

pub fn scripts() -> Vec<Script> {
    vec![
        second_and_third(),
        second_and_third_without_sack(),
        groups_of_four(),
        groups_of_four_cubic(),
        groups_of_four_without_sack(),
        neighbours_swapped(),
        late_by_six(),
    ]
}

fn second_and_third() -> Script {
    Script::new("second_and_third", "SACK of 2, of 2 and 3, then an acknowledgment of all three")
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 3001))
        .receives(ack(3001))
        .later(20)
}

fn second_and_third_without_sack() -> Script {
    Script::new("second_and_third_without_sack", "two duplicates, then all three are acknowledged")
        .without_sack()
        .in_flight(40)
        .at(200)
        .receives(ack(1))
        .receives(ack(1))
        .receives(ack(3001))
        .later(20)
}

const GROUPS: Path = Path { order: &[1, 2, 0, 3], ..CLEAN };

fn groups_of_four() -> Script {
    Script::new("groups_of_four", "each four segments arrive as 2, 3, 1, 4: four rounds")
        .reno()
        .established()
        .receiver(GROUPS)
        .writes(150_000)
        .at(1000)
}

fn groups_of_four_cubic() -> Script {
    Script::new("groups_of_four_cubic", "the same, with HyStart")
        .established()
        .receiver(GROUPS)
        .writes(60_000)
        .at(800)
}

fn groups_of_four_without_sack() -> Script {
    Script::new("groups_of_four_without_sack", "each four segments arrive as 2, 3, 1, 4")
        .without_sack()
        .established()
        .receiver(GROUPS)
        .writes(60_000)
        .at(800)
}

fn neighbours_swapped() -> Script {
    Script::new("neighbours_swapped", "each two segments arrive in the wrong order")
        .established()
        .receiver(Path { order: &[1, 0], ..CLEAN })
        .writes(60_000)
        .at(600)
}

fn late_by_six() -> Script {
    Script::new("late_by_six", "the first arrives after six others: a spurious recovery, then more")
        .in_flight(60)
        .at(200)
        .receives_all(growing_block(1, 1001, 7001))
        .receives(ack(7001).of_first())
        .receives_all(acks(7001, 10001))
        .at(300)
        .receives(ack(10001).sack(&[(1, 1001)]))
        .later(4)
        // The next late segment finds a sender that knows of reordering.
        .receives(ack(10001).sack(&[(11001, 12001)]))
        .receives(ack(10001).sack(&[(11001, 13001)]))
        .receives(ack(10001).sack(&[(11001, 14001)]))
        .receives(ack(10001).sack(&[(11001, 15001)]))
        .later(60)
}
