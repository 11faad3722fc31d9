//! Propagation models: their path loss, each in a file of its own.

use driftway_base::named;

use super::link_budget::LinkBudget;
use crate::ParameterError;
pub use log_distance::LogDistance;

/// Declares the propagation models: their names, and their path loss, each in a file of its own, with its options if
/// it has any.
macro_rules! models {
    ($(
        $(#[doc = $doc:literal])+
        $model:ident $(($options:ident: $type:ty))? in $file:ident = $name:literal,
    )+) => {
        $(mod $file;)+

        named! {
            /// Names of propagation models: the attenuation over distance.
            #[derive(Default)]
            pub enum PropagationKind {
                #[default]
                $($(#[doc = $doc])+ $model = $name,)+
            }
        }

        /// Propagation models: received power as a function of distance.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum PropagationModel {
            $($(#[doc = $doc])+ $model $(($type))?,)+
        }

        /// Path loss as a function of the squared distance, with constants derived from the configuration.
        #[derive(Clone, Copy, Debug)]
        pub enum PathLoss {
            $($model($file::PathLoss),)+
        }

        impl PropagationModel {
            /// The model of this name, with its default options.
            pub const fn standard(kind: PropagationKind) -> Self {
                match kind {
                    $(PropagationKind::$model => Self::$model $((<$type>::STANDARD))?,)+
                }
            }

            /// Checks the options for this number of stations.
            pub fn check(&self, _stations: u32) -> Result<(), ParameterError> {
                match self {
                    $(Self::$model $(($options))? => { $($options.check(_stations)?;)? })+
                }
                Ok(())
            }
        }

        impl PathLoss {
            /// Path loss of a model.
            pub fn new(model: &PropagationModel, budget: &LinkBudget) -> Self {
                match model {
                    $(PropagationModel::$model $(($options))? => {
                        Self::$model($file::PathLoss::new(budget $(, $options)?))
                    })+
                }
            }

            /// Returns the power (W) received over a squared distance (m²).
            #[inline]
            pub fn power(&self, distance_squared: f64) -> f64 {
                match self {
                    $(Self::$model(path_loss) => path_loss.power(distance_squared),)+
                }
            }

            /// Returns the ratio of squared distances below which no power exceeds another by a ratio.
            pub fn squared_distances_of(&self, ratio: f64) -> f64 {
                match self {
                    $(Self::$model(path_loss) => path_loss.squared_distances_of(ratio),)+
                }
            }

            /// Returns the distance (m) at which this power is received.
            pub fn distance(&self, power: f64) -> f64 {
                match self {
                    $(Self::$model(path_loss) => path_loss.distance(power),)+
                }
            }
        }
    };
}
models! {
    /// Free space at short distances, the inverse fourth power beyond the crossover distance (two-ray ground
    /// reflection).
    TwoRay in two_ray = "two-ray",
    /// Free space, the inverse square.
    Friis in friis = "friis",
    /// Every frame within the range is received, with the same power.
    Range in range = "range",
    /// An arbitrary exponent, optionally with log-normal shadowing.
    LogDistance(options: LogDistance) in log_distance = "log-distance",
}
