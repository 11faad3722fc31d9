//! Declaration of the tables of the file: their keys, types and defaults.

/// Declares a table of the file. An error message says that `expecting` was expected. The
/// documentation of a key is its description in the reference. A key is
///
/// - required: `key: Type,`
/// - optional, with the default of its type: `key: Type = default,`
/// - optional, and left out where it has the default of its type: `key: Type => "text",` where the
///   text says in the reference what it means to leave it out.
///
/// In a table `with defaults`, no key is required, and `key: Type = value,` states a default.
macro_rules! keys {
    ($(#[$about:meta])* pub struct $name:ident expecting $expecting:literal { $($keys:tt)* }) => {
        $crate::keys::keys! { @keys [$(#[$about])*] $name $expecting [] $($keys)* }
    };
    (
        $(#[$about:meta])*
        pub struct $name:ident with defaults expecting $expecting:literal { $($keys:tt)* }
    ) => {
        $crate::keys::keys! { @defaults [$(#[$about])*] $name $expecting [] [] $($keys)* }
    };

    (@keys [$($about:tt)*] $name:ident $expecting:literal [$($fields:tt)*]) => {
        $($about)*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, expecting = $expecting)]
        pub struct $name { $($fields)* }
    };
    (
        @keys $about:tt $name:ident $expecting:literal [$($fields:tt)*]
        $(#[$doc:meta])* $key:ident: $type:ty, $($rest:tt)*
    ) => {
        $crate::keys::keys! { @keys $about $name $expecting [
            $($fields)* $(#[$doc])* pub $key: $type,
        ] $($rest)* }
    };
    (
        @keys $about:tt $name:ident $expecting:literal [$($fields:tt)*]
        $(#[$doc:meta])* $key:ident: $type:ty = default, $($rest:tt)*
    ) => {
        $crate::keys::keys! { @keys $about $name $expecting [
            $($fields)* $(#[$doc])* #[serde(default)] pub $key: $type,
        ] $($rest)* }
    };
    (
        @keys $about:tt $name:ident $expecting:literal [$($fields:tt)*]
        $(#[$doc:meta])* $key:ident: $type:ty => $text:literal, $($rest:tt)*
    ) => {
        $crate::keys::keys! { @keys $about $name $expecting [
            $($fields)* $(#[$doc])*
            #[serde(default, skip_serializing_if = "crate::keys::is_left_out")]
            #[schemars(extend("x-default" = $text))]
            pub $key: $type,
        ] $($rest)* }
    };

    (
        @defaults [$($about:tt)*] $name:ident $expecting:literal
        [$($fields:tt)*] [$($default:tt)*]
    ) => {
        $($about)*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = $expecting)]
        pub struct $name { $($fields)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($default)* }
            }
        }
    };
    (
        @defaults $about:tt $name:ident $expecting:literal [$($fields:tt)*] [$($default:tt)*]
        $(#[$doc:meta])* $key:ident: $type:ty = $value:expr, $($rest:tt)*
    ) => {
        $crate::keys::keys! { @defaults $about $name $expecting [
            $($fields)* $(#[$doc])* pub $key: $type,
        ] [$($default)* $key: $value,] $($rest)* }
    };
    (
        @defaults $about:tt $name:ident $expecting:literal [$($fields:tt)*] [$($default:tt)*]
        $(#[$doc:meta])* $key:ident: $type:ty => $text:literal, $($rest:tt)*
    ) => {
        $crate::keys::keys! { @defaults $about $name $expecting [
            $($fields)* $(#[$doc])*
            #[serde(skip_serializing_if = "crate::keys::is_left_out")]
            #[schemars(extend("x-default" = $text))]
            pub $key: $type,
        ] [$($default)* $key: Default::default(),] $($rest)* }
    };
}
pub(crate) use keys;

/// Returns whether a value is the default of its type.
pub(crate) fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
