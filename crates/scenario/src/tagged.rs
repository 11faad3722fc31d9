//! Tables whose first key selects the other keys, and tables that add keys to those of another
//! type. serde's own `tag` and `flatten` buffer their input and lose its location; these
//! deserialize in order, so that the tag must come first ([`crate::reader`] sorts the keys
//! accordingly).

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use crate::error::unknown_key;

/// A type whose table begins with a tag, the key that selects the variant.
pub(crate) trait Tagged<'de>: Sized {
    /// The tag.
    const KEY: &'static str;
    /// Values of the tag.
    type Kind: Deserialize<'de>;
    /// Deserializes the other keys.
    fn read<A: MapAccess<'de>>(
        kind: Self::Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error>;
}

/// Declares a table whose tag selects the other keys, and the enumeration of the tag's values.
///
/// A last entry `or Variant(Type),` is for tables that the file's types do not read; its type writes the tag, too.
macro_rules! tagged {
    (@kind $name:ident $kind:ident [$visibility:vis] [$($variant:ident)+]) => {
        impl $name {
            /// Value of the tag.
            $visibility const fn kind(&self) -> $kind {
                match self {
                    $(Self::$variant(_) => $kind::$variant,)+
                }
            }
        }
    };
    (@kind $name:ident $kind:ident [$visibility:vis] [$($variant:ident)+] $other:ident) => {};
    (
        $(#[$about:meta])*
        pub enum $name:ident by $tag:literal,
        $(#[$about_kind:meta])*
        $kind_visibility:vis enum $kind:ident {
            $($(#[doc = $doc:literal])+ $variant:ident($table:ty) = $word:literal,)+
        }
        $($(#[doc = $other_doc:literal])+ or $other:ident($other_table:ty),)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = $tag)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant($table),)+
            $($(#[doc = $other_doc])+ #[serde(untagged)] #[schemars(skip)] $other($other_table),)?
        }

        driftway_base::named! {
            $(#[$about_kind])*
            #[derive(serde::Deserialize)]
            #[serde(rename = "Kind")]
            $kind_visibility enum $kind {
                $($(#[doc = $doc])+ #[serde(rename = $word)] $variant = $word,)+
            }
        }

        impl $crate::rules::RuledValue for $name {
            fn check_inside(&self, key: &str) -> $crate::problem::CheckResult {
                match self {
                    $(Self::$variant(table) => $crate::rules::Table::check_ranges(table, key),)+
                    $(Self::$other(_) => Ok(()),)?
                }
            }
        }

        $crate::tagged::tagged!(@kind $name $kind [$kind_visibility] [$($variant)+] $($other)?);

        impl<'de> $crate::tagged::Tagged<'de> for $name {
            const KEY: &'static str = $tag;
            type Kind = $kind;
            fn read<A: serde::de::MapAccess<'de>>(
                kind: $kind,
                rest: serde::de::value::MapAccessDeserializer<A>,
            ) -> Result<Self, A::Error> {
                match kind {
                    $($kind::$variant => {
                        serde::Deserialize::deserialize(rest).map(Self::$variant)
                    })+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged::deserialize(from)
            }
        }
    };
}
pub(crate) use tagged;

/// Deserializes `T` from a table that begins with its tag.
pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Tagged<'de>,
{
    deserializer.deserialize_map(TagFirst(PhantomData))
}

struct TagFirst<T>(PhantomData<T>);

impl<'de, T: Tagged<'de>> Visitor<'de> for TagFirst<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with the key `{}`", T::KEY)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        read_tagged(map)
    }
}

/// Deserializes `T` from a table that begins with its tag and has already been entered.
pub(crate) fn read_tagged<'de, A, T>(mut map: A) -> Result<T, A::Error>
where
    A: MapAccess<'de>,
    T: Tagged<'de>,
{
    match map.next_key::<String>()? {
        Some(key) if key == T::KEY => {}
        _ => return Err(A::Error::missing_field(T::KEY)),
    }
    let kind = map.next_value()?;
    T::read(kind, MapAccessDeserializer::new(map))
}

/// The value of a table's own key.
pub(crate) trait OwnKeyValue: Default {
    /// The value of a table without this key; `None`: the table must have it.
    fn without(_key: &str) -> Option<Self> {
        None
    }
}

impl OwnKeyValue for u32 {}
impl OwnKeyValue for [u32; 2] {}

/// Deserializes a table with the keys `required`, of type `V`, and `flags` in addition to those of the struct
/// `T`, except for `hidden` ones. Missing flags are false.
pub(crate) fn deserialize_with_own_keys<'de, D, V, T, const N: usize, const M: usize>(
    deserializer: D,
    required: [&'static str; N],
    flags: [&'static str; M],
    hidden: &'static [&'static str],
) -> Result<([V; N], [bool; M], T), D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de> + OwnKeyValue,
    T: Deserialize<'de>,
{
    deserializer.deserialize_map(OwnKeysVisitor { required, flags, hidden, types: PhantomData })
}

struct OwnKeysVisitor<V, T, const N: usize, const M: usize> {
    required: [&'static str; N],
    flags: [&'static str; M],
    hidden: &'static [&'static str],
    types: PhantomData<(V, T)>,
}

impl<'de, V, T, const N: usize, const M: usize> Visitor<'de> for OwnKeysVisitor<V, T, N, M>
where
    V: Deserialize<'de> + OwnKeyValue,
    T: Deserialize<'de>,
{
    type Value = ([V; N], [bool; M], T);
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with the key `{}`", self.required.join("`, `"))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut on) = ([const { None }; N], [false; M]);
        let Self { required, flags, hidden, .. } = &self;
        let names = KeyNames { required, flags, hidden, others: &[] };
        let rest = T::deserialize(RemainingKeys { map, names, found: &mut found, on: &mut on })?;
        let mut values = std::array::from_fn(|_| V::default());
        for ((value, found), name) in values.iter_mut().zip(found).zip(self.required) {
            let found = found.or_else(|| V::without(name));
            *value = found.ok_or_else(|| A::Error::missing_field(name))?;
        }
        Ok((values, on, rest))
    }
}

/// Names of keys.
#[derive(Clone, Copy)]
struct KeyNames<'a> {
    required: &'a [&'static str],
    flags: &'a [&'static str],
    hidden: &'a [&'static str],
    /// Those of the other struct.
    others: &'static [&'static str],
}

/// The other keys of a table; the values of its own keys are stored in `found` and `on`.
struct RemainingKeys<'a, A, V> {
    map: A,
    names: KeyNames<'a>,
    found: &'a mut [Option<V>],
    on: &'a mut [bool],
}

/// Learns the names of the keys from the struct that is deserialized.
impl<'de, A: MapAccess<'de>, T: Deserialize<'de>> Deserializer<'de> for RemainingKeys<'_, A, T> {
    type Error = A::Error;

    fn deserialize_struct<S: Visitor<'de>>(
        mut self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: S,
    ) -> Result<S::Value, A::Error> {
        self.names.others = keys;
        visitor.visit_map(self)
    }

    fn deserialize_any<S: Visitor<'de>>(self, visitor: S) -> Result<S::Value, A::Error> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>, V: Deserialize<'de>> MapAccess<'de> for RemainingKeys<'_, A, V> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut seed = Some(seed);
        loop {
            let key = KeySeed { seed: &mut seed, names: self.names };
            match self.map.next_key_seed(key)? {
                None => return Ok(None),
                Some(KeyKind::Other(key)) => return Ok(Some(key)),
                Some(KeyKind::Required(i)) => self.found[i] = Some(self.map.next_value()?),
                Some(KeyKind::Flag(i)) => self.on[i] = self.map.next_value()?,
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

struct KeySeed<'a, K> {
    seed: &'a mut Option<K>,
    names: KeyNames<'a>,
}

enum KeyKind<T> {
    Required(usize),
    Flag(usize),
    Other(T),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<'_, K> {
    type Value = KeyKind<K::Value>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for KeySeed<'_, K> {
    type Value = KeyKind<K::Value>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let KeyNames { required, flags, hidden, others } = self.names;
        let is_other = |name: &&&str| !hidden.contains(name);
        let place = |names: &[&str]| names.iter().position(|name| *name == key);
        if let Some(i) = place(required) {
            return Ok(KeyKind::Required(i));
        }
        if let Some(i) = place(flags) {
            return Ok(KeyKind::Flag(i));
        }
        match self.seed.take() {
            Some(seed) if others.iter().filter(is_other).any(|name| *name == key) => {
                seed.deserialize(key.into_deserializer()).map(KeyKind::Other)
            }
            _ => {
                let own = required.iter().chain(flags);
                let known: Vec<_> = own.chain(others.iter().filter(is_other)).copied().collect();
                Err(E::custom(unknown_key(key, &known)))
            }
        }
    }
}
