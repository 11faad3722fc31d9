//! Enumerations with named values.

use core::fmt::Debug;

/// An enumeration whose values have names in scenarios, traces and diagrams; see
/// [`named!`](crate::named).
pub trait Named: Copy + PartialEq + Debug + Send + 'static {
    /// All values, in the order of declaration.
    const ALL: &'static [Self];
    /// Name and description of each value.
    const DESCRIPTIONS: &'static [(&'static str, &'static str)];

    /// Name of the value.
    fn name(self) -> &'static str;

    /// The value with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Declares an enumeration with the names of its values ([`Named`]). The documentation of a value is
/// also its description in the reference of the scenario file.
///
/// ```
/// driftway_base::named! {
///     /// Congestion window after an outage.
///     #[derive(Default)]
///     pub enum CwndAfterOutage {
///         /// The previous window.
///         #[default]
///         Keep = "keep",
///         /// The initial window of a new connection.
///         Reset = "reset",
///     }
/// }
/// use driftway_base::Named;
/// assert_eq!(CwndAfterOutage::from_name("reset"), Some(CwndAfterOutage::Reset));
/// assert_eq!(CwndAfterOutage::default().name(), "keep");
/// assert_eq!(CwndAfterOutage::DESCRIPTIONS[0], ("keep", "The previous window."));
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $name:ident {
        $($(#[$($attribute:tt)+])+ $value:ident = $text:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$($attribute)+])+ $value,)+
        }

        impl $name {
            /// Name of the value.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl $crate::Named for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];
            const DESCRIPTIONS: &'static [(&'static str, &'static str)] =
                &[$(($text, $crate::documentation!($(#[$($attribute)+])+)),)+];

            fn name(self) -> &'static str {
                Self::name(self)
            }
        }
    };
}

/// The documentation among the attributes of a value or an option, as one line.
#[doc(hidden)]
#[macro_export]
macro_rules! documentation {
    ($(#[$($attribute:tt)+])+) => {
        concat!($($crate::documentation!(@ $($attribute)+)),+).trim_ascii()
    };
    (@ doc = $text:literal) => {
        $text
    };
    (@ $($other:tt)+) => {
        ""
    };
}
