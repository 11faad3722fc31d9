//! Packets that are not intercepted: counters of rules, and the kernel's counters of fragments.

use std::{fs, io, iter};

use super::message::{Message, attributes};

/// A class of packets counted by rules.
pub struct Kind {
    pub name: &'static str,
    /// IP protocol numbers; empty: all others.
    protocols: &'static [u8],
}

/// Classes of IPv4 packets, after the interception rules.
pub const IPV4: [Kind; 3] = [
    Kind { name: "udp", protocols: &[17] },
    // IPv4 and IPv6 in IPv4, GRE, ESP, AH, L2TP, MPLS. Tunnels over UDP count as UDP.
    Kind { name: "tunnels", protocols: &[4, 41, 47, 50, 51, 115, 137] },
    Kind { name: "other", protocols: &[] },
];
/// Classes of IPv6 packets.
pub const IPV6: [Kind; 2] =
    [Kind { name: "ipv6_tcp", protocols: &[6] }, Kind { name: "ipv6_other", protocols: &[] }];

impl Kind {
    /// The protocol to match, for each rule.
    pub fn protocols(&self) -> impl Iterator<Item = Option<u8>> {
        let rest = self.protocols.is_empty().then_some(None);
        self.protocols.iter().copied().map(Some).chain(rest)
    }
}

/// Packets sent or received by this host, not over the loopback interface, that were not
/// intercepted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// UDP over IPv4, including tunnels over UDP.
    pub udp: u64,
    /// Tunnels with an IP protocol number: IPv4 and IPv6 in IPv4, GRE, IPsec, L2TP, MPLS.
    pub tunnels: u64,
    /// Other protocols over IPv4: ICMP (except errors that may concern a connection), SCTP, …
    pub other: u64,
    /// TCP over IPv6.
    pub ipv6_tcp: u64,
    /// Other packets of IPv6.
    pub ipv6_other: u64,
    /// IPv4 fragments received, over any interface. The kernel reassembles them first: TCP is
    /// intercepted as whole packets.
    pub pieces_in: u64,
    /// IPv4 fragments created for sending, over any interface.
    pub pieces_out: u64,
}

impl Unseen {
    /// Each counter with its name, in declaration order.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { udp, tunnels, other, ipv6_tcp, ipv6_other, pieces_in, pieces_out } = *self;
        [
            ("udp", udp),
            ("tunnels", tunnels),
            ("other", other),
            ("ipv6_tcp", ipv6_tcp),
            ("ipv6_other", ipv6_other),
            ("pieces_in", pieces_in),
            ("pieces_out", pieces_out),
        ]
        .into_iter()
    }

    /// From counters of rules, and the kernel's fragment counters since `before`.
    pub fn of(counts: &[(String, u64)], before: Pieces, now: Pieces) -> Self {
        let sum = |name: &str| {
            counts.iter().filter(|(kind, _)| kind == name).map(|(_, packets)| packets).sum()
        };
        Self {
            udp: sum("udp"),
            tunnels: sum("tunnels"),
            other: sum("other"),
            ipv6_tcp: sum("ipv6_tcp"),
            ipv6_other: sum("ipv6_other"),
            pieces_in: now.arrived.saturating_sub(before.arrived),
            pieces_out: now.made.saturating_sub(before.made),
        }
    }
}

/// Fragment counters of a namespace since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    arrived: u64,
    made: u64,
}

impl Pieces {
    /// Reads the counters of the calling thread's namespace.
    ///
    /// # Errors
    /// `/proc` can't be read, or has another format (names of RFC 4293 are expected).
    pub fn count() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
        Self::read(&text).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "no fragment counters in /proc/net/snmp")
        })
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, values) = (lines.next()?, lines.next()?);
        let count = |wanted| {
            let mut pairs = iter::zip(names.split(' '), values.split(' '));
            pairs.find(|(name, _)| *name == wanted)?.1.parse().ok()
        };
        Some(Self { arrived: count("ReasmReqds")?, made: count("FragCreates")? })
    }
}

/// A rule's name as a comment attribute, which `nft list ruleset` shows.
pub fn note(name: &str) -> Vec<u8> {
    let len = name.len() as u8 + 1;
    [&[0, len][..], name.as_bytes(), &[0]].concat()
}

/// Name and packet counter of a rule.
pub fn counted(rule: &Message<'_>) -> Option<(String, u64)> {
    let said = |kind| rule.attributes().find(|(said, _)| *said == kind).map(|(_, value)| value);
    let name = said(7)?.get(2..)?.strip_suffix(&[0])?;
    let packets = attributes(said(4)?).find_map(|(_, expression)| {
        let said = |kind| attributes(expression).find(|(said, _)| *said == kind);
        let (_, data) =
            said(2).filter(|_| said(1).is_some_and(|(_, name)| name == b"counter\0"))?;
        let (_, packets) = attributes(data).find(|(kind, _)| *kind == 2)?;
        Some(u64::from_be_bytes(*packets.first_chunk()?))
    })?;
    Some((String::from_utf8_lossy(name).into_owned(), packets))
}

#[cfg(test)]
mod test {
    use super::super::message::Messages;
    use super::*;

    #[test]
    fn counters_of_rules_are_parsed() {
        let mut messages = Messages::default();
        messages.add(0xa06, 0, 1, 0, |says| {
            says.text(1, "driftway");
            says.nested(4, |expressions| {
                for (name, packets) in [("meta", 5_u64), ("counter", 7)] {
                    expressions.nested(1, |expression| {
                        expression.text(1, name);
                        expression.nested(2, |data| {
                            data.bytes(1, &99_u64.to_be_bytes());
                            data.bytes(2, &packets.to_be_bytes());
                        });
                    });
                }
            });
            says.bytes(7, &note("udp"));
        });
        messages.add(0xa06, 0, 1, 0, |says| says.text(1, "driftway"));
        let (first, rest) = Message::first(messages.bytes()).unwrap();
        assert_eq!(counted(&first), Some(("udp".to_owned(), 7)));
        let (second, _) = Message::first(rest).unwrap();
        assert_eq!(counted(&second), None);
        let sums = [("udp".to_owned(), 7), ("other".to_owned(), 1), ("udp".to_owned(), 2)];
        let (before, now) = (Pieces { arrived: 4, made: 5 }, Pieces { arrived: 6, made: 5 });
        let unseen = Unseen::of(&sums, before, now);
        assert_eq!((unseen.udp, unseen.other, unseen.pieces_in, unseen.pieces_out), (9, 1, 2, 0));
    }

    #[test]
    fn fragment_counters_are_parsed_by_name() {
        let text = "Ip: Forwarding ReasmReqds FragCreates\nIp: 1 22 33\nIcmp: InMsgs\nIcmp: 4\n";
        assert_eq!(Pieces::read(text), Some(Pieces { arrived: 22, made: 33 }));
        assert_eq!(Pieces::read("Ip: Forwarding\nIp: 1\n"), None);
        assert_eq!(Pieces::read(""), None);
    }
}
