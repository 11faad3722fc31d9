//! Configurations of protocols, whose options are declared once.

/// Declares the configuration of a protocol from its list of options: a struct with a field for each, its value by
/// the standard and in ns-2.35.
///
/// The list is a macro of the protocol's module, `aodv_options!` for example, that passes the options to another
/// macro. With `configuration!` they make the configuration; the crate `driftway_scenario` makes the table of the
/// scenario file of the same list, with its schema and reference. An option consists of
///
/// - its documentation, for both, and its name, which is its key in the file, too;
/// - its type, and `as` another one in the file, such as `Duration as Time`;
/// - rules for its value in the file, such as its range, in brackets;
/// - its value by the standard, which is the default;
/// - if ns-2.35 differs, its value there, the rule of the standard, and what ns-2.35 does instead.
///
/// Fields after `given` are not in the file.
///
/// ```
/// use driftway_base::{Duration, configuration};
///
/// macro_rules! greeting_options {
///     ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
///         /// Interval between two greetings.
///         interval: Duration as Time [positive()] = Duration::from_secs(1)
///             => Duration::from_secs(2), "§1: once per second.", "Every other second.";
///         /// Number of greetings.
///         most: u8 [range("the number of greetings", 1..=9)] = 3;
///     } } };
/// }
/// greeting_options! { configuration! {
///     /// Configuration of greetings.
///     pub struct Greeting {
///         /// The standard.
///         STANDARD,
///         /// ns-2.35.
///         NS2,
///     }
/// } }
///
/// assert_eq!(Greeting::default(), Greeting { interval: Duration::from_secs(1), most: 3 });
/// assert_eq!(Greeting::NS2, Greeting { interval: Duration::from_secs(2), most: 3 });
/// ```
#[macro_export]
macro_rules! configuration {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(#[$about_standard:meta])* $standard:ident,
            $($(#[$about_ns2:meta])* $ns2:ident,)?
        }
        $(given { $($(#[$about_given:meta])* $given:ident: $given_type:ty = $given_value:expr,)* })?
        options $options:tt
    ) => {
        $crate::configuration! {
            @struct [$(#[$about])*] $name
            {$($($(#[$about_given])* pub $given: $given_type,)*)?}
            $options
        }

        impl $name {
            $(#[$about_standard])*
            pub const $standard: Self =
                $crate::configuration!(@standard {$($($given: $given_value,)*)?} $options);
            $(
                $(#[$about_ns2])*
                pub const $ns2: Self = $crate::configuration!(@ns2 $standard $options);
            )?
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$standard
            }
        }
    };
    (@struct [$($about:tt)*] $name:ident {$($given:tt)*} {$(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $key:ty)? $([$($rule:tt)*])? = $value:expr
            $(=> $ns2:expr, $standard_says:literal, $ns2_does:literal)?;
    )*}) => {
        $($about)*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[$doc])*
                #[doc = $crate::configuration!(
                    @about $value $(, $standard_says, $ns2_does)?
                )]
                pub $field: $type,
            )*
            $($given)*
        }
    };
    (@about $value:expr) => { concat!("\n\nStandard: `", stringify!($value), "`.") };
    (@about $value:expr, $standard_says:literal, $ns2_does:literal) => {
        concat!("\n\nStandard: ", $standard_says, "\n\nns-2.35: ", $ns2_does)
    };
    (@standard {$($given:tt)*} {$(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $key:ty)? $([$($rule:tt)*])? = $value:expr
            $(=> $ns2:expr, $standard_says:literal, $ns2_does:literal)?;
    )*}) => {
        Self { $($field: $value,)* $($given)* }
    };
    (@ns2 $standard:ident {$(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $key:ty)? $([$($rule:tt)*])? = $value:expr
            $(=> $ns2:expr, $standard_says:literal, $ns2_does:literal)?;
    )*}) => {
        Self { $($($field: $ns2,)?)* ..Self::$standard }
    };
}
