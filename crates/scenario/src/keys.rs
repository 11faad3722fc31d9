//! Declaration of the tables of the file: their keys, types, defaults and ranges.

use serde::Serialize;
use serde_json::{Value, json};

/// Declares a table of the file. An error message says that `expecting` was expected. The
/// documentation of a key is its description in the reference. A key is
///
/// - required: `key: Type,`
/// - optional, with the default of its type: `key: Type = default,`
/// - optional, and left out where it has the default of its type: `key: Type => "text",` where the
///   text says in the reference what it means to leave it out, or `key: Type => default,`; or
/// - optional, with a value that a method of the key's name returns: `key: Option<Type> => (value),`.
///
/// In a table `with defaults`, no key is required, and `key: Type = value,` states a default. After its
/// type, a key may have [rules](crate::rules::Rule): `key: Type [probability()] = default,`.
macro_rules! keys {
    (
        $(#[$about:meta])*
        pub struct $name:ident expecting $expecting:literal {$(
            $(#[$doc:meta])*
            $key:ident: $type:ty $([$($rule:ident($($argument:tt)*)),+])?
                $(= $default:ident)? $(=> $text:tt)?,
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
                #[schemars(extend("x-default" = $crate::keys::keys!(@left_out $type, $text)))]
            )?
            pub $key: $type,
        )*}

        impl $name {
            $($($crate::keys::keys! { @or $key $type, $text })?)*
        }

        $crate::rules::ruled! { $name {$($key [$($($rule($($argument)*),)+)?],)*} }
    };
    (
        $(#[$about:meta])*
        pub struct $name:ident with defaults expecting $expecting:literal {$(
            $(#[$doc:meta])*
            $key:ident: $type:ty $([$($rule:ident($($argument:tt)*)),+])?
                $(= $value:expr)? $(=> $text:tt)?,
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
                #[schemars(extend("x-default" = $crate::keys::keys!(@left_out $type, $text)))]
            )?
            pub $key: $type,
        )*}

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $crate::keys::keys!(@default $($value)?),)* }
            }
        }

        impl $name {
            $($($crate::keys::keys! { @or $key $type, $text })?)*
        }

        $crate::rules::ruled! { $name {$($key [$($($rule($($argument)*),)+)?],)*} }
    };
    (@or $key:ident $type:ty, ($value:expr)) => {
        /// The value of the key, or its default.
        pub fn $key(&self) -> <$type as IntoIterator>::Item {
            self.$key.unwrap_or($value)
        }
    };
    (@or $key:ident $type:ty, $text:tt) => {};
    (@left_out $type:ty, default) => { $crate::keys::default_text(&<$type>::default()) };
    (@left_out $type:ty, ($value:expr)) => { $crate::keys::default_text(&$value) };
    (@left_out $type:ty, $text:literal) => { $text };
    (@default) => { Default::default() };
    (@default $value:expr) => { $value };
}
pub(crate) use keys;

/// A value as the default of a key in the reference.
pub(crate) fn default_text<T: Serialize>(value: &T) -> String {
    match json!(value) {
        // Without a fraction if it has none.
        Value::Number(number) if number.is_f64() => format!("`{}`", number.as_f64().unwrap_or(0.0)),
        value => format!("`{value}`"),
    }
}

/// Returns whether a value is the default of its type.
pub(crate) fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
