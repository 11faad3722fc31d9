//! Declaration of the tables of the file: their keys, types, defaults and ranges.

/// Declares a table of the file. An error message says that `expecting` was expected. The
/// documentation of a key is its description in the reference. A key is
///
/// - required: `key: Type,`
/// - optional, with the default of its type: `key: Type = default,`
/// - optional, and left out where it has the default of its type: `key: Type => "text",` where the
///   text says in the reference what it means to leave it out.
///
/// In a table `with defaults`, no key is required, and `key: Type = value,` states a default. After its
/// type, a key may have [rules](crate::rules::Rule): `key: Type [probability()] = default,`.
macro_rules! keys {
    (
        $(#[$about:meta])*
        pub struct $name:ident expecting $expecting:literal {$(
            $(#[$doc:meta])*
            $key:ident: $type:ty $([$($rule:ident($($argument:tt)*)),+])?
                $(= $default:ident)? $(=> $text:literal)?,
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, expecting = $expecting)]
        #[schemars(transform = $crate::rules::describe::<$name>)]
        pub struct $name {$(
            $(#[$doc])*
            $(#[serde($default)])?
            $(
                #[serde(default, skip_serializing_if = "crate::keys::is_left_out")]
                #[schemars(extend("x-default" = $text))]
            )?
            pub $key: $type,
        )*}

        $crate::rules::ruled! { $name {$($key [$($($rule($($argument)*),)+)?],)*} }
    };
    (
        $(#[$about:meta])*
        pub struct $name:ident with defaults expecting $expecting:literal {$(
            $(#[$doc:meta])*
            $key:ident: $type:ty $([$($rule:ident($($argument:tt)*)),+])?
                $(= $value:expr)? $(=> $text:literal)?,
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = $expecting)]
        #[schemars(transform = $crate::rules::describe::<$name>)]
        pub struct $name {$(
            $(#[$doc])*
            $(
                #[serde(skip_serializing_if = "crate::keys::is_left_out")]
                #[schemars(extend("x-default" = $text))]
            )?
            pub $key: $type,
        )*}

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $crate::keys::keys!(@default $($value)?),)* }
            }
        }

        $crate::rules::ruled! { $name {$($key [$($($rule($($argument)*),)+)?],)*} }
    };
    (@default) => { Default::default() };
    (@default $value:expr) => { $value };
}
pub(crate) use keys;

/// Returns whether a value is the default of its type.
pub(crate) fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
