//! What every system is made of. Nothing here knows any of them.

pub mod actor;
#[cfg(feature = "arbitrary")]
pub(crate) mod arbitrary;
pub(crate) mod canonical;
pub mod codec;
pub mod confidence;
pub mod forbidden;
pub mod hash;
pub mod ids;
pub mod limits;
pub mod payload;
#[cfg(feature = "schema")]
pub(crate) mod schema;
pub mod text;
pub mod time;

/// Declares an enum that is closed: `ALL` lists every member in the seed's order, `name` gives
/// the seed's SCREAMING_SNAKE name, `from_name` is its exact inverse. The same names are used in
/// every readable form (JSON, text); a name outside the set does not decode.
macro_rules! closed_enum {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident {
            $( $(#[$doc:meta])* $Member:ident = $name:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $Enum {
            $( $(#[$doc])* #[serde(rename = $name)] $Member, )+
        }

        impl $Enum {
            /// Every member, in the seed's order.
            pub const ALL: &'static [Self] = &[ $( Self::$Member, )+ ];

            /// The seed's name of this member.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$Member => $name, )+ }
            }

            /// The member with exactly this name, or `None`: no case folding, no trimming.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $name => Some(Self::$Member), )+ _ => None }
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> arbitrary::Arbitrary<'a> for $Enum {
            fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                input.choose(Self::ALL).copied()
            }
        }

        impl core::fmt::Display for $Enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use closed_enum;

/// Bodies whose fields are all given by name.
macro_rules! bodies {
    ($($(#[$doc:meta])* $Body:ident { $($(#[$field_doc:meta])* $field:ident: $Type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[serde(deny_unknown_fields)]
            pub struct $Body { $($(#[$field_doc])* pub $field: $Type,)+ }

            #[cfg(feature = "arbitrary")]
            crate::core::arbitrary::made_of! { $Body { $($field),+ } }
        )+
    };
}

pub(crate) use bodies;
