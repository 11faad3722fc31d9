//! Digest of a byte stream at one end.

use std::fmt;

use sha2::{Digest, Sha256};

/// Counts and hashes the bytes of a stream, and compares each with the expected [`pattern`].
#[derive(Default)]
pub struct StreamDigest {
    bytes: u64,
    first_mismatch: Option<u64>,
    hash: Sha256,
}

/// Writes `bytes` of pattern `key` from `offset` on: each byte depends on its offset, so that lost,
/// duplicated or moved bytes are detected.
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

/// Offset of the first of `bytes`, located at `offset`, that differs from pattern `key`.
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
    /// Adds the next bytes of the stream, which should be pattern `key`.
    pub fn update(&mut self, key: u64, bytes: &[u8]) {
        let wrong = || find_mismatch(key, self.bytes, bytes);
        self.first_mismatch = self.first_mismatch.or_else(wrong);
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of all bytes.
    pub fn sha256(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    /// Asserts the length, and that every byte is as expected.
    pub fn assert_complete(&self, bytes: u64) {
        assert_eq!((self.bytes, self.first_mismatch), (bytes, None));
    }

    /// Returns whether it is complete, correct and equal to the stream sent at the other end.
    pub fn is_as_sent(&self, sent: &Self) -> bool {
        let (here, there) = (self.sha256(), sent.sha256());
        (self.bytes, self.first_mismatch, here) == (sent.bytes, None, there)
    }

    /// Asserts that it equals the stream sent at the other end.
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
