//! Rules for ad hoc networks.

use ::radio::BadParameter;

use super::{Checked, Problem, link, must, positive, probability, within};
use crate::adhoc::arp::{Again, Arp};
use crate::adhoc::mobility::{Mobility, Model, Point};
use crate::adhoc::{Adhoc, Dcf, Mac, Propagation, Radio, Tdma};
use crate::{Distance, Lifetime};

/// Node n has the address 10.0.0.1 + n, and all share one subnet of 16 bits.
const MOST_NODES: u64 = 65_000;

pub(super) fn check(network: &Adhoc) -> Checked {
    let key = |name: &str| format!("network.{name}");
    let Some(nodes) = network.nodes else {
        return must(false, "network", || {
            "the key `nodes` is missing\nadd `nodes = …` to this table".into()
        });
    };
    within(key("nodes"), "the number of nodes", nodes.into(), 2, MOST_NODES)?;
    if let Some(found) = network.placed() {
        must(found == nodes, key("nodes"), || {
            format!("{nodes} nodes, but `mobility` has {found}\nleave `nodes` out")
        })?;
    }
    if let Some((Distance(width), Distance(height))) = network.area {
        for (i, side) in [width, height].into_iter().enumerate() {
            must(
                (0.0..FURTHEST).contains(&side) && width + height > 0.0,
                format!("network.area.{i}"),
                || format!("an area of {width} m × {height} m\nsides are longer than 0 m"),
            )?;
        }
    }
    mobility(network)?;
    radio(&network.radio)?;
    match &network.mac {
        Mac::Dcf(dcf) => self::dcf(dcf)?,
        Mac::Tdma(tdma) => self::tdma(tdma)?,
    }
    link::queue(&key("queue"), &network.queue)?;
    arp(&network.arp)
}

fn mobility(network: &Adhoc) -> Checked {
    let key = |name: &str| format!("network.mobility.{name}");
    match &network.mobility {
        Mobility::File(_) => {
            if let Some(movement) = &network.movement {
                for (x, y) in [movement.bounds().low, movement.bounds().high] {
                    within_reach(key("file"), (Distance(x), Distance(y)), network.area)?;
                }
            }
        }
        Mobility::Model(model) => {
            must(network.area.is_some(), "network", || {
                "this model of mobility needs an area\nadd `area = [\"1000 m\", \"1000 m\"]`".into()
            })?;
            if let Model::ConstantVelocity { positions, velocities } = model {
                must(positions.len() == velocities.len(), key("velocities"), || {
                    format!(
                        "{} velocities for {} positions\nthere is one for each node",
                        velocities.len(),
                        positions.len()
                    )
                })?;
                points(&key("positions"), positions, network.area)?;
            }
        }
        Mobility::Positions { positions } => points(&key("positions"), positions, network.area)?,
        Mobility::Chain { chain: Distance(spacing) } => {
            must(*spacing > 0.0, key("chain"), || {
                format!("a spacing of {spacing} m\nneighbours are apart")
            })?;
            let end = spacing * f64::from(network.nodes().saturating_sub(1));
            within_reach(key("chain"), (Distance(end), Distance(0.0)), network.area)?;
        }
    }
    network.mobility(0).map(|_| ()).map_err(|bad| {
        bad_parameter(bad, |parameter| match parameter {
            "area" => "network.area".into(),
            "position" => key("positions"),
            "velocity" => key("velocities"),
            other => key(other),
        })
    })
}

/// In metres.
const FURTHEST: f64 = 1e9;

fn points(key: &str, points: &[Point], area: Option<Point>) -> Checked {
    for (i, point) in points.iter().enumerate() {
        within_reach(format!("{key}.{i}"), *point, area)?;
    }
    Ok(())
}

fn within_reach(key: String, (x, y): Point, area: Option<Point>) -> Checked {
    let (low, (right, top)) = match area {
        Some((Distance(right), Distance(top))) => (0.0, (right, top)),
        None => (-FURTHEST, (FURTHEST, FURTHEST)),
    };
    must((low..=right).contains(&x.0) && (low..=top).contains(&y.0), key, || {
        format!(
            "a node at ({x}, {y}) is outside\nx is from {low} m to {right} m, y from {low} m to {top} m"
        )
    })
}

fn radio(radio: &Radio) -> Checked {
    let key = |name: &str| format!("network.radio.{name}");
    let thresholds = [
        ("receive", radio.receive_range.is_some(), radio.receive_threshold.is_some()),
        ("sense", radio.sense_range.is_some(), radio.sense_threshold.is_some()),
    ];
    for (name, range, threshold) in thresholds {
        must(!(range && threshold), key(&format!("{name}_threshold")), || {
            format!("both {name}_range and {name}_threshold\nleave out one of them")
        })?;
        must(range || threshold, key("receive_threshold"), || {
            format!("receive_threshold without a limit of sensing\nadd {name}_threshold")
        })?;
    }
    let log_distance = radio.propagation == Propagation::LogDistance;
    for (name, written) in
        [("exponent", radio.exponent.is_some()), ("shadowing", radio.shadowing.is_some())]
    {
        must(log_distance || !written, key(name), || {
            format!("`{name}` without log-distance\nadd propagation = \"log-distance\"")
        })?;
    }
    probability(key("packet_error_rate"), radio.packet_error_rate)?;
    let limit = |name: &str, threshold: bool| {
        key(&format!("{name}_{}", if threshold { "threshold" } else { "range" }))
    };
    let propagation = ::radio::Propagation::new(&radio.config(), 2, 0);
    propagation.map(|_| ()).map_err(|bad| {
        bad_parameter(bad, |parameter| match parameter {
            "receive" => limit("receive", radio.receive_threshold.is_some()),
            "sense" => limit("sense", radio.sense_threshold.is_some()),
            other => key(other),
        })
    })
}

/// What the crate that does the work says of a value.
fn bad_parameter(bad: BadParameter, key: impl Fn(&str) -> String) -> Problem {
    let BadParameter { parameter, message, help } = bad;
    Problem { key: key(parameter), message: format!("{message}\n{help}") }
}

fn dcf(dcf: &Dcf) -> Checked {
    let key = |name: &str| format!("network.mac.{name}");
    for (name, limit) in
        [("short_retry_limit", dcf.short_retry_limit), ("long_retry_limit", dcf.long_retry_limit)]
    {
        within(key(name), "the number of attempts", limit.into(), 1, 255)?;
    }
    within(key("cw_min"), "a contention window of", dcf.cw_min.into(), 1, 65_535)?;
    within(key("cw_max"), "a contention window of", dcf.cw_max.into(), 1, 65_535)?;
    must(dcf.cw_min <= dcf.cw_max, key("cw_max"), || {
        format!("cw_max {} is below cw_min, {}", dcf.cw_max, dcf.cw_min)
    })?;
    for (name, time) in [("slot", dcf.slot), ("sifs", dcf.sifs)] {
        positive(key(name), time)?;
    }
    Ok(())
}

fn tdma(tdma: &Tdma) -> Checked {
    within("network.mac.slot".into(), "a slot for packets of", tdma.slot.0, 100, 65_535)
}

fn arp(arp: &Arp) -> Checked {
    let Arp::On(arp) = arp else { return Ok(()) };
    let key = |name: &str| format!("network.arp.{name}");
    within(key("hold"), "the number of packets", arp.hold as u64, 1, 1000)?;
    within(key("requests"), "the number of requests", arp.requests.into(), 1, 1000)?;
    if let Again::After(time) = arp.again {
        positive(key("again"), time)?;
    }
    match arp.lifetime {
        Lifetime::Limited(time) => positive(key("lifetime"), time),
        Lifetime::Forever => Ok(()),
    }
}
