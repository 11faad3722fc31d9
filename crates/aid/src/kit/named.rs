//! Enumerations with named values.

use core::fmt::Debug;

/// An enumeration whose values have names in traces and diagrams.
pub trait Named: Copy + PartialEq + Debug + Send + 'static {
    /// All values, in the order of declaration.
    const ALL: &'static [Self];
    /// Name and description of each value.
    const DESCRIPTIONS: &'static [(&'static str, &'static str)];
    /// Name of the value.
    fn name(self) -> &'static str;
}

/// Declares an enumeration with the names of its values ([`Named`]).
macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $value:ident = $text:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $crate::kit::Named for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];
            const DESCRIPTIONS: &'static [(&'static str, &'static str)] =
                &[$(($text, concat!($($doc),+).trim_ascii())),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}
pub(crate) use named;
