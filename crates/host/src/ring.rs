//! The bytes of a stream that are on their way.

use std::{error::Error, fmt};

/// A window of fixed size onto one byte stream, addressed by stream offset. Protocol code names
/// bytes ([`driftway_wire::Payload`]); this is where a driver keeps them.
///
/// It holds the offsets from [`start`](ByteRing::start) up to and not including
/// [`end`](ByteRing::end); pieces are written in any order, because segments arrive in any order.
/// Which of them are there is for the protocol to know.
#[derive(Clone, Debug)]
pub struct ByteRing {
    bytes: Box<[u8]>,
    start: u64,
}

/// A range is not inside what the ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideWindow {
    /// First offset asked for.
    pub offset: u64,
    /// Bytes asked for.
    pub len: usize,
}

impl fmt::Display for OutsideWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at offset {} are outside of the ring", self.len, self.offset)
    }
}

impl Error for OutsideWindow {}

impl ByteRing {
    /// A window of `capacity` bytes onto a stream from its beginning.
    pub fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into_boxed_slice(), start: 0 }
    }

    /// The first offset that it holds.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// One past the last offset that it holds.
    pub const fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// Puts `bytes` at `offset`.
    ///
    /// # Errors
    /// Some of it lies outside; then nothing is put.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), OutsideWindow> {
        let at = self.index_of(offset, bytes.len())?;
        let (left, right) = bytes.split_at(bytes.len().min(self.bytes.len() - at));
        self.bytes[at..at + left.len()].copy_from_slice(left);
        self.bytes[..right.len()].copy_from_slice(right);
        Ok(())
    }

    /// Copies what is at `offset` to `bytes`.
    ///
    /// # Errors
    /// Some of it lies outside; then nothing is copied.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), OutsideWindow> {
        let at = self.index_of(offset, bytes.len())?;
        let (left, right) = bytes.split_at_mut(bytes.len().min(self.bytes.len() - at));
        left.copy_from_slice(&self.bytes[at..at + left.len()]);
        right.copy_from_slice(&self.bytes[..right.len()]);
        Ok(())
    }

    /// Moves the window on, so that it begins at `offset`; never back.
    pub fn release(&mut self, offset: u64) {
        self.start = self.start.max(offset);
    }

    /// Where `offset` is kept, if all `len` bytes from there on are inside.
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
        /// Against the whole stream kept in a vector.
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
                // Only what was written counts: what the window slid over must be written first.
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
