//! `mobility = { … }`: where nodes are, and when.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Distance, Speed, Time};

/// Where nodes are, and when. One key, five ways to write it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Mobility {
    /// `{ file = "rwp50.mov" }`: as a movement file has it.
    File(MovementFile),
    /// `{ model = "random-waypoint", … }`.
    Model(MobilityModel),
    /// `{ positions = [["0 m", "0 m"], …] }`: nobody moves.
    Positions {
        /// One for each node, in order.
        positions: Vec<Point>,
    },
    /// `{ chain = "200 m" }`: nobody moves, and node *n* is at (*n* × 200 m, 0 m).
    Chain {
        /// From one node to the next.
        chain: Distance,
    },
}

impl Mobility {
    /// Does nobody move?
    pub(crate) const fn is_static(&self) -> bool {
        matches!(self, Self::Positions { .. } | Self::Chain { .. })
    }
}

/// A place: x and y.
pub type Point = (Distance, Distance);

/// `{ file = "rwp50.mov" }`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MovementFile {
    /// Its name, seen from the folder of the scenario file.
    pub file: String,
    /// What is in it. Default: what it looks like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<MovementFormat>,
}

/// How a movement file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum MovementFormat {
    /// `$node_(0) set X_ 10`, `$ns_ at 1 "$node_(0) setdest 20 30 5"`: what ns-2's setdest and
    /// BonnMotion's export for ns-2 write.
    #[serde(rename = "ns-2")]
    Ns2,
    /// BonnMotion's own: a line for each node, of time, x and y, again and again.
    #[serde(rename = "bonnmotion")]
    BonnMotion,
}

/// `{ model = "…", … }`: how a rule moves nodes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum MobilityModel {
    /// Each node goes straight to a place drawn from all of `area`, at a speed drawn for the way,
    /// waits there, and goes on.
    RandomWaypoint {
        /// Slowest and fastest; the speed of each way is drawn uniformly between them. From
        /// `"0 m/s"` on only with `steady_state = false`: a way at nearly no speed takes nearly for
        /// ever, so that the nodes' mean speed falls as long as the run lasts and has no steady
        /// state. The speed 0 itself is never drawn.
        #[serde(serialize_with = "one_or_range")]
        #[schemars(with = "crate::schema::OneOrTwo<Speed>")]
        speed: (Speed, Speed),
        /// How long a node waits where it has arrived, shortest and longest; each pause is drawn
        /// uniformly between them. Default 0 s.
        ///
        /// A pause as long as the run, which is how studies with ns-2's `setdest` write that nobody
        /// moves, means that only with `steady_state = false`. In the steady state most nodes begin
        /// somewhere within such a pause, and leave when its rest is over.
        #[serde(serialize_with = "one_or_range")]
        #[schemars(with = "Option<crate::schema::OneOrTwo<Time>>")]
        pause: (Time, Time),
        /// How the nodes begin. Default true.
        ///
        /// *True*: as in a run that has been going on for ever, so that no warm-up is needed
        /// (Navidi & Camp 2004; Navidi, Camp & Bauer 2004; Le Boudec & Vojnović 2005). A node begins
        /// in a pause with the probability
        ///
        /// > E\[pause\] / (E\[pause\] + E\[distance\] · E\[1/speed\]),
        ///
        /// where the distance is that of two places drawn uniformly from `area`, and E\[1/speed\] =
        /// ln(fastest/slowest) / (fastest − slowest). It is then anywhere in `area`, with the same
        /// density, and what is left of its pause is drawn for a pause that one comes upon: for one
        /// length of pause, uniformly between nothing and all of it. All other nodes begin on
        /// their way: at a point drawn uniformly from a way that was drawn with a probability in
        /// proportion to its length, which is more often near the middle, and at a speed with a
        /// density in proportion to 1/speed.
        ///
        /// *False*: each node begins anywhere in `area`, with the same density, and with a whole
        /// pause. If the pause is as long as the run or longer, nobody moves. As time goes by, nodes
        /// come together in the middle and slow down: what is measured depends on when.
        #[schemars(default = "yes")]
        steady_state: bool,
    },
    /// Each node goes straight on, and is thrown back at the edges of `area`.
    ConstantVelocity {
        /// Where each node is at the start, in order.
        positions: Vec<Point>,
        /// Along x and y, for each node in order.
        velocities: Vec<(Speed, Speed)>,
    },
}

const fn yes() -> bool {
    true
}

const FORMS: &str = "mobility: { file = \"x.mov\" }, { model = \"random-waypoint\", speed = [\"1 m/s\", \
                     \"10 m/s\"] }, { model = \"constant-velocity\", positions = [[\"0 m\", \"0 m\"]], \
                     velocities = [[\"1 m/s\", \"0 m/s\"]] }, { positions = [[\"0 m\", \"0 m\"]] } or \
                     { chain = \"200 m\" }";

/// Every key that there is; which of them go together is for [`Keys::into_mobility`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MobilityKeys {
    file: Option<String>,
    format: Option<MovementFormat>,
    model: Option<ModelName>,
    speed: Option<OneOrRange<Speed>>,
    pause: Option<OneOrRange<Time>>,
    steady_state: Option<bool>,
    positions: Option<Vec<Point>>,
    velocities: Option<Vec<(Speed, Speed)>>,
    chain: Option<Distance>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ModelName {
    RandomWaypoint,
    ConstantVelocity,
}

impl MobilityKeys {
    /// What it was that was written, if its keys go together.
    fn into_mobility(self) -> Result<Mobility, String> {
        // Which keys each form has; the first is the one that makes it that form.
        let written = [
            ("file", self.file.is_some()),
            ("format", self.format.is_some()),
            ("model", self.model.is_some()),
            ("speed", self.speed.is_some()),
            ("pause", self.pause.is_some()),
            ("steady_state", self.steady_state.is_some()),
            ("positions", self.positions.is_some()),
            ("velocities", self.velocities.is_some()),
            ("chain", self.chain.is_some()),
        ];
        let only = |what: &str, keys: &[&str]| {
            let stray = written.iter().find(|(key, there)| *there && !keys.contains(key));
            stray.map_or(Ok(()), |(key, _)| {
                Err(format!("`{key}` does not go with {what}\nwith it go {}", keys.join(", ")))
            })
        };
        let needs = |what: &str, key: &str| format!("{what} needs `{key}`\nadd `{key} = …`");
        if let Some(model) = self.model {
            return match model {
                ModelName::RandomWaypoint => {
                    let what = "model \"random-waypoint\"";
                    only(what, &["model", "speed", "pause", "steady_state"])?;
                    let OneOrRange(speed) = self.speed.ok_or_else(|| needs(what, "speed"))?;
                    let pause = self.pause.map_or_else(Default::default, |OneOrRange(pause)| pause);
                    let steady_state = self.steady_state.unwrap_or(true);
                    Ok(Mobility::Model(MobilityModel::RandomWaypoint {
                        speed,
                        pause,
                        steady_state,
                    }))
                }
                ModelName::ConstantVelocity => {
                    let what = "model \"constant-velocity\"";
                    only(what, &["model", "positions", "velocities"])?;
                    let positions = self.positions.ok_or_else(|| needs(what, "positions"))?;
                    let velocities = self.velocities.ok_or_else(|| needs(what, "velocities"))?;
                    Ok(Mobility::Model(MobilityModel::ConstantVelocity { positions, velocities }))
                }
            };
        }
        if let Some(file) = self.file {
            only("`file`", &["file", "format"])?;
            return Ok(Mobility::File(MovementFile { file, format: self.format }));
        }
        if let Some(positions) = self.positions {
            only("`positions`", &["positions"])?;
            return Ok(Mobility::Positions { positions });
        }
        let chain = self.chain.ok_or_else(|| format!("expected {FORMS}"))?;
        only("`chain`", &["chain"])?;
        Ok(Mobility::Chain { chain })
    }
}

impl<'de> Deserialize<'de> for Mobility {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MobilityVisitor;
        impl<'de> Visitor<'de> for MobilityVisitor {
            type Value = Mobility;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mobility, A::Error> {
                let keys = MobilityKeys::deserialize(MapAccessDeserializer::new(map))?;
                keys.into_mobility().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(MobilityVisitor)
    }
}

/// `"10 m/s"`, or `["9 m/s", "11 m/s"]`.
struct OneOrRange<T>((T, T));

impl<'de, T> Deserialize<'de> for OneOrRange<T>
where
    T: Deserialize<'de> + FromStr<Err = String> + Copy,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RangeVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + FromStr<Err = String> + Copy> Visitor<'de> for RangeVisitor<T> {
            type Value = OneOrRange<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its unit, or an array of two, the least and the most")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrRange<T>, E> {
                let value = text.parse().map_err(E::custom)?;
                Ok(OneOrRange((value, value)))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut values: A,
            ) -> Result<OneOrRange<T>, A::Error> {
                let mut next =
                    |n| values.next_element()?.ok_or_else(|| Error::invalid_length(n, &self));
                Ok(OneOrRange((next(0)?, next(1)?)))
            }
        }
        deserializer.deserialize_any(RangeVisitor(PhantomData))
    }
}

/// One value for two that are the same.
fn one_or_range<T, S>(span: &(T, T), serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize + PartialEq,
    S: Serializer,
{
    if span.0 == span.1 { span.0.serialize(serializer) } else { span.serialize(serializer) }
}
