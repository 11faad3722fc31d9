//! A buffer for a section of a byte stream.

use std::{error::Error, fmt};

/// A fixed-size window onto one byte stream, addressed by stream offset. Protocol code refers to
/// bytes ([`driftway_wire::Payload`]); a driver stores them here.
///
/// It holds the offsets from [`start`](ByteRing::start) up to and not including
/// [`end`](ByteRing::end); segments may be written in any order. The protocol keeps track of which
/// bytes have been written.
#[derive(Clone, Debug)]
pub struct ByteRing {
    bytes: Box<[u8]>,
    start: u64,
}

/// A range that is not inside the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideWindow {
    /// First requested offset.
    pub offset: u64,
    /// Requested length (bytes).
    pub len: usize,
}

impl fmt::Display for OutsideWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at offset {} are outside of the ring", self.len, self.offset)
    }
}

impl Error for OutsideWindow {}

impl ByteRing {
    /// A window of `capacity` bytes at the beginning of a stream.
    pub fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into_boxed_slice(), start: 0 }
    }

    /// First offset of the window.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// One past the last offset of the window.
    pub const fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// A part is outside of the window; nothing is written.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), OutsideWindow> {
        let at = self.index_of(offset, bytes.len())?;
        let (left, right) = bytes.split_at(bytes.len().min(self.bytes.len() - at));
        self.bytes[at..at + left.len()].copy_from_slice(left);
        self.bytes[..right.len()].copy_from_slice(right);
        Ok(())
    }

    /// Reads `bytes` from `offset`.
    ///
    /// # Errors
    /// A part is outside of the window; nothing is read.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), OutsideWindow> {
        let at = self.index_of(offset, bytes.len())?;
        let (left, right) = bytes.split_at_mut(bytes.len().min(self.bytes.len() - at));
        left.copy_from_slice(&self.bytes[at..at + left.len()]);
        right.copy_from_slice(&self.bytes[..right.len()]);
        Ok(())
    }

    /// Moves the window forward to begin at `offset`; never back.
    pub fn release(&mut self, offset: u64) {
        self.start = self.start.max(offset);
    }

    /// Index of `offset` in the buffer, if all `len` bytes from there are inside.
    fn index_of(&self, offset: u64, len: usize) -> Result<usize, OutsideWindow> {
        let inside = offset >= self.start
            && offset.checked_add(len as u64).is_some_and(|end| end <= self.end())
            && !self.bytes.is_empty();
        if inside {
            Ok((offset % self.bytes.len() as u64) as usize)
        } else {
            Err(OutsideWindow { offset, len })
        }
    }
}

#[cfg(test)]
mod test {
    use proptest::prelude::*;

    use super::*;

    fn outside(offset: u64, len: usize) -> Result<(), OutsideWindow> {
        Err(OutsideWindow { offset, len })
    }

    #[test]
    fn refuses_what_is_not_in_the_window() {
        let mut ring = ByteRing::new(4);
        assert_eq!(ring.write(0, b"abcde"), outside(0, 5));
        assert_eq!(ring.write(1, b"bcde"), outside(1, 4));
        assert_eq!(ring.write(u64::MAX, b"ab"), outside(u64::MAX, 2));
        assert_eq!(ring.write(0, b"abcd"), Ok(()));
        ring.release(3);
        ring.release(1);
        assert_eq!((ring.start(), ring.end()), (3, 7));
        assert_eq!(ring.write(2, b"x"), outside(2, 1));
        let mut out = [0; 1];
        assert_eq!(ring.read(2, &mut out), outside(2, 1));
        assert_eq!(ring.read(3, &mut out), Ok(()));
        assert_eq!(&out, b"d");
        assert_eq!(ByteRing::new(0).write(0, b""), outside(0, 0));
    }

    proptest! {
        /// Compares with the whole stream kept in a vector.
        #[test]
        fn holds_what_was_written(
            capacity in 1_usize..64,
            steps in prop::collection::vec((0_u64..64, prop::collection::vec(any::<u8>(), 0..64), 0_u64..32), 1..64),
        ) {
            let mut ring = ByteRing::new(capacity);
            let mut stream = vec![0_u8; 8192];
            for (ahead, bytes, release) in steps {
                let offset = ring.start() + ahead;
                let fits = ahead as usize + bytes.len() <= capacity;
                prop_assert_eq!(ring.write(offset, &bytes).is_ok(), fits);
                if fits {
                    stream[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                    let mut all = vec![0; bytes.len()];
                    ring.read(offset, &mut all).unwrap();
                    prop_assert_eq!(&all, &bytes);
                }
                // Only written bytes are defined: those that the window newly covers must be
                // written first.
                let end = ring.end();
                ring.release(ring.start() + release);
                let fresh = ring.end() - end;
                let from = ring.end() - fresh.min(capacity as u64);
                let zeros = vec![0; (ring.end() - from) as usize];
                ring.write(from, &zeros).unwrap();
                stream[from as usize..ring.end() as usize].fill(0);
                let mut window = vec![0; capacity];
                ring.read(ring.start(), &mut window).unwrap();
                prop_assert_eq!(&window, &stream[ring.start() as usize..ring.end() as usize]);
            }
        }
    }
}
