//! The TCP options that the ends of a connection have negotiated.

/// Negotiated options that concern the shim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Window scale of the local TCP's window field (RFC 7323 §2).
    pub window_shift: u8,
    /// Window scale of the peer's window field, if its SYN was seen.
    pub peer_window_shift: Option<u8>,
    /// Largest payload of the local TCP's segments (bytes).
    pub mss: Option<u16>,
}
