//! Enumerations whose values have names.

use core::fmt::Debug;

/// A value of an enumeration, with its name in traces and diagrams.
pub trait Named: Copy + PartialEq + Debug + Send + 'static {
    /// Every value, in the order of the declaration.
    const ALL: &'static [Self];
    /// Its name.
    fn name(self) -> &'static str;
}

/// Declares an enumeration and the names of its values ([`Named`]).
macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $value:ident = $text:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $value,)+
        }

        impl $crate::kit::Named for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}
pub(crate) use named;
