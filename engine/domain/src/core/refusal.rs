//! Refusals that every system has alike.

use alloc::format;
use alloc::string::{String, ToString as _};

use thiserror::Error;

use crate::core::actor::NotAPerson;
use crate::core::forbidden::RefusalClass;
use crate::core::text::{IdentifierFault, bounded, check_identifier, is_blank, visible};

/// A system's table of refusals: of each its words and its stable reason code, and the kind of rule
/// where it is a fact of its own. Before them what it holds of others, which have codes themselves.
/// A refusal `by` one of its fields has that field's code and kind.
macro_rules! refusals {
    (
        $(#[$doc:meta])* $Refusal:ident
        holding { $($(#[$held_doc:meta])* $Held:ident($Inner:ty),)* }
        $($(#[$line:meta])* $Variant:ident $({ $($fields:tt)* })? $(($($items:tt)*))?
            $(= $code:literal $(in $Class:ident)?)? $(by $part:ident: $Part:ty)?,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        pub enum $Refusal {
            $($(#[$held_doc])* #[error(transparent)] $Held(#[from] $Inner),)*
            $($(#[$line])* $Variant $({ $($fields)* })? $(($($items)*))?,)+
        }

        impl $Refusal {
            /// The stable reason code.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                match self {
                    $(Self::$Held(refusal) => refusal.code(),)*
                    $(Self::$Variant { $($part,)? .. } => {
                        crate::core::refusal::stated!(code $($code)? $($part)?)
                    })+
                }
            }

            /// The kind of rule, where the refusal is a fact of its own; `None` where nothing is
            /// written.
            #[must_use]
            pub const fn class(&self) -> Option<crate::core::forbidden::RefusalClass> {
                match self {
                    $(Self::$Held(refusal) => refusal.class(),)*
                    $(Self::$Variant { $($part,)? .. } => {
                        crate::core::refusal::stated!(class $($($Class)?)? $($part.)?)
                    })+
                }
            }

            /// Every reason code, in the order of the refusals.
            #[must_use]
            pub fn codes() -> alloc::vec::Vec<&'static str> {
                let mut codes = alloc::vec::Vec::new();
                $(codes.extend(<$Inner>::codes());)*
                codes.extend([$($($code,)?)+]);
                $($(codes.extend(<$Part>::codes());)?)+
                codes
            }
        }
    };
}

pub(crate) use refusals;

/// Code or class that a line of a table of refusals states, or leaves to one of its fields.
macro_rules! stated {
    (code $code:literal) => {
        $code
    };
    (code $part:ident) => {
        $part.code()
    };
    (class) => {
        None
    };
    (class $part:ident.) => {
        $part.class()
    };
    (class $Class:ident) => {
        Some(crate::core::forbidden::RefusalClass::$Class)
    };
}

pub(crate) use stated;

refusals! {
    /// Refusal that every system gives alike. Closed.
    CommonRefusal holding {
        /// A field that is malformed.
        Malformed(Malformed),
    }
    /// A name that is missing, too long or hides characters.
    #[error("{0}")]
    InvalidIdentifier(#[from] IdentifierFault) = "INVALID_IDENTIFIER",
    /// Somebody who is no person acts where only a person may.
    #[error("{what}: {reason}")]
    PersonNeeded {
        /// Action that a person alone may do.
        what: &'static str,
        /// Why this one does not count as a person.
        reason: NotAPerson,
    } by reason: NotAPerson,
    /// Two names of one user, where each is to be another person.
    #[error("{one} and {other} are one user ({user}), and so one person; name each person once")]
    NamedTwice {
        /// The first name.
        one: String,
        /// The other one.
        other: String,
        /// The number of both.
        user: u32,
    } = "NAMED_TWICE",
    /// Exactly this was done before: nothing more is to be done, and the caller is told of the
    /// record again.
    #[error("this was done before, with record {sequence}")]
    AlreadyDone {
        /// The record.
        sequence: u64,
    } = "ALREADY_DONE",
}

/// Makes a refusal of what it holds, through what stands between.
macro_rules! through {
    ($($Inner:ty => $Middle:ty => $Refusal:ty;)+) => {
        $(impl From<$Inner> for $Refusal {
            fn from(inner: $Inner) -> Self {
                <$Middle>::from(inner).into()
            }
        })+
    };
}

pub(crate) use through;

/// Checks whether somebody may do what a person alone may do, as far as is known of who it is.
pub(crate) fn person_needed(
    what: &'static str,
    is_human: bool,
    admitted: Result<(), NotAPerson>,
) -> Result<(), CommonRefusal> {
    let admitted = if is_human { admitted } else { Err(NotAPerson::Claimed) };
    admitted.map_err(|reason| CommonRefusal::PersonNeeded { what, reason })
}

/// A field of a command that is malformed: nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: expected {expected}, found {found}; correct the command")]
pub struct Malformed {
    /// The field, by its path in the command.
    pub field: &'static str,
    /// Value that it has to have.
    pub expected: &'static str,
    /// Value that it has, control characters visible, cut to 96 bytes.
    pub found: String,
}

impl Malformed {
    pub(crate) const fn code(&self) -> &'static str {
        "MALFORMED_REQUEST"
    }

    pub(crate) const fn class(&self) -> Option<RefusalClass> {
        None
    }

    pub(crate) const fn codes() -> [&'static str; 1] {
        ["MALFORMED_REQUEST"]
    }
}

/// The refusal of a field.
pub(crate) fn malformed(
    field: &'static str,
    expected: &'static str,
    found: impl core::fmt::Display,
) -> Malformed {
    let found = visible(bounded(&found.to_string(), 96)).to_string();
    Malformed { field, expected, found: bounded(&found, 96).into() }
}

pub(crate) fn require(
    holds: bool,
    field: &'static str,
    expected: &'static str,
    found: impl core::fmt::Display,
) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(malformed(field, expected, found)) }
}

/// A name: not blank, not over its bound, nothing hidden in it.
pub(crate) fn check_name(
    field: &'static str,
    text: &str,
    most: usize,
    expected: &'static str,
) -> Result<(), Malformed> {
    let is_one = text.len() <= most && !is_blank(text) && check_identifier(field, text).is_ok();
    require(is_one, field, expected, quoted(text))
}

/// Returns what is found of a text: its beginning, and its length where that is not all of it.
pub(crate) fn quoted(text: &str) -> String {
    match bounded(text, 48) {
        whole if whole.len() == text.len() => format!("\"{whole}\""),
        cut => format!("\"{cut}\"... of {} bytes", text.len()),
    }
}
