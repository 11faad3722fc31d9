//! Keys whose value is a table in one of several forms.

/// Declares a key whose value is a table in one of several forms, or a quantity: the enumeration, the tables, how they
/// are read, written and checked, and their schema. An error message says that `expecting` was expected.
///
/// The first key of a table selects its form, or, `by` a tag, the word that the tag has. `text` is a quantity, and `or`
/// a form that the file's types do not read; its type writes the tag, too. `[Copy]` makes them `Copy`; `check` is
/// a function that checks what was read. Keys are declared as in
/// [`keys!`](crate::keys::keys), with a default value of their own if it is not that of the type. A key that a form
/// before has, too, with the same type, has the mark `[again]`.
macro_rules! forms {
    (
        $(#[$about:meta])*
        pub enum $name:ident $copy:tt expecting $expecting:expr, {
            $(by $tag:ident {$(
                $(#[doc = $tagged_doc:literal])+
                $tagged:ident($tagged_table:ident) = $word:literal {$($tagged_keys:tt)*}
            )+})?
            $(text {$(#[doc = $text_doc:literal])+ $text:ident($text_type:ty)})?
            $(
                $(#[doc = $doc:literal])+
                $variant:ident($table:ident) {$($keys:tt)*}
            )+
            $(or {$(#[doc = $other_doc:literal])+ $other:ident($other_table:ty)})?
            $(check {$check:path})?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = "model")]
        pub enum $name {
            $($($(#[doc = $tagged_doc])+ #[serde(rename = $word)] $tagged($tagged_table),)+)?
            $($(#[doc = $text_doc])+ #[serde(untagged)] $text($text_type),)?
            $($(#[doc = $doc])+ #[serde(untagged)] $variant($table),)+
            $($(#[doc = $other_doc])+ #[serde(untagged)] #[schemars(skip)] $other($other_table),)?
        }

        $($($crate::forms::forms! { @table [$(#[doc = $tagged_doc])+] $tagged_table {$($tagged_keys)*} })+)?
        $($crate::forms::forms! { @table [$(#[doc = $doc])+] $table {$($keys)*} })+
        $crate::forms::forms! { @copy $copy $name $($($tagged_table)+)? $($table)+ }

        $(
            impl $name {
                /// The values of the tag.
                pub(crate) const WORDS: &[&str] = &[$($crate::forms::forms!(@word $tag $word)),+];
            }
        )?

        impl $crate::rules::RuledValue for $name {
            fn check_inside(&self, key: &str) -> $crate::problem::CheckResult {
                match self {
                    $($(Self::$tagged(table) => $crate::rules::Table::check_ranges(table, key),)+)?
                    $(Self::$text(_) => Ok(()),)?
                    $(Self::$variant(table) => $crate::rules::Table::check_ranges(table, key),)+
                    $(Self::$other(_) => Ok(()),)?
                }
            }
        }

        impl $crate::value_or::Forms for $name {
            fn expecting() -> std::borrow::Cow<'static, str> {
                $expecting.into()
            }
            fn read(_found: $crate::value_or::Found<'_>) -> Option<Result<Self, String>> {
                None$(.or($crate::value_or::text::<$text_type>(_found).map(|read| read.map(Self::$text))))?
            }
            fn read_table<'de, A: serde::de::MapAccess<'de>>(
                table: A,
            ) -> Option<Result<Self, A::Error>> {
                $crate::forms::forms! {
                    @all AllKeys $($tag)? {$($($($tagged_keys)*)+)? $($($keys)*)+}
                }
                let read = |all: AllKeys| {
                    let written = all.written();
                    $($(
                        if all.$tag.as_deref() == Some($word) {
                            let what = concat!(stringify!($tag), " \"", $word, "\"");
                            return Ok(Self::$tagged($crate::forms::forms! {
                                @read written, all, what, [stringify!($tag)] $tagged_table {$($tagged_keys)*}
                            }));
                        }
                    )+)?
                    $(
                        let keys = $crate::forms::forms!(@keys {$($keys)*});
                        if let Some(what) = written.selects(keys) {
                            return Ok(Self::$variant($crate::forms::forms! {
                                @read written, all, &*what, [] $table {$($keys)*}
                            }));
                        }
                    )+
                    Err(format!("expected {}", <Self as $crate::value_or::Forms>::expecting()))
                };
                Some($crate::value_or::table(table).and_then(|all| {
                    let read = read(all)$(.and_then($check))?;
                    read.map_err(<A::Error as serde::de::Error>::custom)
                }))
            }
        }

        $crate::value_or::by_forms!($name);
    };
    (@word $tag:ident $word:literal) => { $word };
    (@copy [] $($name:ident)+) => {};
    (@copy [Copy] $($name:ident)+) => { $(impl Copy for $name {})+ };
    (@table [$($doc:tt)+] $table:ident {$(
        $(#[$key_doc:meta])+
        $([$again:ident])? $key:ident: $type:ty
            $([$($rule:ident($($argument:tt)*)),+])? $(= $default:expr)? $(=> $left_out:tt)?,
    )+}) => {
        $($doc)+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[schemars(inline, deny_unknown_fields, transform = $crate::rules::describe::<$table>)]
        pub struct $table {$(
            $(#[$key_doc])+
            $(#[schemars(default, extend("default" = $default))])?
            $(
                #[serde(skip_serializing_if = "crate::keys::is_left_out")]
                #[schemars(default, extend("x-default" = $crate::keys::keys!(@left_out $type, $left_out)))]
            )?
            pub $key: $type,
        )+}

        $crate::rules::ruled! { $table {$($key [$($($rule($($argument)*),)+)?],)+} }
    };
    (@all $all:ident $($tag:ident)? {$(
        $(#[$key_doc:meta])+
        $([$again:ident])? $key:ident: $type:ty
            $([$($rule:ident($($argument:tt)*)),+])? $(= $default:expr)? $(=> $left_out:tt)?,
    )+}) => {
        /// All keys; those that were written are not `None`.
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $all {
            $($tag: Option<String>,)?
            $($(#[cfg(any())] #[doc = stringify!($again)])? $key: Option<$type>,)+
        }

        impl $all {
            fn written(&self) -> $crate::forms::WrittenKeys {
                let all = [
                    $((stringify!($tag), self.$tag.is_some()),)?
                    $((stringify!($key), self.$key.is_some()),)+
                ];
                $crate::forms::WrittenKeys::of(&all)
            }
        }
    };
    (@keys {$(
        $(#[$key_doc:meta])+
        $([$again:ident])? $key:ident: $type:ty
            $([$($rule:ident($($argument:tt)*)),+])? $(= $default:expr)? $(=> $left_out:tt)?,
    )+}) => {
        &[$(stringify!($key)),+]
    };
    (@read $written:ident, $all:ident, $what:expr, [$($tag:expr)?] $table:ident {$(
        $(#[$key_doc:meta])+
        $([$again:ident])? $key:ident: $type:ty
            $([$($rule:ident($($argument:tt)*)),+])? $(= $default:expr)? $(=> $left_out:tt)?,
    )+}) => {{
        $written.only($what, &[$($tag,)? $(stringify!($key)),+])?;
        $table {$(
            $key: $crate::forms::forms!(
                @value $all $what, $key $(, $default)? $(=> $left_out)?
            ),
        )+}
    }};
    (@value $all:ident $what:expr, $key:ident) => {
        $all.$key.ok_or_else(|| $crate::forms::missing($what, stringify!($key)))?
    };
    (@value $all:ident $what:expr, $key:ident, $default:expr) => { $all.$key.unwrap_or($default) };
    (@value $all:ident $what:expr, $key:ident => $left_out:tt) => { $all.$key.unwrap_or_default() };
}
pub(crate) use forms;

/// The keys that a table has.
pub(crate) struct WrittenKeys(Vec<&'static str>);

impl WrittenKeys {
    /// Those of `all` that are written.
    pub fn of(all: &[(&'static str, bool)]) -> Self {
        Self(all.iter().filter(|(_, written)| *written).map(|(key, _)| *key).collect())
    }

    /// Name in messages of the form with these keys, if the first of them, which selects it, is written.
    pub fn selects(&self, keys: &[&str]) -> Option<String> {
        let select = keys.first().filter(|key| self.0.contains(key));
        select.map(|key| format!("`{key}`"))
    }

    /// Returns an error if a key is written that is not one of `keys`, those of the form `what`.
    pub fn only(&self, what: &str, keys: &[&str]) -> Result<(), String> {
        self.0.iter().find(|key| !keys.contains(key)).map_or(Ok(()), |key| {
            let keys = keys.join(", ");
            Err(format!("`{key}` cannot be combined with {what}\nits keys are {keys}"))
        })
    }
}

/// The error about a key that the form `what` must have.
pub(crate) fn missing(what: &str, key: &str) -> String {
    format!("{what} needs `{key}`\nadd `{key} = …`")
}
