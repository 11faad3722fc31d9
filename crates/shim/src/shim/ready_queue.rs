//! The queue of flows to be polled, and their timers.

use alloc::vec::Vec;

use driftway_base::Instant;

/// Flows by their index in the table. All operations are at most logarithmic in the number of
/// flows, and memory is bounded by that number.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    /// Flows that may have a packet to send, each once.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
    /// A binary heap of timers, the earliest first, and the position of each flow's timer in it.
    timers: Vec<(Instant, usize)>,
    heap_positions: Vec<Option<usize>>,
}

impl ReadyQueue {
    /// Queues a flow for polling.
    pub fn mark_ready(&mut self, index: usize) {
        if self.is_ready.len() <= index {
            self.is_ready.resize(index + 1, false);
        }
        let Some(listed) = self.is_ready.get_mut(index) else { return };
        if !core::mem::replace(listed, true) {
            self.ready.push(index);
        }
    }
    /// One of the queued flows; it stays queued.
    pub fn next_ready(&self) -> Option<usize> {
        self.ready.last().copied()
    }
    /// Removes the flow returned by [`next_ready`](Self::next_ready).
    pub fn clear_ready(&mut self) {
        if let Some(index) = self.ready.pop()
            && let Some(listed) = self.is_ready.get_mut(index)
        {
            *listed = false;
        }
    }

    /// Sets, or with `None` cancels, a flow's timer.
    pub fn set_timer(&mut self, index: usize, at: Option<Instant>) {
        if self.heap_positions.len() <= index {
            self.heap_positions.resize(index + 1, None);
        }
        let place = self.heap_positions.get(index).copied().flatten();
        match (place, at) {
            (None, None) => {}
            (None, Some(at)) => {
                self.set_entry(self.timers.len(), (at, index));
                self.restore_heap(self.timers.len() - 1);
            }
            (Some(place), Some(at)) => {
                self.set_entry(place, (at, index));
                self.restore_heap(place);
            }
            (Some(place), None) => self.remove_entry(place),
        }
    }
    /// Time of the earliest timer.
    pub fn earliest(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }
    /// Takes the earliest timer's flow if it is due by `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<usize> {
        let (_, index) = *self.timers.first().filter(|(at, _)| *at <= now)?;
        self.remove_entry(0);
        Some(index)
    }

    fn set_entry(&mut self, place: usize, entry: (Instant, usize)) {
        match self.timers.get_mut(place) {
            Some(there) => *there = entry,
            None => self.timers.push(entry),
        }
        if let Some(kept) = self.heap_positions.get_mut(entry.1) {
            *kept = Some(place);
        }
    }

    fn remove_entry(&mut self, place: usize) {
        if let Some((_, index)) = self.timers.get(place)
            && let Some(kept) = self.heap_positions.get_mut(*index)
        {
            *kept = None;
        }
        if let Some(last) = self.timers.pop()
            && place < self.timers.len()
        {
            self.set_entry(place, last);
            self.restore_heap(place);
        }
    }

    /// Restores the heap's order at `place`.
    fn restore_heap(&mut self, mut place: usize) {
        let at = |later: &[(Instant, usize)], place: usize| later.get(place).copied();
        let Some(entry) = at(&self.timers, place) else { return };
        while let Some(above) = place.checked_sub(1).map(|below| below / 2)
            && let Some(upper) = at(&self.timers, above)
            && entry < upper
        {
            self.set_entry(place, upper);
            place = above;
        }
        loop {
            let (left, right) = (at(&self.timers, 2 * place + 1), at(&self.timers, 2 * place + 2));
            let (lower, below) = match (left, right) {
                (Some(left), Some(right)) if right < left => (right, 2 * place + 2),
                (Some(left), _) => (left, 2 * place + 1),
                (None, _) => break,
            };
            if entry <= lower {
                break;
            }
            self.set_entry(place, lower);
            place = below;
        }
        self.set_entry(place, entry);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::RandomStream;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// Compares with a linear search of a map.
    #[test]
    fn the_earliest_timer_comes_first() {
        let mut random = RandomStream::new(1, "ready", 0);
        let (mut ready, mut model) = (ReadyQueue::default(), BTreeMap::new());
        for _ in 0..20_000 {
            let index = random.uniform_below(60) as usize;
            let at = Instant::from_millis(random.uniform_below(1000));
            match random.uniform_below(4) {
                0 => {
                    ready.set_timer(index, None);
                    model.remove(&index);
                }
                1 => {
                    let first = model.iter().map(|(index, at)| (*at, *index)).min();
                    let due = first.filter(|(first, _)| *first <= at).map(|(_, index)| index);
                    assert_eq!(ready.pop_due(at), due);
                    due.map(|index| model.remove(&index));
                }
                _ => {
                    ready.set_timer(index, Some(at));
                    model.insert(index, at);
                }
            }
            assert_eq!(ready.earliest(), model.values().min().copied());
            assert_eq!(ready.timers.len(), model.len());
        }
    }

    #[test]
    fn each_flow_is_queued_once() {
        let mut ready = ReadyQueue::default();
        [3, 1, 3, 1, 3].into_iter().for_each(|index| ready.mark_ready(index));
        let mut seen = Vec::new();
        while let Some(index) = ready.next_ready() {
            seen.push(index);
            ready.clear_ready();
        }
        assert_eq!(seen, [1, 3]);
        ready.mark_ready(3);
        assert_eq!(ready.next_ready(), Some(3));
    }
}
