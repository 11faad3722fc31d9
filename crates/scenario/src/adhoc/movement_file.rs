//! Movement files of the table `mobility`.

use std::fmt;

use driftway_base::Duration;
use driftway_radio::movement::{Format, ReadOptions};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Angle, Distance, Time};

/// A movement file, `{ file = "rwp50.mov" }`.
///
/// Nodes of `"ns-2"`, `"sumo-fcd"`, `"gpx"` and `"csv"` have names in the file, which `driftway check` lists with their
/// numbers; those of `"ns-2"` are their numbers there. In the ends of flows and traffic and in faults a node can
/// be given by this name, in quotes, as in `from = "bus7"` or `from = "12"`, instead of its number, unless each seed
/// has a file of its own. Nodes of `"sumo-fcd"`, `"gpx"` and `"csv"` are numbered in order of their first appearance, or by their names if all of these are
/// whole numbers. Such a node moves in a straight line from each of its positions to the next, stands at the first
/// one until its time, and at the last one ever after, with its radio on all the time. Heights are not read.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MovementFile {
    /// File name, relative to the directory of the scenario file. With `{seed}` in the name, as in
    /// `"rwp-{seed}.mov"`, each run has the file of its seed; all have the same number of nodes.
    /// A file may be compressed by gzip, up to 64 MiB unpacked. Or a list of files of one of the
    /// formats `"sumo-fcd"`, `"gpx"` and `"csv"`, as in `["alice.gpx", "bob.gpx"]`: the nodes of each follow those
    /// of the previous one.
    pub file: FileNames,
    /// Format of the file: `"ns-2"`, `"bonnmotion"`, `"sumo-fcd"`, `"gpx"` or `"csv"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "detected from its content"))]
    pub format: Option<MovementFormat>,
    /// Time of the file at which the run begins. That of GPX files is counted from the first point of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "`\"0 s\"`"))]
    pub start: Option<Time>,
    /// Latitude and longitude, such as `["60.17 deg", "24.94 deg"]`, of the point with the coordinates 0 m,
    /// 0 m, in files whose positions are on the globe. x is to the east of it, y to the north, on the
    /// plane that touches the ellipsoid WGS 84 there. All nodes are within 500 km of it, so that distances
    /// are right to 0.3 %; within 80 km they are to 0.01 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the first position of node 0"))]
    pub origin: Option<(Angle, Angle)>,
    /// Added to the x and y of all nodes, so that none is negative where `network.area` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none"))]
    pub offset: Option<(Distance, Distance)>,
}

/// Names of movement files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FileNames {
    /// One file.
    One(String),
    /// Several files.
    Several(Vec<String>),
}

/// Format of a movement file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum MovementFormat {
    /// `"ns-2"`: lines such as `$node_(0) set X_ 10` and `$ns_ at 1 "$node_(0) setdest 20 30 5"`,
    /// as ns-2's setdest and BonnMotion's ns-2 export write them. The node with the lowest number is node
    /// 0, the next one node 1, and so on.
    #[serde(rename = "ns-2")]
    Ns2,
    /// `"bonnmotion"`: BonnMotion's native format, one line per node with repeated time, x and y.
    #[serde(rename = "bonnmotion")]
    BonnMotion,
    /// `"sumo-fcd"`: SUMO's floating car data (`sumo --fcd-output`). Each vehicle, person and
    /// container is a node.
    SumoFcd,
    /// `"gpx"`: tracks of a satellite receiver. Each `<trk>` is a node; its points have times.
    Gpx,
    /// `"csv"`: a first line `node,time_s,x_m,y_m` or `node,time_s,latitude,longitude`, and a line for
    /// each position of a node.
    Csv,
}

impl FileNames {
    /// The names, at least one.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }

    /// The names, for readers.
    pub fn label(&self) -> String {
        self.iter().collect::<Vec<_>>().join(", ")
    }

    /// The result of a change of each name.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::One(name) => Self::One(change(name)),
            Self::Several(names) => Self::Several(names.iter().map(|name| change(name)).collect()),
        }
    }
}

impl<'de> Deserialize<'de> for FileNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = FileNames;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a file, or a list of names")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<FileNames, E> {
                Ok(FileNames::One(name.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FileNames, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                if names.is_empty() {
                    return Err(A::Error::custom("a list of no files\nname at least one file"));
                }
                Ok(FileNames::Several(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

/// The largest coordinate of a movement file (m).
const MAX_COORDINATE_M: f64 = 1e9;

impl MovementFile {
    /// Checks the values of the table; the error is a message for the user.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some((Angle(latitude), Angle(longitude))) = self.origin
            && !((-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude))
        {
            return Err(format!(
                "`origin` is {latitude} deg, {longitude} deg\nthe latitude from -90 deg to 90 deg, \
                 then the longitude from -180 deg to 180 deg"
            ));
        }
        if let Some((Distance(x), Distance(y))) = self.offset
            && !(x.abs() <= MAX_COORDINATE_M && y.abs() <= MAX_COORDINATE_M)
        {
            return Err(format!("`offset` is {x} m, {y} m\nat most 1000000 km"));
        }
        Ok(())
    }

    /// Options of the reader.
    pub(crate) fn options(&self) -> ReadOptions {
        let format = |format| match format {
            MovementFormat::Ns2 => Format::Ns2,
            MovementFormat::BonnMotion => Format::BonnMotion,
            MovementFormat::SumoFcd => Format::SumoFcd,
            MovementFormat::Gpx => Format::Gpx,
            MovementFormat::Csv => Format::Csv,
        };
        ReadOptions {
            format: self.format.map(format),
            start: self.start.map_or(Duration::ZERO, |Time(start)| start),
            origin: self.origin.map(|(latitude, longitude)| (latitude.0, longitude.0)),
            offset: self.offset.map_or((0.0, 0.0), |(x, y)| (x.0, y.0)),
        }
    }
}
