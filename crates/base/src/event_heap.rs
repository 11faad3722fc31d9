//! The heap of an event queue.

use alloc::vec::Vec;

/// Events in their order, the earliest first: a heap with four children per node, half as deep as a binary heap,
/// with adjacent children. Removing the first event leaves the root vacant, because most events schedule the next
/// one: that takes the root and sifts down, in one pass instead of two.
#[derive(Clone, Debug)]
pub struct EventHeap<E> {
    heap: Vec<E>,
    /// True while the root holds an event already removed.
    root_vacant: bool,
}

const ARITY: usize = 4;

impl<E> Default for EventHeap<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), root_vacant: false }
    }
}

impl<E: Copy + Ord> EventHeap<E> {
    /// Creates an empty heap with room for this number of events.
    pub fn with_capacity(events: usize) -> Self {
        Self { heap: Vec::with_capacity(events), root_vacant: false }
    }

    /// Returns the first event.
    #[inline]
    pub fn peek(&self) -> Option<E> {
        match self.root_vacant {
            false => self.heap.first().copied(),
            true => self.heap.iter().skip(1).take(ARITY).min().copied(),
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: E) {
        if self.root_vacant {
            self.root_vacant = false;
            return self.sift_down(event);
        }
        let mut hole = self.heap.len();
        self.heap.push(event);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            let Some(above) = self.heap.get(parent).copied().filter(|above| *above > event) else {
                break;
            };
            self.set(hole, above);
            hole = parent;
        }
        self.set(hole, event);
    }

    /// Removes and returns the first event, if it is as wanted.
    #[inline]
    pub fn pop_if(&mut self, is_wanted: impl FnOnce(E) -> bool) -> Option<E> {
        if self.root_vacant {
            self.fill_root();
        }
        let first = self.heap.first().copied().filter(|event| is_wanted(*event))?;
        self.root_vacant = true;
        Some(first)
    }

    /// Keeps only some events. This takes long, which suits rare use only.
    pub fn retain(&mut self, keep: impl FnMut(&E) -> bool) {
        if self.root_vacant {
            self.fill_root();
        }
        self.heap.retain(keep);
        // A sorted list is a heap.
        self.heap.sort_unstable();
    }

    /// Fills a root that is still vacant.
    fn fill_root(&mut self) {
        self.root_vacant = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts an event at the root and sifts it down.
    fn sift_down(&mut self, event: E) {
        let mut hole = 0;
        loop {
            let start = hole * ARITY + 1;
            let end = (start + ARITY).min(self.heap.len());
            let (least, child) = match self.heap.get(start..end) {
                Some(&[a, b, c, d]) => {
                    let (ab, cd) = (a.min(b), c.min(d));
                    let in_ab = start + usize::from(b < a);
                    let in_cd = start + 2 + usize::from(d < c);
                    if cd < ab { (in_cd, cd) } else { (in_ab, ab) }
                }
                Some(&[a, b, c]) => {
                    let (ab, in_ab) = if b < a { (b, start + 1) } else { (a, start) };
                    if c < ab { (start + 2, c) } else { (in_ab, ab) }
                }
                Some(&[a, b]) if b < a => (start + 1, b),
                Some(&[a, ..]) => (start, a),
                Some(_) | None => break,
            };
            if event <= child {
                break;
            }
            self.set(hole, child);
            hole = least;
        }
        self.set(hole, event);
    }

    fn set(&mut self, place: usize, event: E) {
        if let Some(slot) = self.heap.get_mut(place) {
            *slot = event;
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::RandomStream;

    #[test]
    fn events_come_in_order() {
        let mut random = RandomStream::new(1, "heap", 0);
        let mut heap = EventHeap::default();
        let mut kept = Vec::new();
        for _ in 0..5_000 {
            let event = random.uniform_below(500);
            match random.uniform_below(8) {
                0..4 => {
                    heap.push(event);
                    kept.push(event);
                    kept.sort_unstable();
                }
                4 | 5 => {
                    let first = kept.first().copied();
                    assert_eq!(heap.pop_if(|_| true), first);
                    kept.drain(..usize::from(first.is_some()));
                }
                6 => assert_eq!(heap.pop_if(|first| Some(first) != kept.first().copied()), None),
                _ if event < 20 => {
                    heap.retain(|kept| kept % 7 != event % 7);
                    kept.retain(|kept| kept % 7 != event % 7);
                }
                _ => {}
            }
            assert_eq!(heap.peek(), kept.first().copied());
        }
        for event in kept {
            assert_eq!(heap.pop_if(|_| true), Some(event));
        }
        assert_eq!(heap.pop_if(|_| true), None);
    }
}
