use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn a_packet_ends_once_where_no_copies_arise() {
    let mut store = PacketStore::new(false);
    let (first, second) = (
        store.insert(at(0), NodeId::new(3), b"first"),
        store.insert(at(0), NodeId::new(4), b"second"),
    );
    let delivered = store.deliver(at(1), first).unwrap();
    assert_eq!((delivered.from, delivered.is_first), (NodeId::new(3), true));
    assert_eq!(delivered.bytes, b"first");
    store.give_back(delivered.bytes);
    assert_eq!(store.deliver(at(1), first), None);
    assert!(store.on_dropped(at(1), second));
    assert!(!store.on_dropped(at(1), second));
    // The slot is reused; the old number finds nothing.
    store.insert(at(2), NodeId::new(3), b"third");
    assert_eq!((store.deliver(at(2), second), store.slots.len()), (None, 2));
}

#[test]
fn a_second_copy_is_delivered_for_a_while() {
    let mut store = PacketStore::new(true);
    let number = store.insert(at(0), NodeId::new(0), b"twice");
    assert!(store.on_dropped(at(5), number));
    for is_first in [true, false, false] {
        let copy = store.deliver(at(6), number).unwrap();
        assert_eq!((copy.is_first, copy.bytes.as_slice()), (is_first, &b"twice"[..]));
        store.give_back(copy.bytes);
    }
    assert!(!store.on_dropped(at(6), number));
    store.insert(at(10_006), NodeId::new(0), b"later");
    assert_eq!(store.deliver(at(10_006), number), None);
}

#[test]
fn a_packet_that_never_ends_is_discarded() {
    let mut store = PacketStore::new(true);
    let number = store.insert(at(0), NodeId::new(0), b"lost");
    store.insert(at(300_000), NodeId::new(0), b"");
    assert!(store.slot(number).is_some());
    store.insert(at(300_001), NodeId::new(0), b"");
    assert!(store.slot(number).is_none());
}

#[test]
fn the_bytes_kept_for_copies_are_limited() {
    let mut store = PacketStore::new(true);
    let large = vec![0; 65_535];
    for _ in 0..5000 {
        let number = store.insert(at(0), NodeId::new(0), &large);
        let copy = store.deliver(at(0), number).unwrap();
        store.give_back(copy.bytes);
    }
    assert!(store.slots.len() <= COPY_BYTES_MAX / large.len() + 3, "{}", store.slots.len());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u8),
    Deliver(usize),
    Drop(usize),
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Insert),
        4 => any::<usize>().prop_map(Step::Deliver),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<u16>().prop_map(Step::Wait),
    ]
}

proptest! {
    /// Each number gives the bytes that were stored for it or nothing, and the store holds no more
    /// slots and buffers than packets were in transit or kept at once.
    #[test]
    fn numbers_find_their_own_bytes_in_bounded_memory(
        may_duplicate: bool,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut store = PacketStore::new(may_duplicate);
        let (mut now, mut all) = (at(0), Vec::new());
        // By number: the end of its lifetime; `None` while in transit.
        let mut known: BTreeMap<u64, Option<Instant>> = BTreeMap::new();
        let mut most = 0;
        for (count, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(len) => {
                    let bytes = vec![count as u8; len.into()];
                    let number = store.insert(now, NodeId::from(count), &bytes);
                    // Old packets are discarded by an insertion.
                    known.retain(|_, end| end.is_none_or(|end| end >= now));
                    prop_assert!(known.insert(number, None).is_none(), "the number is in use");
                    all.push((number, NodeId::from(count), bytes));
                }
                Step::Deliver(which) if !all.is_empty() => {
                    let (number, from, bytes) = &all[which % all.len()];
                    let copy = store.deliver(now, *number);
                    prop_assert_eq!(copy.is_some(), known.contains_key(number));
                    if let Some(copy) = copy {
                        prop_assert_eq!((copy.from, &copy.bytes), (*from, bytes));
                        store.give_back(copy.bytes);
                    }
                    end(&mut known, *number, now, may_duplicate);
                }
                Step::Drop(which) if !all.is_empty() => {
                    let number = all[which % all.len()].0;
                    let ended = store.on_dropped(now, number);
                    prop_assert_eq!(ended, known.get(&number) == Some(&None));
                    end(&mut known, number, now, may_duplicate);
                }
                Step::Deliver(_) | Step::Drop(_) => {}
                Step::Wait(millis) => now += Duration::from_millis(u64::from(millis) / 8),
            }
            most = most.max(known.len());
            prop_assert!(store.slots.len() <= most);
            // One more for the copy that a delivery returns.
            prop_assert!(store.spare.len() <= store.slots.len() + 1);
        }
    }
}

fn end(known: &mut BTreeMap<u64, Option<Instant>>, number: u64, now: Instant, kept: bool) {
    match known.get_mut(&number) {
        Some(_) if !kept => {
            known.remove(&number);
        }
        Some(end) => {
            end.get_or_insert(now + COPY_LIFETIME);
        }
        None => {}
    }
}
