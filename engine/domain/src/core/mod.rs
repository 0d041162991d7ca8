//! Parts of which every system is made. Nothing here knows any of them.

pub mod actor;
#[cfg(feature = "arbitrary")]
pub(crate) mod arbitrary;
pub(crate) mod canonical;
pub mod clocks;
pub mod codec;
pub mod confidence;
pub mod doubt;
pub mod forbidden;
pub mod hash;
pub mod ids;
pub mod limits;
pub mod payload;
pub mod people;
pub mod refusal;
#[cfg(feature = "schema")]
pub(crate) mod schema;
pub mod text;
pub mod time;

/// Declares an enum of which people and programs read each member by a word: `ALL` lists the
/// members in their order, `name` gives the word.
#[doc(hidden)]
#[macro_export]
macro_rules! worded_enum {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $Enum:ident {
            $($(#[$doc:meta])* $Member:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        $visibility enum $Enum {
            $($(#[$doc])* $Member,)+
        }

        impl $Enum {
            /// Every member, in their order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Member),+];

            /// The word for this member.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Member => $word,)+ }
            }
        }

        impl ::core::fmt::Display for $Enum {
            fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                out.write_str(self.name())
            }
        }
    };
}

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
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
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

/// Bodies of events, and what they hold.
macro_rules! recorded {
    ($($(#[$doc:meta])* $Body:ident { $($(#[$field_doc:meta])* $field:ident: $Type:ty,)+ })+) => {
        $(
            crate::core::recorded_of! { #[derive(serde::Serialize)] $(#[$doc])* $Body {
                $($(#[$field_doc])* $field: $Type,)+
            } }
        )+
    };
}

/// The same of one that is written by hand.
macro_rules! recorded_of {
    ($($(#[$doc:meta])* $Body:ident { $($(#[$field_doc:meta])* $field:ident: $Type:ty,)+ })+) => {
        $(
            #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            $(#[$doc])*
            pub struct $Body { $($(#[$field_doc])* pub $field: $Type,)+ }

            #[cfg(feature = "arbitrary")]
            crate::core::arbitrary::made_of! { $Body { $($field),+ } }
        )+
    };
}

pub(crate) use recorded;
pub(crate) use recorded_of;

/// Implements `Serialize`: bytes are written of the type as it is, and readers are told the score
/// beside the basis points of its confidence. Takes the fields in their order, each with its name.
macro_rules! scored {
    ($Type:ident { $($field:ident as $name:literal),+ } by $confidence:ident) => {
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let is_read = serializer.is_human_readable();
                let fields = [$($name),+].len().saturating_add(usize::from(is_read));
                let mut out = serializer.serialize_struct(stringify!($Type), fields)?;
                $(out.serialize_field($name, &self.$field)?;)+
                if is_read {
                    out.serialize_field("confidence_score", &self.$confidence.score())?;
                }
                out.end()
            }
        }
    };
}

pub(crate) use scored;

/// Bodies of commands, whose fields are all given by name.
macro_rules! bodies {
    ($($(#[$doc:meta])* $Body:ident $fields:tt)+) => {
        $(crate::core::recorded! {
            $(#[$doc])* #[serde(deny_unknown_fields)] $Body $fields
        })+
    };
}

pub(crate) use bodies;

/// One line of the registry of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The number in the record's header.
    pub kind: u16,
    /// The version of the payload that is written today.
    pub version: u8,
    /// The system that the event belongs to.
    pub system: &'static str,
    /// The name, `system.what_happened`.
    pub name: &'static str,
}

/// Event of one system: the event, or its body.
pub trait OfSystem {
    /// Events of that system.
    type Event;

    /// The event.
    fn into_event(self) -> Self::Event;
}

/// Holder of the events of several systems.
pub trait Union<SystemEvent> {
    /// An event of one of them.
    fn of(event: SystemEvent) -> Self;
}

/// A system's table of events: of each its kind, the version of its payload that is written today,
/// its name, its body, whether the body is held apart because it is much larger than the others,
/// and its payloads of before: another type (`before 1 => Type`), or the same fields but the last,
/// each with the byte for which it is then taken (`before 1 + [0]`). Behind it, what every event of
/// the system is about.
macro_rules! events {
    (
        $(#[$doc:meta])* $Event:ident of $system:literal kinds $kinds:pat_param, $lines:tt
        $($(#[$about_doc:meta])* pub fn $about:ident($body:ident) -> $About:ty { $subject:expr })*
    ) => {
        crate::core::events! { @union [$(#[$doc])*] $Event $system [$kinds] $lines }
        $(crate::core::events! {
            @about [$(#[$about_doc])*] $Event $about $body [$About] [$subject] $lines
        })*
    };
    (@about [$(#[$doc:meta])*] $Event:ident $about:ident $body:ident [$About:ty] [$subject:expr] {
        $($(#[$line_doc:meta])* $kind:literal v $version:literal $name:literal
            => $Body:ident $(in $Box:ident)? $(, before $old:literal $how:tt $before:tt)*;)+
    }) => {
        impl $Event {
            $(#[$doc])*
            #[must_use]
            pub fn $about(&self) -> $About {
                match self { $(Self::$Body($body) => $subject,)+ }
            }
        }
    };
    (@union [$(#[$doc:meta])*] $Event:ident $system:literal [$kinds:pat_param] {
        $($(#[$line_doc:meta])* $kind:literal v $version:literal $name:literal
            => $Body:ident $(in $Box:ident)? $(, before $old:literal $how:tt $before:tt)*;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        pub enum $Event {
            $($(#[$line_doc])* #[serde(rename = $name)] $Body(crate::core::held!($Body $($Box)?)),)+
        }

        impl $Event {
            /// The system's lines of the registry, in ascending order.
            pub const KINDS: &[crate::core::Kind] = &[$(crate::core::Kind {
                kind: $kind, version: $version, system: $system, name: $name,
            },)+];

            /// The event's line in the registry.
            #[must_use]
            pub const fn kind(&self) -> crate::core::Kind {
                match self {
                    $(Self::$Body(_) => crate::core::Kind {
                        kind: $kind, version: $version, system: $system, name: $name,
                    },)+
                }
            }

            /// Returns whether this kind is among those that the system may use.
            pub(crate) const fn has(kind: u16) -> bool {
                matches!(kind, $kinds)
            }

            /// Returns whether payloads of this kind and version can be read.
            pub(crate) const fn is_registered(kind: u16, version: u8) -> bool {
                matches!((kind, version), $(($kind, $version) $(| ($kind, $old))*)|+)
            }

            pub(crate) fn write_body(
                &self,
                to: crate::core::codec::BodyWriter,
            ) -> Result<crate::core::codec::BodyWriter, crate::core::codec::EncodeError> {
                match self { $(Self::$Body(body) => to.write(body),)+ }
            }

            #[inline(always)]
            pub(crate) fn read_body(
                from: crate::core::codec::BodyReader<'_, '_>,
            ) -> Result<Self, crate::core::codec::DecodeError> {
                match (from.kind, from.version) {
                    $(($kind, $version) => from.read().map(Self::$Body),
                    $(($kind, $old) => {
                        crate::core::older!(from $Body $how $before).map(Into::into)
                    })*)+
                    (kind, version) => {
                        Err(crate::core::codec::DecodeError::unknown(kind, version))
                    }
                }
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! {
            $Event: $(|input| input.arbitrary().map($Event::$Body),)+
        }

        impl crate::core::OfSystem for $Event {
            type Event = Self;

            fn into_event(self) -> Self {
                self
            }
        }

        $(crate::core::body_of! { $Event $Body $Body }
        $(crate::core::body_of! { $Event $Body crate::core::held!($Body $Box) })?)+
    };
}

pub(crate) use events;

/// Reads a payload of before.
macro_rules! older {
    ($from:ident $Body:ident => $Before:ident) => {
        $from.read::<$Before>().map($Body::from)
    };
    ($from:ident $Body:ident + $added:tt) => {
        $from.read_older::<$Body>(&$added)
    };
}

pub(crate) use older;

/// Type that holds a body: in its place, or apart, where it is much larger than the others.
macro_rules! held {
    ($Body:ident) => { $Body };
    ($Body:ident Box) => { alloc::boxed::Box<$Body> };
}

pub(crate) use held;

/// Makes an event of its body.
macro_rules! body_of {
    ($Event:ident $Variant:ident $Body:ty) => {
        impl From<$Body> for $Event {
            fn from(body: $Body) -> Self {
                Self::$Variant(body.into())
            }
        }

        impl crate::core::OfSystem for $Body {
            type Event = $Event;

            fn into_event(self) -> $Event {
                self.into()
            }
        }
    };
}

pub(crate) use body_of;

/// The events of several systems as one: each is written as its own system writes it.
macro_rules! union_of {
    ($(#[$doc:meta])* $Union:ident {
        $($(#[$system_doc:meta])* $System:ident($Event:ident),)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        #[serde(untagged)]
        pub enum $Union {
            $($(#[$system_doc])* $System($Event),)+
        }

        $(impl crate::core::Union<$Event> for $Union {
            fn of(event: $Event) -> Self {
                Self::$System(event)
            }
        })+

        impl<T: crate::core::OfSystem> From<T> for $Union
        where
            Self: crate::core::Union<T::Event>,
        {
            fn from(event: T) -> Self {
                crate::core::Union::of(event.into_event())
            }
        }
    };
}

pub(crate) use union_of;

/// A system's table of commands: of each its name in readable formats, its body, and the fields
/// that hold its random bits and who gives it.
macro_rules! commands {
    ($(#[$doc:meta])* $Command:ident {
        $($(#[$line_doc:meta])* $name:literal $Variant:ident($Body:ty)
            $(with $entropy:ident)? $(from $by:ident)?;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "command", deny_unknown_fields)]
        pub enum $Command {
            $($(#[$line_doc])* #[serde(rename = $name)] $Variant($Body),)+
        }

        impl $Command {
            /// Every command's name, in the order of the enum.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The command's name in readable formats, `system.what_to_do`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)+ }
            }

            /// The command of this name, its body read from the fields beside it.
            pub(crate) fn read<'de, D: serde::Deserializer<'de>>(
                name: &str,
                fields: D,
            ) -> Option<Result<Self, D::Error>> {
                Some(match name {
                    $($name => <$Body as serde::Deserialize>::deserialize(fields)
                        .map(Self::$Variant),)+
                    _ => return None,
                })
            }

            /// The command's random bits, if it has any.
            pub(crate) const fn entropy(&self) -> Option<&crate::core::ids::Entropy> {
                match self { $(Self::$Variant(_c) => crate::core::field!($(&_c.$entropy)?),)+ }
            }

            pub(crate) fn entropy_mut(&mut self) -> Option<&mut crate::core::ids::Entropy> {
                match self { $(Self::$Variant(_c) => crate::core::field!($(&mut _c.$entropy)?),)+ }
            }

            /// Returns who gives the command, where it says so.
            pub(crate) fn by(&self) -> Option<&crate::core::actor::Principal> {
                match self { $(Self::$Variant(_c) => crate::core::field!($(&_c.$by)?),)+ }
            }

            pub(crate) fn by_mut(&mut self) -> Option<&mut crate::core::actor::Principal> {
                match self { $(Self::$Variant(_c) => crate::core::field!($(&mut _c.$by)?),)+ }
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! {
            $Command: $(|input| input.arbitrary().map($Command::$Variant),)+
        }

        const _: () = {
            $(#[$doc])*
            #[derive(serde::Deserialize)]
            #[serde(tag = "command", deny_unknown_fields)]
            enum ByName {
                $(#[serde(rename = $name)] $Variant($Body),)+
                #[serde(other)]
                OfAnotherSystem,
            }

            impl<'de> serde::Deserialize<'de> for crate::core::Tried<$Command> {
                fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    match ByName::deserialize(from) {
                        $(Ok(ByName::$Variant(body)) => Ok(Self(Ok($Command::$Variant(body)))),)+
                        Ok(ByName::OfAnotherSystem) => {
                            Err(serde::de::Error::custom("a command of another system"))
                        }
                        Err(fault) => Ok(Self(Err(alloc::string::ToString::to_string(&fault)))),
                    }
                }
            }
        };
    };
}

pub(crate) use commands;

/// A field, where there is one.
macro_rules! field {
    () => {
        None
    };
    ($field:expr) => {
        Some($field)
    };
}

pub(crate) use field;

/// A command of a system by its name, or why its body cannot be read. Not read at all where the
/// name is another system's, so that the next one is tried.
pub(crate) struct Tried<T>(pub(crate) Result<T, alloc::string::String>);

/// Returns what the systems list, as one list: as many items as there are in all.
pub(crate) const fn joined<T: Copy, const COUNT: usize>(
    placeholder: T,
    mut lists: &[&[T]],
) -> [T; COUNT] {
    let mut all = [placeholder; COUNT];
    let mut free = all.as_mut_slice();
    while let [list, others @ ..] = lists {
        let (filled, left) = free.split_at_mut(list.len());
        filled.copy_from_slice(list);
        (lists, free) = (others, left);
    }
    all
}
