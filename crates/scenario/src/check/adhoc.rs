//! Rules for ad hoc networks.

use super::{Checked, link, must, positive, probability, within};
use crate::adhoc::arp::{Arp, Lifetime};
use crate::adhoc::mobility::{Mobility, Model, Point};
use crate::adhoc::{Adhoc, Capture, Dcf, Mac, Propagation, Radio, Tdma};
use crate::{Decibel, Distance, Power, Speed};

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
    if let Some(found) = network.mobility.nodes() {
        must(found == nodes, key("nodes"), || {
            format!("{nodes} nodes, but `mobility` has {found}\nleave `nodes` out")
        })?;
    }
    if let Some((Distance(width), Distance(height))) = network.area {
        for (i, side) in [width, height].into_iter().enumerate() {
            must(side > 0.0, format!("network.area.{i}"), || {
                format!("an area of {width} m × {height} m\nboth sides are longer than 0 m")
            })?;
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
        Mobility::File(_) => Ok(()),
        Mobility::Model(Model::RandomWaypoint { speed: (slow, fast), steady_state, .. }) => {
            must(network.area.is_some(), "network", || {
                "random waypoints need an area\nadd `area = [\"1000 m\", \"1000 m\"]`".into()
            })?;
            must(slow.0 >= 0.0 && fast.0 > 0.0, key("speed"), || {
                format!(
                    "a speed of {}\nspeeds are above 0 m/s",
                    if slow.0 < 0.0 { slow } else { fast }
                )
            })?;
            must(slow <= fast, key("speed"), || {
                format!("{slow} is faster than {fast}\nthe slower one comes first")
            })?;
            must(!steady_state || slow.0 > 0.0, key("speed"), || {
                "with speeds down to 0 m/s there is no steady state: nodes slow down for ever\n\
                 begin above 0 m/s, or set steady_state to false"
                    .into()
            })
        }
        Mobility::Model(Model::ConstantVelocity { positions, velocities }) => {
            must(positions.len() == velocities.len(), key("velocities"), || {
                format!(
                    "{} velocities for {} positions\nthere is one for each node",
                    velocities.len(),
                    positions.len()
                )
            })?;
            for (i, (Speed(x), Speed(y))) in velocities.iter().enumerate() {
                let fits = x.abs() <= FASTEST && y.abs() <= FASTEST;
                must(fits, key(&format!("velocities.{i}")), || {
                    format!("a velocity of {x} m/s, {y} m/s\nnothing here is faster than light")
                })?;
            }
            points(&key("positions"), positions, network.area)
        }
        Mobility::Positions { positions } => points(&key("positions"), positions, network.area),
        Mobility::Chain { chain: Distance(spacing) } => {
            must(*spacing > 0.0, key("chain"), || {
                format!("a spacing of {spacing} m\nneighbours are apart")
            })?;
            let end = spacing * f64::from(network.nodes().saturating_sub(1));
            within_reach(key("chain"), (Distance(end), Distance(0.0)), network.area)
        }
    }
}

/// In metres per second.
const FASTEST: f64 = 299_792_458.0;
/// In metres. Further out a floating-point number would not tell millimetres apart.
const FURTHEST: f64 = 1e12;

fn points(key: &str, points: &[Point], area: Option<Point>) -> Checked {
    for (i, point) in points.iter().enumerate() {
        within_reach(format!("{key}.{i}"), *point, area)?;
    }
    Ok(())
}

fn within_reach(key: String, (x, y): Point, area: Option<Point>) -> Checked {
    let (low, (right, top)) = match area {
        Some(area) => (0.0, area),
        None => (-FURTHEST, (Distance(FURTHEST), Distance(FURTHEST))),
    };
    let inside = (low..=right.0).contains(&x.0) && (low..=top.0).contains(&y.0);
    must(inside, key, || {
        format!(
            "a node at ({x}, {y}) is outside\nit must be within x {low} m … {right}, y {low} m … {top}"
        )
    })
}

fn radio(radio: &Radio) -> Checked {
    let key = |name: &str| format!("network.radio.{name}");
    for (range, threshold) in [
        ("receive", (radio.receive_range.is_some(), radio.receive_threshold)),
        ("sense", (radio.sense_range.is_some(), radio.sense_threshold)),
    ]
    .map(|(name, (range, threshold))| ((name, range), threshold))
    {
        let (name, ranged) = range;
        must(!(ranged && threshold.is_some()), key(&format!("{name}_threshold")), || {
            format!("both {name}_range and {name}_threshold\nleave out one of them")
        })?;
        let by_range = radio.propagation == Propagation::Range;
        must(!(by_range && threshold.is_some()), key(&format!("{name}_threshold")), || {
            format!("propagation \"range\" knows no powers\nsay {name}_range")
        })?;
        if let Some(threshold) = threshold {
            power(key(&format!("{name}_threshold")), threshold)?;
        }
    }
    for (name, range) in
        [("receive_range", radio.receive_range), ("sense_range", radio.sense_range)]
    {
        let range = range.map_or(1.0, |Distance(range)| range);
        must(range > 0.0 && range <= FURTHEST, key(name), || {
            format!("a range of {range} m\nranges are longer than 0 m")
        })?;
    }
    if let (Some(receive), Some(sense)) = (radio.receive_range, radio.sense_range) {
        must(sense >= receive, key("sense_range"), || {
            format!(
                "sense_range {sense} is shorter than receive_range, {receive}\nwhat is received is sensed"
            )
        })?;
    }
    if let (Some(receive), Some(sense)) = (radio.receive_threshold, radio.sense_threshold) {
        must(sense.watts() <= receive.watts(), key("sense_threshold"), || {
            format!(
                "sense_threshold {sense} is above receive_threshold, {receive}\nwhat is received is sensed"
            )
        })?;
    }
    must(
        radio.receive_threshold.is_none()
            || radio.sense_threshold.is_some()
            || radio.sense_range.is_some(),
        key("receive_threshold"),
        || "receive_threshold without a limit of sensing\nadd sense_threshold".into(),
    )?;
    let log_distance = radio.propagation == Propagation::LogDistance;
    for (name, written) in
        [("exponent", radio.exponent.is_some()), ("shadowing", radio.shadowing.is_some())]
    {
        must(log_distance || !written, key(name), || {
            format!("`{name}` without log-distance\nadd propagation = \"log-distance\"")
        })?;
    }
    if let Some(exponent) = radio.exponent {
        must((1.0..=10.0).contains(&exponent), key("exponent"), || {
            format!("an exponent of {exponent} out of range 1–10\nfree space has 2")
        })?;
    }
    if let Some(Decibel(deviation)) = radio.shadowing {
        must((0.0..=30.0).contains(&deviation), key("shadowing"), || {
            format!("a shadowing of {deviation} dB out of range 0–30")
        })?;
    }
    let Distance(height) = radio.antenna_height;
    must(height > 0.0 && height <= 10_000.0, key("antenna_height"), || {
        format!("an antenna at {height} m\nit is above the ground, and below 10 km")
    })?;
    power(key("power"), radio.power)?;
    if let Capture::Ratio(Decibel(ratio)) = radio.capture {
        must((0.0..=100.0).contains(&ratio), key("capture"), || {
            format!("a capture ratio of {ratio} dB out of range 0–100")
        })?;
    }
    probability(key("packet_error_rate"), radio.packet_error_rate)
}

fn power(key: String, power: Power) -> Checked {
    let watts = power.watts();
    must(watts.is_normal() && watts > 0.0, key, || {
        format!("a power of {power}\npowers are above 0 W, and not beyond all measure")
    })
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
    within(key("hold"), "the number of packets", arp.hold.into(), 1, 1000)?;
    within(key("requests"), "the number of requests", arp.requests.into(), 1, 1000)?;
    positive(key("every"), arp.every)?;
    match arp.lifetime {
        Lifetime::Limited(time) => positive(key("lifetime"), time),
        Lifetime::Forever => Ok(()),
    }
}
