//! Memory for stored packets, bounded and used again.

use alloc::vec::Vec;

/// Sizes of pieces are powers of two from 2⁸ bytes to 2¹⁶.
const SMALLEST_CLASS_BITS: u32 = 8;
const CLASSES: usize = 9;

/// Where the bytes of stored packets live. Pieces come in sizes of powers of two; what is given back
/// is kept for the next of its size, and given to the system only when the bound needs it.
#[derive(Debug)]
pub(crate) struct BufferPool {
    spare: [Vec<Vec<u8>>; CLASSES],
    /// Bytes in pieces that are out.
    used_bytes: usize,
    /// Bytes in spare pieces.
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
    /// What it counts against the bounds (bytes).
    pub fn size(&self) -> usize {
        size_of_class(self.class)
    }
}

const fn size_of_class(class: usize) -> usize {
    1 << (class + SMALLEST_CLASS_BITS as usize)
}

/// The least class with room for `len` bytes; `None` if no class has.
fn class_of(len: usize) -> Option<usize> {
    (0..CLASSES).find(|class| len <= size_of_class(*class))
}

/// What a packet of `len` bytes counts against the bounds.
pub(crate) fn size_class_bytes(len: usize) -> usize {
    class_of(len).map_or(usize::MAX, size_of_class)
}

impl BufferPool {
    /// One that never holds more than `limit` bytes, spare pieces included.
    pub fn new(limit: usize) -> Self {
        Self { spare: Default::default(), used_bytes: 0, spare_bytes: 0, limit }
    }

    /// Bytes in use and bytes held in all.
    pub fn used_and_reserved(&self) -> (usize, usize) {
        (self.used_bytes, self.used_bytes + self.spare_bytes)
    }

    /// A copy of `packet`; `None` if the bound does not allow it.
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

    /// Takes a piece back.
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

    /// Lets go of spare pieces until `size` bytes more fit.
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
    fn the_bound_holds_with_spare_pieces_counted() {
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
    fn no_packet_is_too_long_for_a_class_and_nothing_longer_fits() {
        let mut pool = BufferPool::new(1 << 20);
        assert_eq!(pool.store(&[0; 65_535]).map(|piece| piece.size()), Some(65_536));
        assert!(pool.store(&[0; 65_537]).is_none());
        assert_eq!((size_class_bytes(0), size_class_bytes(257), size_class_bytes(1500)), (256, 512, 2048));
    }
}
