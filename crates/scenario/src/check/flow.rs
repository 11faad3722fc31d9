//! Validation of flows, their TCP and their aids.

use driftway_tcp::RecoveryKind;

use super::adhoc;
use super::application;
use super::numbers::check_node;
use crate::problem::{CheckResult, require};
use crate::rules::Table;
use crate::{Adhoc, Aid, Application, Flow, Network, Phase, Size, Tcp, Time, Transport};

pub(super) fn check(key: &str, flow: &Flow, network: &Network, duration: Time) -> CheckResult {
    let is_named = flow.name.as_ref().is_none_or(|name| !name.trim().is_empty());
    require(is_named, format!("{key}.name"), || "the name is empty".into())?;
    check_node(format!("{key}.from"), flow.from, network)?;
    check_node(format!("{key}.to"), flow.to, network)?;
    require(flow.from != flow.to, format!("{key}.to"), || {
        let node = network.node_name(flow.from);
        format!("this flow goes from node {node} to itself\n`from` and `to` must differ")
    })?;
    require(flow.start < duration, format!("{key}.start"), || {
        format!(
            "this flow starts at {}, but the run ends at {duration}\nstart it before `duration`",
            flow.start
        )
    })?;
    application::check(key, &flow.application)?;
    let fits_frame = || match network {
        Network::Adhoc(adhoc) => self::check_frame_size(key, flow, adhoc),
        Network::Path(_) | Network::Mixed(_) => Ok(()),
    };
    match flow.transport {
        Transport::Tcp => {
            flow.tcp.as_ref().map_or(Ok(()), |tcp| self::check_tcp(&format!("{key}.tcp"), tcp))?;
            fits_frame()?;
        }
        Transport::Udp => {
            require(
                flow.application.packet_size().is_some(),
                format!("{key}.application"),
                || {
                    "this application needs TCP\nwith UDP use { cbr = { every = \"0.25 s\", size = \"512 B\" } }".into()
                },
            )?;
            fits_frame()?;
            require(flow.tcp.is_none(), format!("{key}.tcp"), || {
                "`tcp` with transport = \"udp\"\nleave out one of them".into()
            })?;
        }
    }
    if let Some(application) = flow.back {
        let answers = matches!(flow.application, Application::RequestResponse(_));
        require(!answers, format!("{key}.back"), || {
            "`back` with request-response\nthe responses are its reverse direction".into()
        })?;
        check_back(&format!("{key}.back"), application, flow.transport)?;
    }
    for (name, aid) in [("aid", Some(&flow.aid)), ("receiver_aid", flow.receiver_aid.as_ref())] {
        aid.map_or(Ok(()), |aid| self::check_aid(&format!("{key}.{name}"), aid, flow.transport))?;
    }
    check_unreachable_at(&format!("{key}.unreachable_at"), flow)?;
    check_unreachable_until(&format!("{key}.unreachable_until"), flow, network)
}

/// Checks that the packets of `flow` fit into the frames of `network`.
pub(super) fn check_frame_size(key: &str, flow: &Flow, network: &Adhoc) -> CheckResult {
    let (key, bytes) = match (flow.transport, &flow.tcp, flow.application.packet_size()) {
        (Transport::Tcp, Some(tcp), _) => (format!("{key}.tcp.mss"), tcp.mss.0 + TCP_IP_BYTES),
        (Transport::Udp, _, Some(size)) => {
            (format!("{key}.{}.size", application::key(&flow.application)), size.0 + UDP_IP_BYTES)
        }
        _ => return Ok(()),
    };
    adhoc::check_frame_size(network, key, bytes)
}

/// Checks the times at which the sender is notified that its destination is unreachable.
fn check_unreachable_at(key: &str, flow: &Flow) -> CheckResult {
    require(flow.unreachable_at.is_empty() || flow.transport == Transport::Tcp, key, || {
        "`unreachable_at` with transport = \"udp\"\nonly TCP senders can be notified; leave it out"
            .into()
    })?;
    let falls = flow.unreachable_at.windows(2).find(|pair| pair[0] >= pair[1]);
    falls.map_or(Ok(()), |pair| {
        require(false, key, || {
            format!("{} comes after {}\nwrite the times in ascending order", pair[1], pair[0])
        })
    })
}

/// Checks the time until which link failures notify the sender that its destination is unreachable.
fn check_unreachable_until(key: &str, flow: &Flow, network: &Network) -> CheckResult {
    if flow.unreachable_until.is_none() {
        return Ok(());
    }
    require(flow.transport == Transport::Tcp, key, || {
        "`unreachable_until` with transport = \"udp\"\nonly TCP senders can be notified; leave it out"
            .into()
    })?;
    require(!matches!(network, Network::Path(_)), key, || {
        "`unreachable_until` in a network of kind \"path\"\n\
         link failures are reported in ad hoc networks only; here use `unreachable_at`"
            .into()
    })?;
    if let Network::Mixed(mixed) = network {
        require(mixed.has_radio(flow.from), key, || {
            format!(
                "`unreachable_until` with a sender, {}, that has no radio\n\
                 only radios report link failures; here use `unreachable_at`",
                network.node_name(flow.from)
            )
        })?;
    }
    require(flow.unreachable_at.is_empty(), key, || {
        "`unreachable_until` together with `unreachable_at`\nleave out one of them".into()
    })
}

/// Checks the application of the reverse direction.
fn check_back(key: &str, application: Application, transport: Transport) -> CheckResult {
    require(transport == Transport::Tcp, key, || {
        "`back` with transport = \"udp\"\n\
         only TCP connections are bidirectional; add a second [[flow]] instead"
            .into()
    })?;
    match application {
        Application::Transfer(Size(bytes)) => {
            require(bytes > 0, key, || "a transfer of 0 B\nleave out `back`".into())
        }
        Application::Ftp => Ok(()),
        Application::Cbr(_)
        | Application::Poisson(_)
        | Application::OnOff(_)
        | Application::RequestResponse(_) => require(false, key, || {
            "`back` is neither a transfer nor \"ftp\"\n\
             use { transfer = \"1 MB\" } or \"ftp\"; for others add a second [[flow]]"
                .into()
        }),
    }
}

/// IP and TCP headers without options: the MSS does not account for options (RFC 6691).
pub(super) const TCP_IP_BYTES: u64 = 40;
const UDP_IP_BYTES: u64 = 28;
/// RFC 7323 §2.3: windows are smaller than 2³⁰.
const MAX_WINDOW_BYTES: u64 = (1 << 30) - 1;

pub(super) fn check_tcp(key: &str, tcp: &Tcp) -> CheckResult {
    let (recovery, growth) = (tcp.recovery.0, &tcp.growth);
    let allowed = growth.combines_with(recovery);
    require(allowed, format!("{key}.growth"), || {
        let pairs = RecoveryKind::ALL.iter().map(|(name, recovery)| {
            let growths: Vec<_> = recovery.controls().map(|growth| growth.name()).collect();
            format!("{name} with {}", growths.join(" or "))
        });
        let pairs: Vec<_> = pairs.collect();
        format!(
            "recovery \"{}\" cannot be combined with growth \"{}\"\nvalid pairs: {}",
            recovery.name(),
            growth.name(),
            pairs.join("; ")
        )
    })?;
    check_dependencies(key, tcp)?;
    tcp.check_ranges(key)?;
    let window = tcp.window_bytes();
    let window_key = format!("{key}.window");
    require(window >= tcp.mss.0, &window_key, || {
        format!(
            "a window of {} is smaller than one segment of {}\nthe minimum is one mss",
            Size(window),
            tcp.mss
        )
    })?;
    require(window <= MAX_WINDOW_BYTES, &window_key, || {
        format!("a window of {}\nthe maximum of TCP is {MAX_WINDOW_BYTES} B", Size(window))
    })?;
    require(tcp.scales_window() || window <= 65_535, &window_key, || {
        format!(
            "a window of {} without window_scale\nthe maximum without it is 65535 B",
            Size(window)
        )
    })?;
    if let Phase::At(phase) = tcp.tick.phase {
        require(phase < tcp.tick.timer, format!("{key}.tick.phase"), || {
            format!(
                "a phase of {phase} in a tick of {}\nphases are shorter than the tick",
                tcp.tick.timer
            )
        })?;
    }
    for (name, time) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto)] {
        require(time <= tcp.max_rto, format!("{key}.{name}"), || {
            format!("`{name}` of {time} is longer than max_rto, {}", tcp.max_rto)
        })?;
    }
    require(tcp.persist_min <= tcp.persist_max, format!("{key}.persist_max"), || {
        format!(
            "persist_max of {} is shorter than persist_min, {}",
            tcp.persist_max, tcp.persist_min
        )
    })
}

/// Checks options that depend on other options.
fn check_dependencies(key: &str, tcp: &Tcp) -> CheckResult {
    let sack = tcp.recovery.0.uses_sack();
    let recovery = tcp.recovery.0.name();
    for (name, on) in [("prr", tcp.prr), ("dsack", tcp.dsack)] {
        require(!on || sack, format!("{key}.{name}"), || {
            let able = RecoveryKind::ALL.iter().filter(|(_, recovery)| recovery.uses_sack());
            let able: Vec<_> = able.map(|(name, _)| *name).collect();
            let able = able.join(" or ");
            format!(
                "`{name}` needs selective acknowledgments, and recovery \"{recovery}\" has none\n\
                 set recovery to {able}, or {name} to false"
            )
        })?;
    }
    require(!tcp.eifel || tcp.timestamps, format!("{key}.eifel"), || {
        "`eifel` needs timestamps, and they are off\nset timestamps to true, or eifel to false"
            .into()
    })
}

pub(super) fn check_aid(key: &str, aid: &Aid, transport: Transport) -> CheckResult {
    require(transport == Transport::Tcp || *aid == Aid::default(), key, || {
        "an aid with transport = \"udp\"\naids need TCP; leave out one of them".into()
    })?;
    let Some([(short, least), (long, found)]) = aid.misordered_options() else { return Ok(()) };
    require(false, format!("{key}.{long}"), || {
        format!("{long} of {found} is shorter than {short}, {least}")
    })
}
