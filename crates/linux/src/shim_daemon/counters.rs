//! Counters with names and descriptions.

/// Defines a struct of counters, each with its documentation and its name in results.
macro_rules! counters {
    ($(#[$meta:meta])* $type:ident {
        $($(#[doc = $doc:literal])+ $counter:ident = $name:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            $($(#[doc = $doc])+ pub $counter: u64,)*
        }

        impl $type {
            /// Each counter with its name, in declaration order.
            pub fn named_counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, self.$counter)),*].into_iter()
            }

            /// Each counter's name and description, in declaration order.
            pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
                [$(($name, concat!($($doc),+).trim_ascii())),*].into_iter()
            }
        }
    };
}

pub(super) use counters;
