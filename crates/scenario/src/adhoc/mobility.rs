//! The table `mobility`: positions and movement of nodes.

use std::ops::Bound;

use driftway_radio::ParameterError;
use driftway_radio::mobility::{ConstantVelocity, InitialDistribution, Plane, RandomWaypoint};
use driftway_radio::movement::{Format, Movement};

use super::file_names::FileNames;
use crate::file_value::Keyword;
use crate::forms::forms;
use crate::registered::Registered;
use crate::value_or::OneOrRange;
use crate::{Angle, Distance, Speed, Time};

forms! {
    /// Positions and movement of nodes: a mobility model, `{ model = "…", … }`, or one of three other forms.
    pub enum Mobility [] expecting FORMS, {
        by model {
            /// Random waypoint: each node moves in a straight line to a destination drawn uniformly from
            /// `area`, at a speed drawn for this leg, pauses there, and repeats.
            RandomWaypoint(RandomWaypointKeys) = "random-waypoint" {
                /// Minimum and maximum speed, or one value for both; the speed of each leg is drawn
                /// uniformly between them. A minimum of `"0 m/s"` is allowed only with
                /// `steady_state = false`: legs at nearly zero speed take nearly forever, so that the mean
                /// speed decreases during the whole run and has no steady state. The speed 0 itself is
                /// never drawn.
                speed: OneOrRange<Speed>,
                /// Minimum and maximum pause at a destination, or one value for both; each pause is drawn
                /// uniformly between them.
                ///
                /// A pause as long as the run, with which studies based on ns-2's `setdest` denote static
                /// nodes, has that meaning only with `steady_state = false`. In the steady state most nodes
                /// begin within such a pause, and leave when its remainder has elapsed.
                pause: OneOrRange<Time> = OneOrRange::<Time>::default(),
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
                steady_state: bool = true,
            }
            /// Constant velocity: each node moves in a straight line and is reflected at the borders of
            /// `area`.
            ConstantVelocity(ConstantVelocityKeys) = "constant-velocity" {
                /// Initial position of each node, in order of node numbers.
                positions: Vec<Point>,
                /// Velocity along x and y of each node, in order of node numbers.
                velocities: Vec<(Speed, Speed)>,
            }
        }
        /// A movement file, `{ file = "rwp50.mov" }`.
        ///
        /// Nodes of `"ns-2"`, `"sumo-fcd"`, `"gpx"` and `"csv"` have names in the file, which `driftway check` lists with their
        /// numbers; those of `"ns-2"` are their numbers there. In the ends of flows and traffic and in faults a node can
        /// be given by this name, in quotes, as in `from = "bus7"` or `from = "12"`, instead of its number, unless each seed
        /// has a file of its own. Nodes of `"sumo-fcd"`, `"gpx"` and `"csv"` are numbered in order of their first appearance, or by their names if all of these are
        /// whole numbers. Such a node moves in a straight line from each of its positions to the next, stands at the first
        /// one until its time, and at the last one ever after, with its radio on all the time. Heights are not read.
        File(MovementFile) {
            /// File name, relative to the directory of the scenario file. With `{seed}` in the name, as in
            /// `"rwp-{seed}.mov"`, each run has the file of its seed; all have the same number of nodes.
            /// A file may be compressed by gzip, up to 64 MiB unpacked. Or a list of files of one of the
            /// formats `"sumo-fcd"`, `"gpx"` and `"csv"`, as in `["alice.gpx", "bob.gpx"]`: the nodes of each follow those
            /// of the previous one.
            file: FileNames,
            /// Format of the file: `"ns-2"`, `"bonnmotion"`, `"sumo-fcd"`, `"gpx"` or `"csv"`.
            format: Option<Keyword<Format>> => "detected from its content",
            /// Time of the file at which the run begins. That of GPX files is counted from the first point of all.
            start: Option<Time> => (Time::default()),
            /// Latitude and longitude, such as `["60.17 deg", "24.94 deg"]`, of the point with the coordinates 0 m,
            /// 0 m, in files whose positions are on the globe. x is to the east of it, y to the north, on the
            /// plane that touches the ellipsoid WGS 84 there. All nodes are within 500 km of it, so that distances
            /// are right to 0.3 %; within 80 km they are to 0.01 %.
            origin: Option<(Angle, Angle)> => "the first position of node 0",
            /// Added to the x and y of all nodes, so that none is negative where `network.area` is given.
            offset: Option<(Distance, Distance)> => "none",
        }
        /// `{ positions = [["0 m", "0 m"], …] }`: static nodes.
        Positions(StaticPositions) {
            /// Position of each node, in order of node numbers.
            [again] positions: Vec<Point>,
        }
        /// `{ chain = "200 m" }`: static nodes in a line, node *n* at (*n* × 200 m, 0 m).
        Chain(Chain) {
            /// Distance between neighbouring nodes.
            chain: Distance [real(
                "a spacing of {}", (Bound::Excluded(0.0), Bound::Unbounded), "spacings are above 0 m"
            )],
        }
        or {
            /// A model that declares its options itself, built in or of a [`Registry`](crate::Registry).
            Registered(Registered<Plane, Result<driftway_radio::Mobility, ParameterError>>)
        }
        check {check_file}
    }
}

const FORMS: &str = "mobility: { file = \"x.mov\" }, { model = \"random-waypoint\", speed = [\"1 m/s\", \
                     \"10 m/s\"] }, { model = \"constant-velocity\", positions = [[\"0 m\", \"0 m\"]], \
                     velocities = [[\"1 m/s\", \"0 m/s\"]] }, { positions = [[\"0 m\", \"0 m\"]] } or \
                     { chain = \"200 m\" }";

/// A position: x and y.
pub type Point = (Distance, Distance);

fn check_file(read: Mobility) -> Result<Mobility, String> {
    match &read {
        Mobility::File(file) => file.check().map(|()| read),
        _ => Ok(read),
    }
}

impl Mobility {
    /// Movement of the nodes, for readers: `do not move`.
    pub fn label(&self) -> String {
        match self {
            Self::File(movement) => format!("move as in {}", movement.file.label()),
            Self::RandomWaypoint(RandomWaypointKeys {
                speed: OneOrRange((slow, fast)), ..
            }) => {
                format!("move between random waypoints at {slow} to {fast}")
            }
            Self::ConstantVelocity(_) => "move uniformly".to_owned(),
            Self::Positions(_) | Self::Chain(_) => "do not move".to_owned(),
            Self::Registered(model) => format!("move by the model {}", model.name()),
        }
    }

    /// Returns whether no node moves.
    pub(crate) const fn is_static(&self) -> bool {
        matches!(self, Self::Positions(_) | Self::Chain(_))
    }

    /// Trajectories of the nodes of a plane; those of random models are determined by its seed. `movement` is the
    /// content of the movement file.
    ///
    /// # Errors
    /// An invalid parameter, which a checked scenario does not have.
    pub(crate) fn build(
        &self,
        plane: &Plane,
        movement: Option<&Movement>,
    ) -> Result<driftway_radio::Mobility, ParameterError> {
        match self {
            Self::File(_) => Ok(match movement {
                Some(movement) => driftway_radio::Mobility::scripted(movement.clone()),
                None => driftway_radio::Mobility::fixed(&[]),
            }),
            Self::RandomWaypoint(model) => model.build(plane),
            Self::ConstantVelocity(model) => model.build(plane),
            // Never an error of options: those of a loaded scenario are valid.
            Self::Registered(model) => model.build(plane).unwrap_or_else(|_| {
                Err(ParameterError::new("model", "invalid options", "those of the model"))
            }),
            Self::Positions(StaticPositions { positions }) => {
                let positions: Vec<_> = positions.iter().copied().map(metres).collect();
                Ok(driftway_radio::Mobility::fixed(&positions))
            }
            Self::Chain(Chain { chain: Distance(spacing) }) => {
                let places = (0..plane.stations).map(|node| (f64::from(node) * spacing, 0.0));
                Ok(driftway_radio::Mobility::fixed(&places.collect::<Vec<_>>()))
            }
        }
    }
}

pub(crate) fn metres((x, y): Point) -> (f64, f64) {
    (x.0, y.0)
}

impl RandomWaypointKeys {
    fn build(&self, plane: &Plane) -> Result<driftway_radio::Mobility, ParameterError> {
        let Self { speed: OneOrRange(speed), pause: OneOrRange(pause), steady_state } = *self;
        let model = RandomWaypoint {
            area: plane.area,
            speed: (speed.0.0, speed.1.0),
            pause: (pause.0.0, pause.1.0),
            start: match steady_state {
                true => InitialDistribution::SteadyState,
                false => InitialDistribution::Uniform,
            },
        };
        driftway_radio::Mobility::random_waypoint(&model, plane.stations, plane.seed)
    }
}

impl ConstantVelocityKeys {
    fn build(&self, plane: &Plane) -> Result<driftway_radio::Mobility, ParameterError> {
        let node = |(position, velocity): (&Point, &(Speed, Speed))| ConstantVelocity {
            position: metres(*position),
            velocity: (velocity.0.0, velocity.1.0),
        };
        let nodes: Vec<_> = self.positions.iter().zip(&self.velocities).map(node).collect();
        driftway_radio::Mobility::constant_velocity(&nodes, plane.area)
    }
}
