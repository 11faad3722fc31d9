//! Reasons for which packets are dropped, one list for links, queues, routing and hosts.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $reason:ident = $name:literal,)*) => {
        /// The reason for which a packet is dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $reason,)*
        }

        impl DropReason {
            /// All reasons.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$reason),*];

            /// Returns its name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }

            /// Returns its description, a sentence.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$reason => concat!($($doc),+).trim_ascii(),)*
                }
            }
        }
    };
}

reasons! {
    /// Bit errors corrupted the packet.
    BitError = "bit-error",
    /// The queue was full.
    QueueOverflow = "queue-overflow",
    /// RED dropped the packet before the queue was full.
    Red = "red",
    /// The packet was on a hop when a partition of it began, or in a queue that was flushed at that time.
    Partition = "partition",
    /// The packet was sent to a hop during a partition of it.
    Unreachable = "unreachable",
    /// A signal was lost at random.
    SignalLoss = "signal-loss",
    /// The TTL was exceeded.
    TimeToLive = "time-to-live",
    /// There was no node or socket at the destination.
    UnknownDestination = "unknown-destination",
    /// The router's buffer for packets without a route was full.
    RouterBuffer = "router-buffer",
    /// The packet was a route notification that a router did not forward.
    NoticeDiscarded = "notice-discarded",
    /// There was no route and no route discovery.
    NoRoute = "no-route",
    /// The link layer could not deliver the packet to the next hop, or routing had lost the link.
    LinkFailure = "link-failure",
    /// Route discovery failed.
    DiscoveryFailed = "discovery-failed",
    /// The routing protocol's buffer for packets without a route was full.
    SendBufferFull = "send-buffer-full",
    /// The packet waited too long for a route.
    SendBufferTimeout = "send-buffer-timeout",
    /// The packet had been salvaged the maximum number of times.
    SalvageLimit = "salvage-limit",
    /// The packet was in a routing loop.
    Loop = "loop",
    /// The source route could not be followed.
    BadRoute = "bad-route",
    /// ARP failed, or queued another packet instead.
    Arp = "arp",
    /// The packet was a route request whose route had the maximum length.
    RouteTooLong = "route-too-long",
    /// A copy of the packet was already in the same queue.
    DuplicateInQueue = "repeated",
    /// CoDel dropped the packet because packets had waited too long.
    Codel = "codel",
    /// PIE dropped the packet because packets wait too long.
    Pie = "pie",
    /// The link layer gave up the packet, and network-layer acknowledgments decide whether it has arrived.
    Unconfirmed = "unconfirmed",
}

impl DropReason {
    /// Returns true for the reasons for which queues drop packets: they are full, or early.
    pub const fn is_of_queue(self) -> bool {
        matches!(self, Self::QueueOverflow | Self::Red | Self::Codel | Self::Pie)
    }

    /// Returns true if the reason implies that there is no route to the destination at present: of the
    /// reasons for which routing drops a packet, all but these.
    pub const fn is_route_failure(self) -> bool {
        !matches!(self, Self::Loop | Self::TimeToLive | Self::Unconfirmed)
    }
}
