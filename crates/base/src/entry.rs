//! Entries: what scenarios name, and how it is made.

use alloc::sync::Arc;

use crate::options::{OptionError, OptionInfo, OptionValue, Options, check_settings};

/// Options from which a `T` is made for a place `P`. Their `Default` applies to a scenario that gives only the name.
///
/// `P` and `T` are those of the entry: a routing protocol is `Declared<RoutingPlace, Box<dyn RoutingProtocol>>`
/// (`driftway_route`), a mobility model `Declared<Plane, Result<Mobility, ParameterError>>` (`driftway_radio`).
///
/// ```
/// use driftway_base::{Declared, Entry, options};
///
/// options! {
///     /// Options of a greeting.
///     struct Greeting {
///         /// Number of repetitions.
///         times: count(1, 1..=10),
///     }
/// }
/// impl Declared<&str, String> for Greeting {
///     const NAME: &'static str = "greeting";
///     const SUMMARY: &'static str = "A greeting.";
///     fn build(self, place: &&str) -> String {
///         format!("hello {place} ").repeat(self.times as usize)
///     }
/// }
/// let entry: Entry<&str, String> = Entry::new::<Greeting>();
/// assert_eq!(entry.build(&[], &"world").unwrap(), "hello world ");
/// ```
pub trait Declared<P, T>: Options {
    /// Name in scenarios.
    const NAME: &'static str;
    /// One-line summary with the source.
    const SUMMARY: &'static str;
    /// Creates what is named.
    fn build(self, place: &P) -> T;
}

/// A function that makes a `T` from settings for a place.
type BuildFromSettings<P, T> = fn(&[(&str, OptionValue)], &P) -> Result<T, OptionError>;

/// A function that makes a `T` from valid settings for a place.
type BuildAtPlace<P, T> = dyn Fn(&[(&str, OptionValue)], &P) -> T + Send + Sync;

/// Ways to make a `T`.
enum Build<P, T> {
    /// It is made from its options.
    Options(BuildFromSettings<P, T>),
    /// It is made by a function of its settings and its place.
    Place(Arc<BuildAtPlace<P, T>>),
}

impl<P, T> Clone for Build<P, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Options(build) => Self::Options(*build),
            Self::Place(build) => Self::Place(Arc::clone(build)),
        }
    }
}

/// A name in scenarios, its options, and how what it names is made for a place `P`.
pub struct Entry<P, T> {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line summary with the source.
    pub summary: &'static str,
    options: &'static [OptionInfo],
    build: Build<P, T>,
}

impl<P, T> Clone for Entry<P, T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            summary: self.summary,
            options: self.options,
            build: self.build.clone(),
        }
    }
}

impl<P, T> Entry<P, T> {
    /// The entry of an options type.
    pub const fn new<D: Declared<P, T>>() -> Self {
        Self {
            name: D::NAME,
            summary: D::SUMMARY,
            options: D::OPTIONS,
            build: Build::Options(|settings, place| Ok(D::with_settings(settings)?.build(place))),
        }
    }

    /// An entry without options, whose `build` is called for each place. A run is a function of its scenario and
    /// seed only if what `build` makes depends on nothing but its argument.
    pub fn from_fn(
        name: &'static str,
        summary: &'static str,
        build: impl Fn(&P) -> T + Send + Sync + 'static,
    ) -> Self {
        Self::from_fn_with_options(name, summary, &[], move |_, place| build(place))
    }

    /// An entry with these options, whose `build` is called for each place with settings: names of options with valid
    /// values; options that are not among them have their defaults. Otherwise as [`from_fn`](Self::from_fn).
    pub fn from_fn_with_options(
        name: &'static str,
        summary: &'static str,
        options: &'static [OptionInfo],
        build: impl Fn(&[(&str, OptionValue)], &P) -> T + Send + Sync + 'static,
    ) -> Self {
        Self { name, summary, options, build: Build::Place(Arc::new(build)) }
    }

    /// The options.
    pub const fn options(&self) -> &'static [OptionInfo] {
        self.options
    }

    /// Creates what is named, with these options and the defaults of all others. Of repeated options the last one
    /// is used.
    ///
    /// # Errors
    /// For the first setting with an unknown option or an invalid value.
    pub fn build(&self, settings: &[(&str, OptionValue)], place: &P) -> Result<T, OptionError> {
        match &self.build {
            Build::Options(build) => build(settings, place),
            Build::Place(build) => {
                check_settings(self.options, settings)?;
                Ok(build(settings, place))
            }
        }
    }
}
