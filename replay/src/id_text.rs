//! Ids as they are written: of a run, a decision or a request to a person, whole or the beginning.

use std::collections::BTreeSet;

/// Digits that are asked for at least, where an id is not given whole.
pub const DIGITS_MIN: usize = 6;

/// Digits of a whole id.
pub const DIGITS: usize = 32;

/// The digits of the highest number that a record can have.
const RECORD_DIGITS_MAX: usize = 20;

/// Things that have an id of a beginning and random digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOf {
    /// A run.
    Run,
    /// A round of a decision point.
    Decision,
    /// A request to a person.
    Request,
}

impl IdOf {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Run, Self::Decision, Self::Request];

    /// The beginning of every such id.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Run => "LOOP-",
            Self::Decision => "DP-",
            Self::Request => "REQ-",
        }
    }

    /// Its noun.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Decision => "decision",
            Self::Request => "request",
        }
    }

    /// Finds the kind of an id by its beginning.
    pub fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| id.starts_with(it.prefix()))
    }
}

/// The record that a text means: a number, of no more digits than numbers of records have.
pub fn record(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.len() <= RECORD_DIGITS_MAX)
}

/// Tells whether a text is nothing but digits of an id.
pub fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Tells whether an id, or its digits, begin so.
pub fn begins(id: &str, wanted: &str) -> bool {
    id.starts_with(wanted) || id.split_once('-').is_some_and(|(_, own)| own.starts_with(wanted))
}

/// The digits of an id, or of the beginning of one.
pub fn digits_of(id: &str) -> &str {
    IdOf::of(id).and_then(|of| id.strip_prefix(of.prefix())).unwrap_or(id)
}

/// An id as it was written.
pub enum IdText<'t> {
    /// All of its digits, behind the letters of what it is of.
    Whole(IdOf),
    /// The digits that it begins with, and what may begin so.
    Beginning(&'t str, Vec<IdOf>),
}

impl<'t> IdText<'t> {
    /// Reads an id or the beginning of one; `None` for what is neither.
    pub fn read(text: &'t str) -> Option<Self> {
        let named = IdOf::of(text);
        let digits = named.map_or(Some(text), |of| text.strip_prefix(of.prefix()))?;
        match (digits.len(), named) {
            _ if !are_digits(digits) => None,
            (DIGITS, Some(of)) => Some(Self::Whole(of)),
            (DIGITS_MIN..=DIGITS, Some(of)) => Some(Self::Beginning(digits, vec![of])),
            (DIGITS_MIN..=DIGITS, None) => Some(Self::Beginning(digits, IdOf::ALL.to_vec())),
            _ => None,
        }
    }
}

/// Tells whether a text has as many digits as a whole id.
pub fn is_whole(id: &str) -> bool {
    digits_of(&id.to_ascii_uppercase()).len() == DIGITS
}

/// [`in_small_letters`], where that is no id of another kind.
pub fn own_in_small_letters(text: &str, own: IdOf) -> Option<String> {
    in_small_letters(text).filter(|id| IdOf::of(id).is_none_or(|of| of == own))
}

/// The id, or the beginning of one, that a text would be but for its capitals: ids have none.
pub fn in_small_letters(text: &str) -> Option<String> {
    let begins = |of: &IdOf| {
        let beginning = text.get(..of.prefix().len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(of.prefix()))
    };
    let prefix = IdOf::ALL.into_iter().find(begins).map_or("", IdOf::prefix);
    let digits = text.get(prefix.len()..)?.to_ascii_lowercase();
    let id = format!("{prefix}{digits}");
    let is_id = (DIGITS_MIN..=DIGITS).contains(&digits.len()) && are_digits(&digits);
    (is_id && id != text).then_some(id)
}

/// The beginnings of ids of such things that have these first digits.
pub fn beginnings(digits: &str, of: &[IdOf]) -> BTreeSet<String> {
    of.iter().map(|of| format!("{}{digits}", of.prefix())).collect()
}
