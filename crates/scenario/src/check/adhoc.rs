//! Validation of ad hoc networks.

use driftway_base::{Duration, Rate};
use driftway_radio::dcf::Phy;
use driftway_radio::{ParameterError, PropagationKind};
use driftway_route::NextHopConfirmation;

use super::link;
use crate::adhoc::mobility::{Chain, ConstantVelocityKeys, Mobility, Point, StaticPositions};
use crate::adhoc::{Adhoc, Dcf, Dsr, Feedback, Mac, Radio, Routing};
use crate::file_value::Keyword;
use crate::problem::{CheckResult, Problem, require};
use crate::{BitRate, Decibel, Discipline, Distance, OrNone, Time};

pub(super) fn check(network: &Adhoc) -> CheckResult {
    let key = |name: &str| format!("network.{name}");
    let Some(nodes) = network.nodes else {
        return require(false, "network", || {
            "the key `nodes` is missing\nadd `nodes = …` to this table".into()
        });
    };
    if let Some(found) = network.mobility_nodes() {
        require(found == nodes, key("nodes"), || {
            format!("{nodes} nodes, but `mobility` has {found}\nleave `nodes` out")
        })?;
    }
    if let Some((Distance(width), Distance(height))) = network.area {
        for (i, side) in [width, height].into_iter().enumerate() {
            require(
                (0.0..MAX_COORDINATE_M).contains(&side) && width + height > 0.0,
                format!("network.area.{i}"),
                || format!("an area of {width} m × {height} m\nsides are longer than 0 m"),
            )?;
        }
    }
    check_mobility(network)?;
    check_radio(&network.radio, nodes)?;
    if let Mac::Dcf(dcf) = &network.mac {
        self::check_dcf(dcf)?;
    }
    link::check_queue(&key("queue"), &network.queue)?;
    for (name, written) in
        [("bytes", network.queue.bytes.is_some()), ("time", network.queue.time.is_some())]
    {
        require(!written, key(&format!("queue.{name}")), || {
            format!("the queue of a radio has no key `{name}`\nit counts packets: use `packets`")
        })?;
    }
    require(network.queue.discipline != Discipline::FqCodel, key("queue.discipline"), || {
        "the queue of a radio is one for all flows\nuse \"codel\"".into()
    })?;
    if let Routing::Dsr(dsr) = &network.routing {
        self::check_dsr(dsr, network)?;
    }
    require(
        network.route_probe.is_none() || network.feedback == Feedback::Rfn,
        key("route_probe"),
        || "`route_probe` without RFNs\nadd feedback = \"rfn\"".into(),
    )?;
    require(
        network.link_retry.is_none() || matches!(network.mac, Mac::Dcf(_)),
        key("link_retry"),
        || {
            "`link_retry` over TDMA, which reports no failure\nuse mac.kind = \"dcf\", or leave it out".into()
        },
    )
}

fn check_dsr(dsr: &Dsr, network: &Adhoc) -> CheckResult {
    let confirms = dsr.confirm == Keyword(NextHopConfirmation::NetworkLayer);
    let hears = matches!(network.mac, Mac::Dcf(_)) || network.mobility.is_static();
    require(hears || confirms, "network.mac", || {
        "DSR over TDMA with mobile nodes: broken links would not be detected\n\
         TDMA has no acknowledgments; add routing.confirm = \"network-layer\", or use \
         mac.kind = \"dcf\", static nodes, or AODV, which sends hello messages over TDMA"
            .into()
    })?;
    let OrNone(Some(flow)) = dsr.flow_state else { return Ok(()) };
    require(flow.fits_header(), "network.routing.flow_state.timeout", || {
        format!("a timeout of {}\nthe header encodes whole seconds, 1 s to 65535 s", flow.timeout)
    })?;
    require(!confirms, "network.routing.flow_state", || {
        "flow state needs confirmation by the link layer\n\
         remove it, or routing.confirm = \"network-layer\""
            .into()
    })
}

fn check_mobility(network: &Adhoc) -> CheckResult {
    let key = |name: &str| format!("network.mobility.{name}");
    match &network.mobility {
        Mobility::File(_) => {
            if let Some(movement) = &network.movement {
                for (x, y) in [movement.bounds().low, movement.bounds().high] {
                    require_in_area(key("file"), (Distance(x), Distance(y)), network.area)?;
                }
            }
        }
        Mobility::RandomWaypoint(_) | Mobility::ConstantVelocity(_) | Mobility::Registered(_) => {
            require(network.area.is_some(), "network", || {
                "this model of mobility needs an area\nadd `area = [\"1000 m\", \"1000 m\"]`".into()
            })?;
            if let Mobility::ConstantVelocity(model) = &network.mobility {
                let ConstantVelocityKeys { positions, velocities } = model;
                require(positions.len() == velocities.len(), key("velocities"), || {
                    format!(
                        "{} velocities for {} positions\nthere is one for each node",
                        velocities.len(),
                        positions.len()
                    )
                })?;
                check_points(&key("positions"), positions, network.area)?;
            }
        }
        Mobility::Positions(StaticPositions { positions }) => {
            check_points(&key("positions"), positions, network.area)?
        }
        Mobility::Chain(Chain { chain: Distance(spacing) }) => {
            let end = spacing * f64::from(network.nodes().saturating_sub(1));
            require_in_area(key("chain"), (Distance(end), Distance(0.0)), network.area)?;
        }
    }
    let is_listed = matches!(network.mobility, Mobility::ConstantVelocity(_));
    network.mobility(0).map(|_| ()).map_err(|bad| {
        bad_parameter(bad, |parameter| match parameter {
            "area" => "network.area".into(),
            "position" if is_listed => key("positions"),
            "velocity" if is_listed => key("velocities"),
            other => key(other),
        })
    })
}

/// The largest coordinate (m).
const MAX_COORDINATE_M: f64 = 1e9;

fn check_points(key: &str, points: &[Point], area: Option<Point>) -> CheckResult {
    for (i, point) in points.iter().enumerate() {
        require_in_area(format!("{key}.{i}"), *point, area)?;
    }
    Ok(())
}

fn require_in_area(key: String, (x, y): Point, area: Option<Point>) -> CheckResult {
    let (low, (right, top)) = match area {
        Some((Distance(right), Distance(top))) => (0.0, (right, top)),
        None => (-MAX_COORDINATE_M, (MAX_COORDINATE_M, MAX_COORDINATE_M)),
    };
    require((low..=right).contains(&x.0) && (low..=top).contains(&y.0), key, || {
        format!(
            "a node at ({x}, {y}) is outside\nx is from {low} m to {right} m, y from {low} m to {top} m"
        )
    })
}

fn check_radio(radio: &Radio, nodes: u32) -> CheckResult {
    let key = |name: &str| format!("network.radio.{name}");
    let thresholds = [
        ("receive", radio.receive_range.is_some(), radio.receive_threshold.is_some()),
        ("sense", radio.sense_range.is_some(), radio.sense_threshold.is_some()),
    ];
    for (name, range, threshold) in thresholds {
        require(!(range && threshold), key(&format!("{name}_threshold")), || {
            format!("both {name}_range and {name}_threshold\nleave out one of them")
        })?;
        require(range || threshold, key("receive_threshold"), || {
            format!("receive_threshold without {name}_threshold\nadd {name}_threshold")
        })?;
    }
    let log_distance = radio.propagation == Keyword(PropagationKind::LogDistance);
    for (name, written) in
        [("exponent", radio.exponent.is_some()), ("shadowing", radio.shadowing.is_some())]
    {
        require(log_distance || !written, key(name), || {
            format!("`{name}` without log-distance\nadd propagation = \"log-distance\"")
        })?;
    }
    let most = driftway_radio::Propagation::MAX_DECORRELATING_STATIONS;
    require(radio.decorrelation.is_none() || nodes <= most, key("decorrelation"), || {
        format!("decorrelation with {nodes} nodes\nuse at most {most} nodes, or leave it out")
    })?;
    let shadowed = radio.shadowing.is_some_and(|Decibel(deviation)| deviation > 0.0);
    require(shadowed || radio.decorrelation.is_none(), key("decorrelation"), || {
        "`decorrelation` without shadowing\nadd shadowing = \"6 dB\", or another deviation".into()
    })?;
    let limit = |name: &str, threshold: bool| {
        key(&format!("{name}_{}", if threshold { "threshold" } else { "range" }))
    };
    let propagation = driftway_radio::Propagation::new(&radio.config(), 2, 0);
    propagation.map(|_| ()).map_err(|bad| {
        bad_parameter(bad, |parameter| match parameter {
            "receive" => limit("receive", radio.receive_threshold.is_some()),
            "sense" => limit("sense", radio.sense_threshold.is_some()),
            other => key(other),
        })
    })
}

/// Converts a parameter error of the crate `radio`.
fn bad_parameter(bad: ParameterError, key: impl Fn(&str) -> String) -> Problem {
    let ParameterError { parameter, message, help } = bad;
    Problem { key: key(parameter), message: format!("{message}\n{help}") }
}

/// IEEE 802.11-2007 §18.1: high-rate DSSS, after a preamble and header of 192 or 96 µs.
const MAX_DSSS_RATE: BitRate = BitRate(Rate::from_bps(11_000_000));
/// §17.3.2, §19.3.2: OFDM's preamble and signal field take 20 µs; the mixed modes of later editions
/// take longer, but less than DSSS.
const MAX_OFDM_PREAMBLE: Time = Time(Duration::from_micros(95));

/// §7.1.2: maximum frame body in bytes.
const MAX_MSDU_BYTES: u64 = 2304;
/// RFC 4728 §6.1, §6.7: DSR header and Source Route option without addresses.
const DSR_HEADER_BYTES: u64 = 8;

/// Checks that packets of this size, which `key` determines, fit into a MAC frame.
pub(super) fn check_frame_size(network: &Adhoc, key: String, packet: u64) -> CheckResult {
    let Mac::Dcf(dcf) = &network.mac else { return Ok(()) };
    let route = match &network.routing {
        // Addresses of all nodes of the route except its ends.
        Routing::Dsr(dsr) => DSR_HEADER_BYTES + 4 * u64::from(dsr.max_nodes.saturating_sub(2)),
        Routing::Aodv(_) | Routing::Static(_) | Routing::None(_) | Routing::Registered(_) => 0,
    };
    let found = packet + route + dcf.llc_bytes.0;
    require(found <= MAX_MSDU_BYTES, key, || {
        let with = match (route, dcf.llc_bytes.0) {
            (0, llc) => format!("{llc} B of LLC"),
            (route, llc) => format!("{route} B of a source route and {llc} B of LLC"),
        };
        format!(
            "packets of {packet} B with {with} are {found} B\n802.11 carries {MAX_MSDU_BYTES} B in a frame"
        )
    })
}

fn check_dcf(dcf: &Dcf) -> CheckResult {
    let key = |name: &str| format!("network.mac.{name}");
    for (name, window) in [("cw_min", dcf.cw_min), ("cw_max", dcf.cw_max)] {
        // 802.11-1999 §9.2.4: contention windows are a power of two minus one.
        let fits = window > 0 && window < u16::MAX && (window + 1).is_power_of_two();
        require(fits, key(name), || {
            format!(
                "a contention window of {window}\nit is a power of two minus one: 15, 31, … 32767"
            )
        })?;
    }
    let ofdm = dcf.phy == Keyword(Phy::ErpOfdm);
    for (name, rate) in [("data_rate", dcf.data_rate), ("basic_rate", dcf.basic_rate)] {
        let bps = rate.0.as_bps();
        let is_listed = Phy::OFDM_RATES.iter().any(|rate| rate * 1_000_000 == bps);
        require(!ofdm || is_listed, key(name), || {
            format!("{rate} with OFDM\nits rates are 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s")
        })?;
        require(
            ofdm || rate <= MAX_DSSS_RATE || dcf.preamble <= MAX_OFDM_PREAMBLE,
            key(name),
            || {
                format!(
                    "{rate} after a preamble of {}\nthe maximum of 802.11b is {MAX_DSSS_RATE}; those of 802.11g need \
                 phy = \"erp-ofdm\"",
                    dcf.preamble
                )
            },
        )?;
    }
    require(dcf.cw_min <= dcf.cw_max, key("cw_max"), || {
        format!("cw_max {} is below cw_min, {}", dcf.cw_max, dcf.cw_min)
    })
}
