//! The queue of flows to be polled, and their timers.

use alloc::vec::Vec;

use driftway_base::Instant;

/// By the index of the flow in its table. All operations are at most logarithmic in the number of
/// flows, and memory is bounded by that number.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Flows that may have a packet to send, each once.
    now: Vec<usize>,
    listed: Vec<bool>,
    /// A binary heap of timers, the earliest first, and the position of each flow's timer in it.
    later: Vec<(Instant, usize)>,
    places: Vec<Option<usize>>,
}

impl Ready {
    /// Queues a flow for polling.
    pub fn list(&mut self, index: usize) {
        if self.listed.len() <= index {
            self.listed.resize(index + 1, false);
        }
        let Some(listed) = self.listed.get_mut(index) else { return };
        if !core::mem::replace(listed, true) {
            self.now.push(index);
        }
    }
    /// One of the queued flows; it stays queued.
    pub fn listed(&self) -> Option<usize> {
        self.now.last().copied()
    }
    /// Removes the flow returned by [`next_ready`](Self::next_ready).
    pub fn unlist(&mut self) {
        if let Some(index) = self.now.pop()
            && let Some(listed) = self.listed.get_mut(index)
        {
            *listed = false;
        }
    }

    /// Sets, or with `None` cancels, a flow's timer.
    pub fn wake(&mut self, index: usize, at: Option<Instant>) {
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        let place = self.places.get(index).copied().flatten();
        match (place, at) {
            (None, None) => {}
            (None, Some(at)) => {
                self.put(self.later.len(), (at, index));
                self.settle(self.later.len() - 1);
            }
            (Some(place), Some(at)) => {
                self.put(place, (at, index));
                self.settle(place);
            }
            (Some(place), None) => self.take_out(place),
        }
    }
    /// Time of the earliest timer.
    pub fn first(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }
    /// Takes the earliest timer's flow if it is due by `now`.
    pub fn due(&mut self, now: Instant) -> Option<usize> {
        let (_, index) = *self.later.first().filter(|(at, _)| *at <= now)?;
        self.take_out(0);
        Some(index)
    }

    fn put(&mut self, place: usize, entry: (Instant, usize)) {
        match self.later.get_mut(place) {
            Some(there) => *there = entry,
            None => self.later.push(entry),
        }
        if let Some(kept) = self.places.get_mut(entry.1) {
            *kept = Some(place);
        }
    }

    fn take_out(&mut self, place: usize) {
        if let Some((_, index)) = self.later.get(place)
            && let Some(kept) = self.places.get_mut(*index)
        {
            *kept = None;
        }
        if let Some(last) = self.later.pop()
            && place < self.later.len()
        {
            self.put(place, last);
            self.settle(place);
        }
    }

    /// Restores the heap's order at `place`.
    fn settle(&mut self, mut place: usize) {
        let at = |later: &[(Instant, usize)], place: usize| later.get(place).copied();
        let Some(entry) = at(&self.later, place) else { return };
        while let Some(above) = place.checked_sub(1).map(|below| below / 2)
            && let Some(upper) = at(&self.later, above)
            && entry < upper
        {
            self.put(place, upper);
            place = above;
        }
        loop {
            let (left, right) = (at(&self.later, 2 * place + 1), at(&self.later, 2 * place + 2));
            let (lower, below) = match (left, right) {
                (Some(left), Some(right)) if right < left => (right, 2 * place + 2),
                (Some(left), _) => (left, 2 * place + 1),
                (None, _) => break,
            };
            if entry <= lower {
                break;
            }
            self.put(place, lower);
            place = below;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::RandomStream;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// Against a linear search of a map.
    #[test]
    fn the_earliest_timer_comes_first() {
        let mut random = RandomStream::new(1, "ready", 0);
        let (mut ready, mut model) = (Ready::default(), BTreeMap::new());
        for _ in 0..20_000 {
            let index = random.below(60) as usize;
            let at = Instant::from_millis(random.below(1000));
            match random.below(4) {
                0 => {
                    ready.wake(index, None);
                    model.remove(&index);
                }
                1 => {
                    let first = model.iter().map(|(index, at)| (*at, *index)).min();
                    let due = first.filter(|(first, _)| *first <= at).map(|(_, index)| index);
                    assert_eq!(ready.due(at), due);
                    due.map(|index| model.remove(&index));
                }
                _ => {
                    ready.wake(index, Some(at));
                    model.insert(index, at);
                }
            }
            assert_eq!(ready.first(), model.values().min().copied());
            assert_eq!(ready.later.len(), model.len());
        }
    }

    #[test]
    fn each_flow_is_queued_once() {
        let mut ready = Ready::default();
        [3, 1, 3, 1, 3].into_iter().for_each(|index| ready.list(index));
        let mut seen = Vec::new();
        while let Some(index) = ready.listed() {
            seen.push(index);
            ready.unlist();
        }
        assert_eq!(seen, [1, 3]);
        ready.list(3);
        assert_eq!(ready.listed(), Some(3));
    }
}
