//! A list of flows by their index in the table, each once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Its memory is bounded by the number of flows.
#[derive(Debug, Default)]
pub(super) struct IndexList {
    list: VecDeque<usize>,
    is_listed: Vec<bool>,
}

impl IndexList {
    /// Appends an index, unless it is listed.
    pub fn push(&mut self, index: usize) {
        if self.is_listed.len() <= index {
            self.is_listed.resize(index + 1, false);
        }
        if let Some(listed) = self.is_listed.get_mut(index)
            && !core::mem::replace(listed, true)
        {
            self.list.push_back(index);
        }
    }

    /// Takes the first index.
    pub fn pop(&mut self) -> Option<usize> {
        let index = self.list.pop_front()?;
        if let Some(listed) = self.is_listed.get_mut(index) {
            *listed = false;
        }
        Some(index)
    }
}
