//! FlowQueue-CoDel: a queue with CoDel for each flow, served by deficit round robin, flows that have just
//! begun before others (Hoeiland-Joergensen et al., RFC 8290).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::iter;

use driftway_base::Instant;

use crate::codel::{Codel, CodelConfig, Queued};
use crate::frame::{QueueEntry, QueuePosition};

/// Maximum number of frames dropped at once from the longest flow (RFC 8290 §4.1).
const DROPPED_AT_ONCE: usize = 64;

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// CoDel in the queue of each flow.
    pub codel: CodelConfig,
    /// Bytes that a flow may send in its turn.
    pub quantum: u32,
    /// Number of queues, at least 1, to which flows are assigned by a hash.
    pub flows: u16,
}

/// Queue of the flows with one hash.
#[derive(Clone, Debug)]
struct FlowQueue<F> {
    waiting: VecDeque<Queued<F>>,
    bytes: u64,
    codel: Codel,
    /// Bytes that it may send before the others' turn; a frame may exceed them.
    deficit: i64,
    /// It is in one of the lists.
    is_active: bool,
}

impl<F: QueueEntry> FlowQueue<F> {
    fn new(codel: CodelConfig) -> Self {
        let codel = Codel::new(codel);
        Self { waiting: VecDeque::new(), bytes: 0, codel, deficit: 0, is_active: false }
    }

    fn pop_front(&mut self) -> Option<F> {
        let frame = self.waiting.pop_front()?.frame;
        self.bytes = self.bytes.saturating_sub(frame.bytes().into());
        Some(frame)
    }
}

/// Queues of all flows. Those with frames are in one of two lists, and keep their place for a round after
/// they have become empty.
#[derive(Clone, Debug)]
pub(crate) struct FqCodel<F> {
    config: FqCodelConfig,
    /// Makes collisions differ from one seed to another.
    perturbation: u64,
    flows: Vec<FlowQueue<F>>,
    /// Indices of flows that have begun since their last turn, and of the others.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    len: usize,
    /// Size of the largest frame so far, of any flow.
    max_frame: u32,
}

impl<F: QueueEntry> FqCodel<F> {
    /// Creates empty queues.
    pub(crate) fn new(config: FqCodelConfig, perturbation: u64) -> Self {
        let flow = || FlowQueue::new(config.codel);
        let flows = iter::repeat_with(flow).take(usize::from(config.flows.max(1))).collect();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Self { config, perturbation, flows, new, old, len: 0, max_frame: 0 }
    }

    /// Returns the number of frames.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the frames, flow by flow in the order of their turns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = F> + '_ {
        let flows = self.new.iter().chain(&self.old);
        let flows = flows.filter_map(|index| self.flows.get(usize::from(*index)));
        flows.flat_map(|flow| flow.waiting.iter().map(|queued| queued.frame))
    }

    /// Adds a frame to the queue of its flow.
    pub(crate) fn push(&mut self, now: Instant, frame: F, place: QueuePosition) {
        let index = self.index_of(frame);
        let Some(flow) = self.flows.get_mut(usize::from(index)) else { return };
        let queued = Queued { frame, since: now };
        match place {
            QueuePosition::Tail => flow.waiting.push_back(queued),
            QueuePosition::Front => flow.waiting.push_front(queued),
        }
        flow.bytes = flow.bytes.saturating_add(frame.bytes().into());
        self.len += 1;
        self.max_frame = self.max_frame.max(frame.bytes());
        if !flow.is_active {
            flow.is_active = true;
            flow.deficit = self.config.quantum.into();
            self.new.push_back(index);
        }
    }

    /// The queue of a frame's flow: a multiplicative hash (Knuth, The Art of Computer Programming, vol. 3, §6.4).
    fn index_of(&self, frame: F) -> u16 {
        const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (u64::from(frame.flow()) ^ self.perturbation).wrapping_mul(GOLDEN_RATIO) >> 32;
        ((mixed * self.flows.len() as u64) >> 32) as u16
    }

    /// Drops frames from the head of the flow with the most bytes: half of them, at least one and at most 64 (RFC
    /// 8290 §4.1).
    pub(crate) fn drop_from_longest(&mut self, mut on_drop: impl FnMut(F)) {
        // Of equal ones that with more frames, since frames may be empty, and of these the first.
        let longest =
            self.flows.iter_mut().rev().max_by_key(|flow| (flow.bytes, flow.waiting.len()));
        let Some(flow) = longest else { return };
        for _ in 0..flow.waiting.len().div_ceil(2).min(DROPPED_AT_ONCE) {
            if let Some(frame) = flow.pop_front() {
                self.len -= 1;
                on_drop(frame);
            }
        }
    }

    /// Dequeues the next frame, and returns true with it if CoDel marks it (RFC 8290 §4.2). Frames that CoDel
    /// drops before it are passed to `on_drop`.
    pub(crate) fn serve(&mut self, now: Instant, mut on_drop: impl FnMut(F)) -> Option<(F, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = self.flows.get_mut(usize::from(index))?;
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum.max(1));
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let FlowQueue { waiting, bytes, codel, .. } = flow;
            let len = &mut self.len;
            codel.expect_frames_of(self.max_frame);
            let served = codel.dequeue(now, waiting, |frame| {
                *bytes = bytes.saturating_sub(frame.bytes().into());
                *len -= 1;
                on_drop(frame);
            });
            if let Some((frame, is_marked)) = served {
                flow.bytes = flow.bytes.saturating_sub(frame.bytes().into());
                flow.deficit -= i64::from(frame.bytes());
                self.len -= 1;
                return Some((frame, is_marked));
            }
            list.pop_front();
            // A flow that sends a frame from time to time would else always be new, and others might starve.
            if is_new {
                self.old.push_back(index);
            } else {
                flow.is_active = false;
            }
        }
    }

    /// Removes a frame, whatever the discipline.
    pub(crate) fn pop(&mut self) -> Option<F> {
        let flow = self.flows.iter_mut().find(|flow| !flow.waiting.is_empty())?;
        self.len -= 1;
        flow.pop_front()
    }
}

#[cfg(test)]
mod test;
