//! What went through one end of a stream.

use std::fmt;

use sha2::{Digest, Sha256};

/// Counts the bytes of a stream, hashes them, and compares each with the [`pattern`] that it has to
/// be.
#[derive(Default)]
pub struct StreamDigest {
    bytes: u64,
    first_mismatch: Option<u64>,
    hash: Sha256,
}

/// `bytes` of pattern `key` from `offset` on: what a byte is depends on where it stands, so that
/// bytes that are lost, doubled or moved show.
pub fn pattern(key: u64, offset: u64, bytes: &mut [u8]) {
    let word = |i: u64| {
        let mixed = (i ^ (key << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).to_be_bytes()
    };
    // The first word may be cut at its start, the last at its end.
    let (mut at, mut left) = (offset, bytes);
    while !left.is_empty() {
        let from = (at % 8) as usize;
        let (part, rest) = left.split_at_mut(left.len().min(8 - from));
        part.copy_from_slice(&word(at / 8)[from..from + part.len()]);
        at += part.len() as u64;
        left = rest;
    }
}

/// The offset of the first of `bytes`, which stand at `offset`, that is not as in pattern `key`.
pub fn find_mismatch(key: u64, offset: u64, bytes: &[u8]) -> Option<u64> {
    let mut expected = vec![0; bytes.len()];
    pattern(key, offset, &mut expected);
    if bytes == expected {
        return None;
    }
    let at = bytes.iter().zip(&expected).position(|(is, should)| is != should)?;
    Some(offset + at as u64)
}

impl StreamDigest {
    /// The next bytes of the stream, which is to be pattern `key`.
    pub fn update(&mut self, key: u64, bytes: &[u8]) {
        let wrong = || find_mismatch(key, self.bytes, bytes);
        self.first_mismatch = self.first_mismatch.or_else(wrong);
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// How many there were.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The SHA-256 of all of them.
    pub fn sha256(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    /// There were that many, each as it has to be.
    pub fn assert_complete(&self, bytes: u64) {
        assert_eq!((self.bytes, self.first_mismatch), (bytes, None));
    }

    /// Is it whole and right, and the same that went in at the other end?
    pub fn is_as_sent(&self, sent: &Self) -> bool {
        let (here, there) = (self.sha256(), sent.sha256());
        (self.bytes, self.first_mismatch, here) == (sent.bytes, None, there)
    }

    /// The same went in at the other end.
    pub fn assert_same(&self, sent: &Self) {
        assert_eq!(self.bytes, sent.bytes);
        assert_eq!(self.sha256(), sent.sha256());
    }
}

impl fmt::Debug for StreamDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, wrong at {:?}", self.bytes, self.first_mismatch)
    }
}
