//! The arms of a comparison: each TCP without an aid and with each aid, in each reading.

use serde::Serialize;

/// A TCP, which is a preset of scenarios.
#[derive(Debug, PartialEq, Eq)]
pub struct ComparedTcp {
    /// Name of the preset.
    pub name: &'static str,
    /// Label for readers.
    pub label: &'static str,
    /// The setting by which a Linux host has it; `None`: no such host has it.
    pub linux: Option<&'static str>,
    /// It has window scaling.
    pub scales_window: bool,
}

/// The TCPs, oldest first.
pub const TCPS: [ComparedTcp; 6] = [
    ComparedTcp { name: "reno-bsd", label: "Reno of 4.4BSD", linux: None, scales_window: false },
    ComparedTcp { name: "newreno", label: "NewReno", linux: None, scales_window: false },
    ComparedTcp { name: "sack", label: "SACK", linux: None, scales_window: false },
    ComparedTcp {
        name: "linux",
        label: "Linux (CUBIC)",
        linux: Some("net.ipv4.tcp_congestion_control=cubic, the default"),
        scales_window: true,
    },
    ComparedTcp {
        name: "linux-bbr",
        label: "Linux with BBR",
        linux: Some("net.ipv4.tcp_congestion_control=bbr"),
        scales_window: true,
    },
    ComparedTcp { name: "bbr3", label: "BBR 3", linux: None, scales_window: true },
];

/// The TCP that hosts have by default, without an aid: the reference of recommendations.
pub const DEFAULT_TCP: &str = "linux";

/// The aid that driftway recommends.
pub const RECOMMENDED_AID: &str = "carry";

/// Name in place of an aid's where there is none.
pub const NO_AID: &str = "none";

/// A reading of the paper that an aid is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The aid as its paper has it, to the letter.
    Literal,
    /// The aid as driftway recommends it: the defaults of its options, at the sender.
    Recommended,
}

impl Reading {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Recommended => "recommended",
        }
    }
}

/// The end of the connection that has the aid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender of the flow.
    Sender,
    /// Its receiver.
    Receiver,
}

/// A reading of an aid, with what it needs.
#[derive(Debug, PartialEq, Eq)]
pub struct AidReading {
    /// Name of the aid.
    pub aid: &'static str,
    /// The reading.
    pub reading: Reading,
    /// Its options, as a table of a scenario without the name; empty: the defaults.
    pub options: &'static str,
    /// The end at which it is.
    pub end: End,
    /// Keys of an ad hoc network that it needs.
    pub adhoc: &'static [(&'static str, &'static str)],
    /// Its difference from the other reading.
    pub says: &'static str,
}

/// Needs of an aid: of the network, of the peer, of the host's kernel.
#[derive(Debug)]
pub struct Needs {
    /// Name of the aid.
    pub aid: &'static str,
    /// Needed of the network.
    pub network: &'static str,
    /// Needed of the peer.
    pub peer: &'static str,
    /// Needed of the host.
    pub host: &'static str,
}

const ELFN: &[(&str, &str)] = &[("network.routing.elfn", "true")];
const EPLN: &[(&str, &str)] = &[("network.routing.epln", "true")];
const RFN: &[(&str, &str)] = &[("network.feedback", "rfn")];
const LINK: &[(&str, &str)] = &[("network.link_signals", "{ lead = \"2 s\" }")];

const fn reading(
    aid: &'static str,
    reading: Reading,
    options: &'static str,
    says: &'static str,
) -> AidReading {
    AidReading { aid, reading, options, end: End::Sender, adhoc: &[], says }
}

const DEFAULTS: &str = "the defaults of its options";

/// The aids in each of their readings, the one that driftway recommends first.
pub const AIDS: [AidReading; 18] = {
    use Reading::{Literal, Recommended};
    [
        reading(RECOMMENDED_AID, Recommended, "", DEFAULTS),
        reading(
            "atcp",
            Literal,
            "retransmission = \"behind\", duplicates = \"third\", leave_loss = \"ack-or-data\"",
            "retransmissions join the queue's tail and data ends the loss state (§IV), only the third duplicate is \
             withheld (§III-A)",
        ),
        reading("atcp", Recommended, "", DEFAULTS),
        reading("atcp-partial", Literal, "", "as the thesis has it; driftway recommends no other"),
        AidReading {
            adhoc: RFN,
            ..reading(
                "tcp-f",
                Literal,
                "resume_from = \"nxt\"",
                "timers resume, and nothing is sent again (§4)",
            )
        },
        AidReading { adhoc: RFN, ..reading("tcp-f", Recommended, "", DEFAULTS) },
        AidReading {
            adhoc: ELFN,
            ..reading(
                "elfn",
                Literal,
                "after = \"defaults\"",
                "default window and timeout after a standby (yu-2004 §3.1)",
            )
        },
        AidReading { adhoc: ELFN, ..reading("elfn", Recommended, "", DEFAULTS) },
        AidReading {
            adhoc: EPLN,
            ..reading(
                "epln",
                Literal,
                "after = \"defaults\"",
                "default window and timeout after a standby (yu-2004 §3.1)",
            )
        },
        AidReading { adhoc: EPLN, ..reading("epln", Recommended, "", DEFAULTS) },
        reading("cwnd-limit", Literal, "segments = 1", "the limit with the largest gain of §4.9"),
        reading("cwnd-limit", Recommended, "", DEFAULTS),
        AidReading {
            adhoc: LINK,
            ..reading(
                "mobile-host",
                Literal,
                "resend = \"last-sent\", ssthresh = \"max\"",
                "as the paper's listing has it",
            )
        },
        AidReading { adhoc: LINK, ..reading("mobile-host", Recommended, "", DEFAULTS) },
        AidReading {
            adhoc: LINK,
            end: End::Receiver,
            ..reading("three-dupacks", Literal, "", "at the receiver, as in the paper")
        },
        AidReading { adhoc: LINK, ..reading("three-dupacks", Recommended, "", "at the sender") },
        AidReading {
            adhoc: LINK,
            end: End::Receiver,
            ..reading("freeze-tcp", Literal, "", "at the receiver, as in the paper")
        },
        AidReading { adhoc: LINK, ..reading("freeze-tcp", Recommended, "", "at the sender") },
    ]
};

/// Needs of the aids, in the order of [`AIDS`].
pub const NEEDS: [Needs; 10] = {
    const SHIM: &str = "Linux with the shim, at the sender";
    const fn needs(
        aid: &'static str,
        network: &'static str,
        peer: &'static str,
        host: &'static str,
    ) -> Needs {
        Needs { aid, network, peer, host }
    }
    [
        needs(
            RECOMMENDED_AID,
            "nothing; routers that mark (ECN) for what it does about losses",
            "nothing; ECN for losses",
            SHIM,
        ),
        needs("atcp", "routers that mark (ECN), and report outages by ICMP", "ECN", SHIM),
        needs("atcp-partial", "routers that report outages by ICMP", "nothing", SHIM),
        needs("tcp-f", "routers that send RFN and RRN, which none does today", "nothing", SHIM),
        needs("elfn", "routing with ELFN, or ICMP errors", "nothing", SHIM),
        needs("epln", "routing with EPLN, or ICMP errors", "nothing", SHIM),
        needs("cwnd-limit", "nothing", "nothing", SHIM),
        needs("mobile-host", "nothing", "nothing", "a link that reports when it is down; the shim"),
        needs(
            "three-dupacks",
            "nothing",
            "nothing",
            "a link that reports when it is down; the shim",
        ),
        needs("freeze-tcp", "nothing", "nothing", "a link that warns before it is down; the shim"),
    ]
};

/// A TCP with an aid in a reading, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedArm {
    /// The TCP.
    pub tcp: &'static ComparedTcp,
    /// The aid; `None`: without.
    pub aid: Option<&'static AidReading>,
}

/// All arms: of each TCP first the one without an aid.
pub fn arms() -> Vec<ComparedArm> {
    let of_tcp = |tcp| {
        let aids = std::iter::once(None).chain(AIDS.iter().map(Some));
        aids.map(move |aid| ComparedArm { tcp, aid })
    };
    TCPS.iter().flat_map(of_tcp).collect()
}

/// Number of arms of each TCP.
pub const ARMS_PER_TCP: usize = AIDS.len() + 1;

impl ComparedArm {
    /// The name of its aid, or `none`.
    pub fn aid_name(&self) -> &'static str {
        self.aid.map_or(NO_AID, |of| of.aid)
    }

    /// The reading of its aid.
    pub fn reading(&self) -> Option<Reading> {
        self.aid.map(|of| of.reading)
    }

    /// Its name: `linux/carry/recommended`, `linux/none`.
    pub fn name(&self) -> String {
        let tcp = self.tcp.name;
        match self.aid {
            Some(AidReading { aid, reading, .. }) => format!("{tcp}/{aid}/{}", reading.name()),
            None => format!("{tcp}/{NO_AID}"),
        }
    }

    /// The aid for readers, with its reading if there are two: `carry`, `atcp (literal)`, `no aid`.
    pub fn aid_label(&self) -> String {
        self.aid.map_or_else(|| "no aid".to_owned(), AidReading::label)
    }
}

impl AidReading {
    /// The aid, with its reading if there are two.
    pub fn label(&self) -> String {
        let is_only = AIDS.iter().filter(|other| other.aid == self.aid).count() == 1;
        match self.reading {
            Reading::Literal if !is_only => format!("{} (literal)", self.aid),
            _ => self.aid.to_owned(),
        }
    }

    /// Its value of `flow.aid`.
    pub fn value(&self) -> String {
        match self.options {
            "" => format!("{{ name = \"{}\" }}", self.aid),
            options => format!("{{ name = \"{}\", {options} }}", self.aid),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn each_arm_has_a_name_of_its_own() {
        let mut names: Vec<_> = arms().iter().map(ComparedArm::name).collect();
        assert_eq!(names.len(), TCPS.len() * ARMS_PER_TCP);
        assert_eq!(names[0], "reno-bsd/none");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), arms().len());
    }

    #[test]
    fn each_aid_has_its_needs() {
        let mut aids: Vec<_> = AIDS.iter().map(|of| of.aid).collect();
        aids.dedup();
        assert_eq!(aids, NEEDS.iter().map(|of| of.aid).collect::<Vec<_>>());
    }

    #[test]
    fn an_aid_with_one_reading_needs_no_name_of_it() {
        let labels: Vec<_> = AIDS.iter().map(AidReading::label).collect();
        assert_eq!(labels[..4], ["carry", "atcp (literal)", "atcp", "atcp-partial"]);
    }
}
