//! A bounded pool of buffers for stored packets.

use alloc::vec::Vec;

/// Buffer sizes are powers of two from 2⁸ to 2¹⁶ bytes.
const SMALLEST_CLASS_BITS: u32 = 8;
const CLASSES: usize = 9;

/// A pool of buffers in size classes of powers of two. Released buffers are kept for reuse, and
/// freed only when the limit requires it.
#[derive(Debug)]
pub(crate) struct BufferPool {
    spare: [Vec<Vec<u8>>; CLASSES],
    /// Bytes in buffers in use.
    used_bytes: usize,
    /// Bytes in spare buffers.
    spare_bytes: usize,
    limit: usize,
}

/// A stored packet.
#[derive(Debug)]
pub(crate) struct PoolBuffer {
    bytes: Vec<u8>,
    class: usize,
}

impl PoolBuffer {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Bytes that the buffer counts against the limits.
    pub fn size(&self) -> usize {
        size_of_class(self.class)
    }
}

const fn size_of_class(class: usize) -> usize {
    1 << (class + SMALLEST_CLASS_BITS as usize)
}

/// The smallest class with room for `len` bytes; `None` if there is none.
fn class_of(len: usize) -> Option<usize> {
    (0..CLASSES).find(|class| len <= size_of_class(*class))
}

/// Bytes that a packet of `len` bytes counts against the limits.
pub(crate) fn size_class_bytes(len: usize) -> usize {
    class_of(len).map_or(usize::MAX, size_of_class)
}

impl BufferPool {
    /// An empty pool of at most `limit` bytes, spare buffers included.
    pub fn new(limit: usize) -> Self {
        Self { spare: Default::default(), used_bytes: 0, spare_bytes: 0, limit }
    }

    /// Bytes in use, and bytes reserved in all.
    pub fn used_and_reserved(&self) -> (usize, usize) {
        (self.used_bytes, self.used_bytes + self.spare_bytes)
    }

    /// Stores a copy of `packet`; `None` if the limit does not allow it.
    pub fn store(&mut self, packet: &[u8]) -> Option<PoolBuffer> {
        let class = class_of(packet.len())?;
        let size = size_of_class(class);
        if self.used_bytes + size > self.limit {
            return None;
        }
        let mut bytes = match self.spare.get_mut(class)?.pop() {
            Some(bytes) => {
                self.spare_bytes -= size;
                bytes
            }
            None => {
                self.free_spare(size);
                Vec::with_capacity(size)
            }
        };
        self.used_bytes += size;
        bytes.extend_from_slice(packet);
        Some(PoolBuffer { bytes, class })
    }

    /// Returns a buffer to the pool.
    pub fn release(&mut self, piece: PoolBuffer) {
        let size = piece.size();
        self.used_bytes = self.used_bytes.saturating_sub(size);
        let mut bytes = piece.bytes;
        bytes.clear();
        if let Some(spare) = self.spare.get_mut(piece.class) {
            self.spare_bytes += size;
            spare.push(bytes);
        }
    }

    /// Frees spare buffers until `size` more bytes fit.
    fn free_spare(&mut self, size: usize) {
        for (class, spare) in self.spare.iter_mut().enumerate().rev() {
            while self.used_bytes + self.spare_bytes + size > self.limit && spare.pop().is_some() {
                self.spare_bytes -= size_of_class(class);
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_limit_includes_spare_buffers() {
        let mut pool = BufferPool::new(4096);
        let small: Vec<PoolBuffer> = (0..16).map(|_| pool.store(&[1; 200]).unwrap()).collect();
        assert!(pool.store(&[1]).is_none());
        assert_eq!(pool.used_and_reserved(), (4096, 4096));
        small.into_iter().for_each(|piece| pool.release(piece));
        assert_eq!(pool.used_and_reserved(), (0, 4096));
        let large = pool.store(&[2; 1500]).unwrap();
        assert_eq!(large.bytes(), [2; 1500]);
        assert_eq!(pool.used_and_reserved(), (2048, 4096));
        pool.release(large);
        assert_eq!(pool.store(&[3; 2000]).unwrap().bytes(), [3; 2000]);
    }

    #[test]
    fn every_packet_length_has_a_class() {
        let mut pool = BufferPool::new(1 << 20);
        assert_eq!(pool.store(&[0; 65_535]).map(|piece| piece.size()), Some(65_536));
        assert!(pool.store(&[0; 65_537]).is_none());
        assert_eq!(
            (size_class_bytes(0), size_class_bytes(257), size_class_bytes(1500)),
            (256, 512, 2048)
        );
    }
}
