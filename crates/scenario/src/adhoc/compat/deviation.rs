//! A deviation of ns-2.35 from the standards.

/// A key whose default depends on `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Dotted key, relative to `[network]`, or to `[network.air]` in a mixed network.
    pub key: &'static str,
    /// Networks in which the key exists.
    pub scope: DeviationScope,
    /// Default by the standard, as TOML; empty: the key is absent.
    pub standard: &'static str,
    /// Value in ns-2.35, as TOML.
    pub ns2: &'static str,
    /// Rule of the standard, with its section.
    pub standard_says: &'static str,
    /// Behaviour of ns-2.35, with its source file.
    pub ns2_does: &'static str,
}

/// Networks in which a key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationScope {
    /// Every ad hoc network.
    Any,
    /// Networks with ARP.
    Arp,
    /// `mac.kind = "dcf"`.
    Dcf,
    /// `mac.kind = "tdma"`.
    Tdma,
    /// Every `routing.protocol` but `"dsr"`.
    NotDsr,
    /// `routing.protocol = "aodv"`.
    Aodv,
    /// `routing.protocol = "aodv"` and `mac.kind = "tdma"`.
    AodvOverTdma,
    /// `routing.protocol = "dsr"`.
    Dsr,
    /// `routing.protocol = "static"`.
    Static,
}
