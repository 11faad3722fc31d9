//! Time lines of RFC 3561. A frame takes 1 ms, a link layer gives up after 5.

use base::Duration;
use route::{AodvConfig, DropReason};

use crate::net::{Fate, Net, News, ms};

/// RFC 3561 without its dice.
const EXACT: AodvConfig =
    AodvConfig { jitter: Duration::ZERO, gratuitous: false, ..AodvConfig::STANDARD };

#[test]
fn rings_grow_until_one_reaches_the_destination() {
    let mut net = Net::chain(EXACT, 4);
    let id = net.send(0, 3);
    net.run(ms(1000));
    // RFC 3561 §6.4: 2 × 40 ms × (1 + 2).
    assert_eq!(
        net.log,
        [
            "0 0 RREQ 3#? by 0#1 hops 0 ttl 1",
            "240 0 RREQ 3#? by 0#2 hops 0 ttl 3",
            "241 1 RREQ 3#? by 0#2 hops 1 ttl 2",
            "242 2 RREQ 3#? by 0#2 hops 2 ttl 1",
            "243 3 RREP 3#0 for 0 hops 0 life 6000 to 2",
            "244 2 RREP 3#0 for 0 hops 1 life 6000 to 1",
            "245 1 RREP 3#0 for 0 hops 2 life 6000 to 0",
        ]
    );
    assert_eq!(net.fates, [(id, ms(249), Fate::Delivered(3))]);
    assert_eq!(net.news, [(ms(246), 0, News::Found(3))]);
}

#[test]
fn a_search_in_vain_doubles_its_patience_and_ends() {
    let mut net = Net::chain(EXACT, 2);
    let id = net.send(0, 9 - 4);
    net.run(ms(60_000));
    let requests: Vec<_> = net.log.iter().filter(|line| line.contains(" 0 RREQ")).collect();
    // RFC 3561 §6.4: rings of 1, 3, 5, 7; §6.3: then all, with 2.8, 5.6 and 11.2 s.
    assert_eq!(
        requests,
        [
            "0 0 RREQ 5#? by 0#1 hops 0 ttl 1",
            "240 0 RREQ 5#? by 0#2 hops 0 ttl 3",
            "640 0 RREQ 5#? by 0#3 hops 0 ttl 5",
            "1200 0 RREQ 5#? by 0#4 hops 0 ttl 7",
            "1920 0 RREQ 5#? by 0#5 hops 0 ttl 35",
            "4720 0 RREQ 5#? by 0#6 hops 0 ttl 35",
            "10320 0 RREQ 5#? by 0#7 hops 0 ttl 35",
        ]
    );
    let end = Fate::Dropped(0, DropReason::DiscoveryFailed);
    assert_eq!(net.fates, [(id, ms(21_520), end)]);
    net.check_books();
}
