//! Declaration of the tables of the study file.

/// Declares a table of the study file, of which an error message says that `expecting` was expected. A key may be left
/// out if its type is an `Option`, or with `= default`, where it has the default of its type. A text after `=>` says in
/// the reference what it means to leave it out.
macro_rules! table {
    (
        $(#[$about:meta])*
        pub struct $name:ident expecting $expecting:literal {$(
            $(#[$doc:meta])*
            $key:ident: $type:ty $(= $default:ident)? $(=> $left_out:literal)?,
        )*}
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, expecting = $expecting)]
        pub struct $name {$(
            $(#[$doc])*
            $(#[serde($default)])?
            $(#[schemars(extend("x-default" = $left_out))])?
            pub $key: $type,
        )*}
    };
}
pub(super) use table;
