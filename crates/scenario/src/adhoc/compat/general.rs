//! Deviations of ns-2.35 outside of the protocols that have a file of their own here.

use super::deviation::{Deviation, DeviationScope};

pub(super) const GENERAL: &[Deviation] = &[
    Deviation {
        key: "feedback",
        scope: DeviationScope::Any,
        standard: r#""icmp-unreachable""#,
        ns2: r#""none""#,
        standard_says: "RFC 1812 §4.3.3.1: a router that cannot deliver a packet sends its source \
                        an ICMP host unreachable.",
        ns2_does: "No ICMP; sources are notified only by messages of the routing protocol \
                   (aodv/aodv.cc `drop`, dsr/dsragent.cc `xmitFailed`).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::NotDsr,
        standard: r#""none""#,
        ns2: r#""routing-first""#,
        standard_says: "RFC 3561 does not specify queues.",
        ns2_does: "Scripts use `Queue/DropTail/PriQueue`: one queue with routing packets at its \
                   head; on overflow the packet at the tail is dropped (queue/priqueue.cc).",
    },
    Deviation {
        key: "queue.priority",
        scope: DeviationScope::Dsr,
        standard: r#""none""#,
        ns2: r#""classes""#,
        standard_says: "RFC 4728 §4.1 mentions a network interface queue without an order.",
        ns2_does: "DSR runs with `CMUPriQueue` only: four queues of `packets` each with strict \
                   priority: routing, real-time, TCP acknowledgments, others \
                   (queue/dsr-priqueue.cc). Acknowledgments overtake data at every hop.",
    },
    Deviation {
        key: "queue.count_arriving",
        scope: DeviationScope::NotDsr,
        standard: "false",
        ns2: "true",
        standard_says: "A queue of 50 packets holds 50.",
        ns2_does: "Its drop-tail queue also counts the arriving packet, and is full with 49 \
                   (queue/drop-tail.cc, queue/priqueue.cc); that of DSR is not.",
    },
    Deviation {
        key: "routing.tcp_padding",
        scope: DeviationScope::Static,
        standard: "0",
        ns2: "20",
        standard_says: "A packet has one IP header.",
        ns2_does: "Its closest equivalent of static routes is a stopped DSDV, whose packets have \
                   a second IP header of 20 bytes; TCP packets under AODV do not (dsdv/dsdv.cc \
                   `recv`, aodv/aodv.cc `recv`).",
    },
    Deviation {
        key: "arp.hold",
        scope: DeviationScope::Arp,
        standard: "3",
        ns2: "1",
        standard_says: "RFC 1122 §2.3.2.2: at least the latest packet is kept for each \
                        unresolved address. Linux keeps several; driftway keeps three.",
        ns2_does: "One packet, which a newer one replaces (mac/arp.cc `arpresolve`).",
    },
    Deviation {
        key: "arp.retry",
        scope: DeviationScope::Arp,
        standard: r#""1 s""#,
        ns2: r#""next-packet""#,
        standard_says: "RFC 1122 §2.3.2.1: requests are sent at most once per second; the \
                        waiting packets are dropped if there is no reply.",
        ns2_does: "No timer: only the next packet for the same neighbour triggers another \
                   request. The packet after the third request is reported as a link failure, \
                   together with the one that waited. Until then up to three packets are dropped \
                   silently (mac/arp.cc, `ARP_MAX_REQUEST_COUNT`).",
    },
    Deviation {
        key: "arp.lifetime",
        scope: DeviationScope::Arp,
        standard: r#""20 min""#,
        ns2: r#""forever""#,
        standard_says: "RFC 1122 §2.3.2.1: there must be a mechanism to flush out-of-date \
                        addresses; 20 minutes is the value of BSD.",
        ns2_does: "Addresses never expire (mac/arp.cc).",
    },
    Deviation {
        key: "arp.learn_from_all",
        scope: DeviationScope::Arp,
        standard: "false",
        ns2: "true",
        standard_says: "RFC 826, packet reception: known addresses are updated, but only the \
                        target of a message adds an unknown one.",
        ns2_does: "Every node that receives a request adds the address of its sender (mac/arp.cc \
                   `arpinput`).",
    },
    Deviation {
        key: "radio.light_speed",
        scope: DeviationScope::Any,
        standard: r#""299792458 m/s""#,
        ns2: r#""300000000 m/s""#,
        standard_says: "The speed of light.",
        ns2_does: "300,000 km/s: wavelength and crossover distance are 0.07 % larger.",
    },
];
