//! Packets that are not intercepted: counters of rules, and the kernel's counters of fragments.

use std::{fs, io, iter};

use super::counters::counters;
use super::nfnetlink::{Message, attributes};

/// A class of packets counted by rules.
pub struct ProtocolClass {
    pub name: &'static str,
    /// IP protocol numbers; empty: all others.
    protocols: &'static [u8],
}

/// Classes of IPv4 packets, after the interception rules.
pub const IPV4: [ProtocolClass; 3] = [
    ProtocolClass { name: "udp", protocols: &[17] },
    // IPv4 and IPv6 in IPv4, GRE, ESP, AH, L2TP, MPLS. Tunnels over UDP count as UDP.
    ProtocolClass { name: "tunnels", protocols: &[4, 41, 47, 50, 51, 115, 137] },
    ProtocolClass { name: "other", protocols: &[] },
];
/// Classes of IPv6 packets.
pub const IPV6: [ProtocolClass; 2] = [
    ProtocolClass { name: "ipv6_tcp", protocols: &[6] },
    ProtocolClass { name: "ipv6_other", protocols: &[] },
];

impl ProtocolClass {
    /// The protocol to match, for each rule.
    pub fn protocols(&self) -> impl Iterator<Item = Option<u8>> {
        let rest = self.protocols.is_empty().then_some(None);
        self.protocols.iter().copied().map(Some).chain(rest)
    }
}

counters! {
    /// Packets sent or received by this host, not over the loopback interface, that were not
    /// intercepted since the start.
    UnseenCounts {
        /// TCP over IPv4: young connections, which pass by.
        young = "young",
        /// UDP over IPv4, including tunnels over UDP.
        udp = "udp",
        /// Tunnels with an IP protocol number: IPv4 and IPv6 in IPv4, GRE, IPsec, L2TP, MPLS.
        tunnels = "tunnels",
        /// Other protocols over IPv4: ICMP (except errors that may concern a connection), SCTP, …
        other = "other",
        /// TCP over IPv6.
        ipv6_tcp = "ipv6_tcp",
        /// Other packets of IPv6.
        ipv6_other = "ipv6_other",
        /// IPv4 fragments received, over any interface. The kernel reassembles them first: TCP is
        /// intercepted as whole packets.
        fragments_in = "fragments_in",
        /// IPv4 fragments created for sending, over any interface.
        fragments_out = "fragments_out",
    }
}

impl UnseenCounts {
    /// Counts from counters of rules, and the kernel's fragment counters since `before`.
    pub fn since_start(
        counts: &[(String, u64)],
        before: FragmentCounts,
        now: FragmentCounts,
    ) -> Self {
        let sum = |name: &str| {
            counts.iter().filter(|(kind, _)| kind == name).map(|(_, packets)| packets).sum()
        };
        Self {
            young: sum("young"),
            udp: sum("udp"),
            tunnels: sum("tunnels"),
            other: sum("other"),
            ipv6_tcp: sum("ipv6_tcp"),
            ipv6_other: sum("ipv6_other"),
            fragments_in: now.received.saturating_sub(before.received),
            fragments_out: now.created.saturating_sub(before.created),
        }
    }
}

/// Fragment counters of a namespace since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentCounts {
    received: u64,
    created: u64,
}

impl FragmentCounts {
    /// Reads the counters of the calling thread's namespace.
    ///
    /// # Errors
    /// `/proc` cannot be read, or has another format (names of RFC 4293 are expected).
    pub fn read() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
        Self::parse(&text).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "no fragment counters in /proc/net/snmp")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let (names, values) = (lines.next()?, lines.next()?);
        let count = |wanted| {
            let mut pairs = iter::zip(names.split(' '), values.split(' '));
            pairs.find(|(name, _)| *name == wanted)?.1.parse().ok()
        };
        Some(Self { received: count("ReasmReqds")?, created: count("FragCreates")? })
    }
}

/// A rule's name as a comment attribute, which `nft list ruleset` shows.
pub fn comment_attribute(name: &str) -> Vec<u8> {
    let len = name.len() as u8 + 1;
    [&[0, len][..], name.as_bytes(), &[0]].concat()
}

/// Name and packet counter of a rule.
pub fn parse_counter_rule(rule: &Message<'_>) -> Option<(String, u64)> {
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
    use super::super::nfnetlink::Messages;
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
            says.bytes(7, &comment_attribute("udp"));
        });
        messages.add(0xa06, 0, 1, 0, |says| says.text(1, "driftway"));
        let (first, rest) = Message::parse_first(messages.bytes()).unwrap();
        assert_eq!(parse_counter_rule(&first), Some(("udp".to_owned(), 7)));
        let (second, _) = Message::parse_first(rest).unwrap();
        assert_eq!(parse_counter_rule(&second), None);
        let sums = [("udp".to_owned(), 7), ("other".to_owned(), 1), ("udp".to_owned(), 2)];
        let (before, now) = (
            FragmentCounts { received: 4, created: 5 },
            FragmentCounts { received: 6, created: 5 },
        );
        let unseen = UnseenCounts::since_start(&sums, before, now);
        assert_eq!(
            (unseen.udp, unseen.other, unseen.fragments_in, unseen.fragments_out),
            (9, 1, 2, 0)
        );
    }

    #[test]
    fn fragment_counters_are_parsed_by_name() {
        let text = "Ip: Forwarding ReasmReqds FragCreates\nIp: 1 22 33\nIcmp: InMsgs\nIcmp: 4\n";
        assert_eq!(FragmentCounts::parse(text), Some(FragmentCounts { received: 22, created: 33 }));
        assert_eq!(FragmentCounts::parse("Ip: Forwarding\nIp: 1\n"), None);
        assert_eq!(FragmentCounts::parse(""), None);
    }
}
