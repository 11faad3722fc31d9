//! The table `mobility`: positions and movement of nodes.

use std::borrow::Cow;

use driftway_radio::ParameterError;
use driftway_radio::mobility::Plane;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};

use super::movement_file::{FileNames, MovementFile, MovementFormat};
use crate::registered::Registered;
use crate::value_or::{self, Forms, Found, OneOrRange, one_or_range};
use crate::{Angle, Distance, Speed, Time};

/// Positions and movement of nodes, in one of five forms.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Mobility {
    /// `{ file = "rwp50.mov" }`: a movement file.
    File(MovementFile),
    /// `{ model = "random-waypoint", … }`: a mobility model.
    Model(MobilityModel),
    /// `{ positions = [["0 m", "0 m"], …] }`: static nodes.
    Positions {
        /// Position of each node, in order of node numbers.
        positions: Vec<Point>,
    },
    /// `{ chain = "200 m" }`: static nodes in a line, node *n* at (*n* × 200 m, 0 m).
    Chain {
        /// Distance between neighbouring nodes.
        chain: Distance,
    },
    /// A model that declares its options itself, built in or of a [`Registry`](crate::Registry).
    #[schemars(skip)]
    Registered(Registered<Plane, Result<driftway_radio::Mobility, ParameterError>>),
}

impl Mobility {
    /// Movement of the nodes, for readers: `do not move`.
    pub fn label(&self) -> String {
        match self {
            Self::File(movement) => format!("move as in {}", movement.file.label()),
            Self::Model(MobilityModel::RandomWaypoint { speed: (slow, fast), .. }) => {
                format!("move between random waypoints at {slow} to {fast}")
            }
            Self::Model(MobilityModel::ConstantVelocity { .. }) => "move uniformly".to_owned(),
            Self::Positions { .. } | Self::Chain { .. } => "do not move".to_owned(),
            Self::Registered(model) => format!("move by the model {}", model.name()),
        }
    }

    /// Returns whether no node moves.
    pub(crate) const fn is_static(&self) -> bool {
        matches!(self, Self::Positions { .. } | Self::Chain { .. })
    }
}

/// A position: x and y.
pub type Point = (Distance, Distance);

/// A mobility model, `{ model = "…", … }`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum MobilityModel {
    /// Random waypoint: each node moves in a straight line to a destination drawn uniformly from
    /// `area`, at a speed drawn for this leg, pauses there, and repeats.
    RandomWaypoint {
        /// Minimum and maximum speed, or one value for both; the speed of each leg is drawn
        /// uniformly between them. A minimum of `"0 m/s"` is allowed only with
        /// `steady_state = false`: legs at nearly zero speed take nearly forever, so that the mean
        /// speed decreases during the whole run and has no steady state. The speed 0 itself is
        /// never drawn.
        #[serde(serialize_with = "one_or_range")]
        #[schemars(with = "crate::value_or::OneOrRange<Speed>")]
        speed: (Speed, Speed),
        /// Minimum and maximum pause at a destination, or one value for both; each pause is drawn
        /// uniformly between them.
        ///
        /// A pause as long as the run, with which studies based on ns-2's `setdest` denote static
        /// nodes, has that meaning only with `steady_state = false`. In the steady state most nodes
        /// begin within such a pause, and leave when its remainder has elapsed.
        #[serde(serialize_with = "one_or_range")]
        #[schemars(with = "Option<crate::value_or::OneOrRange<Time>>", extend("default" = "0 s"))]
        pause: (Time, Time),
        /// Initial distribution of the nodes: stationary (true) or uniform (false).
        ///
        /// *True*: the stationary distribution, as in a run that has lasted forever, so that no
        /// warm-up is needed (Navidi & Camp 2004; Navidi, Camp & Bauer 2004; Le Boudec & Vojnović
        /// 2005). A node begins in a pause with the probability
        ///
        /// > E\[pause\] / (E\[pause\] + E\[distance\] · E\[1/speed\]),
        ///
        /// where the distance is that of two points drawn uniformly from `area`, and
        /// E\[1/speed\] = ln(maximum/minimum) / (maximum − minimum). Its position is then uniform
        /// in `area`, and the remainder of its pause has the residual distribution: for a constant
        /// pause, uniform between zero and the whole pause. All other nodes begin on a leg: at a
        /// point drawn uniformly from a leg that was drawn with a probability proportional to its
        /// length, hence more often near the centre, and at a speed with a density proportional
        /// to 1/speed.
        ///
        /// *False*: each node begins at a position uniform in `area`, with a whole pause. If the
        /// pause is as long as the run or longer, no node moves. As time passes, nodes concentrate
        /// in the centre and slow down: results depend on the time at which they are measured.
        #[schemars(default = "yes")]
        steady_state: bool,
    },
    /// Constant velocity: each node moves in a straight line and is reflected at the borders of
    /// `area`.
    ConstantVelocity {
        /// Initial position of each node, in order of node numbers.
        positions: Vec<Point>,
        /// Velocity along x and y of each node, in order of node numbers.
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

/// All keys of the table; [`MobilityKeys::into_mobility`] checks which of them occur together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MobilityKeys {
    file: Option<FileNames>,
    format: Option<MovementFormat>,
    start: Option<Time>,
    origin: Option<(Angle, Angle)>,
    offset: Option<(Distance, Distance)>,
    model: Option<ModelName>,
    speed: Option<OneOrRange<Speed>>,
    pause: Option<OneOrRange<Time>>,
    steady_state: Option<bool>,
    positions: Option<Vec<Point>>,
    velocities: Option<Vec<(Speed, Speed)>>,
    chain: Option<Distance>,
}

/// The values of `model` that [`ModelName`] reads.
pub(crate) const MODELS: [&str; 2] = ["random-waypoint", "constant-velocity"];

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ModelName {
    RandomWaypoint,
    ConstantVelocity,
}

impl MobilityKeys {
    /// The form that was written, or an error if its keys do not belong together.
    fn into_mobility(self) -> Result<Mobility, String> {
        // The keys of each form; its first key selects it.
        let written = [
            ("file", self.file.is_some()),
            ("format", self.format.is_some()),
            ("start", self.start.is_some()),
            ("origin", self.origin.is_some()),
            ("offset", self.offset.is_some()),
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
                Err(format!(
                    "`{key}` cannot be combined with {what}\nits keys are {}",
                    keys.join(", ")
                ))
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
            only("`file`", &["file", "format", "start", "origin", "offset"])?;
            let Self { format, start, origin, offset, .. } = self;
            let file = MovementFile { file, format, start, origin, offset };
            file.check()?;
            return Ok(Mobility::File(file));
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

impl Forms for Mobility {
    fn expecting() -> Cow<'static, str> {
        FORMS.into()
    }
    fn read(_: Found<'_>) -> Option<Result<Self, String>> {
        None
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        let mobility = |keys: MobilityKeys| keys.into_mobility().map_err(A::Error::custom);
        Some(value_or::table(found).and_then(mobility))
    }
}

value_or::by_forms!(Mobility);

#[cfg(test)]
mod test {
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn the_listed_names_are_those_that_are_read() {
        let read = |name| ModelName::deserialize(StrDeserializer::<Error>::new(name)).map(|_| ());
        assert!(MODELS.iter().all(|name| read(name).is_ok()));
        let listed = read("circle").unwrap_err().to_string();
        assert_eq!(listed.matches('`').count(), 2 * (1 + MODELS.len()), "{listed}");
    }
}
