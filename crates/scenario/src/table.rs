//! Declaration of the tables of the file whose keys are the options of a protocol.

/// Declares a table of the file whose keys are the options of a protocol, which its list passes to this macro
/// ([`configuration!`](driftway_base::configuration)). Fields of the configuration after `given` are not keys; a
/// function determines them. Keys `before` and `after` the options are declared as in [`keys!`](crate::keys::keys).
macro_rules! table {
    (
        $(#[$about:meta])*
        pub struct $name:ident of $config:ty = $standard:expr, $expecting:literal;
        $(given $($given:ident = $value:path),*;)?
        $(before {$(
            $(#[$before_doc:meta])*
            $before:ident: $before_type:ty $([$($before_rule:ident($($before_argument:tt)*)),+])?
                $(= $before_default:expr)? $(=> $before_text:tt)?,
        )*})?
        $(after {$(
            $(#[$after_doc:meta])*
            $after:ident: $after_type:ty $([$($after_rule:ident($($after_argument:tt)*)),+])?
                $(= $after_default:expr)? $(=> $after_text:tt)?,
        )*})?
        options {$(
            $(#[$doc:meta])*
            $field:ident: $type:ty $(as $key:ty)? $([$($rule:ident($($argument:tt)*)),*])? = $default:expr
                $(=> $ns2:expr, $standard_says:literal, $ns2_does:literal)?;
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = $expecting)]
        #[schemars(transform = $crate::rules::describe::<$name>)]
        pub struct $name {
            $($(
                $(#[$before_doc])*
                $(
                    #[serde(skip_serializing_if = "crate::keys::is_left_out")]
                    #[schemars(extend("x-default" = $crate::keys::keys!(@left_out $before_type, $before_text)))]
                )?
                pub $before: $before_type,
            )*)?
            $($(#[$doc])* pub $field: $crate::table::table!(@key $type $(as $key)?),)*
            $($(
                $(#[$after_doc])*
                $(
                    #[serde(skip_serializing_if = "crate::keys::is_left_out")]
                    #[schemars(extend("x-default" = $crate::keys::keys!(@left_out $after_type, $after_text)))]
                )?
                pub $after: $after_type,
            )*)?
        }

        impl $crate::file_value::FileValue<$config> for $name {
            fn from_config(config: $config) -> Self {
                Self {
                    $($($before: $crate::keys::keys!(@default $($before_default)?),)*)?
                    $($field: $crate::file_value::FileValue::from_config(config.$field),)*
                    $($($after: $crate::keys::keys!(@default $($after_default)?),)*)?
                }
            }
            fn to_config(&self) -> $config {
                type Config = $config;
                Config {
                    $($field: $crate::file_value::FileValue::to_config(&self.$field),)*
                    $($($given: $value(self),)*)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::file_value::FileValue::from_config($standard)
            }
        }

        impl $name {
            /// The protocol's configuration.
            pub fn config(&self) -> $config {
                $crate::file_value::FileValue::to_config(self)
            }
        }

        $crate::rules::ruled! { $name {
            $($($before [$($($before_rule($($before_argument)*),)+)?],)*)?
            $($field [$($($rule($($argument)*),)*)? $(ns2($standard_says, $ns2_does),)?],)*
            $($($after [$($($after_rule($($after_argument)*),)+)?],)*)?
        } }
    };
    (@key $type:ty) => { $type };
    (@key $type:ty as $key:ty) => { $key };
}
pub(crate) use table;
