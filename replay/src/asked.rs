//! Questions to people, by how their ids begin.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, OneOf, Order, Searched, question_of, search};
use holdpoint_log_files::ReadStorage;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The ids of the rounds of decision points and of the requests whose id begins in one of these
/// ways. What is looked at is the records that ask, which an index names.
///
/// # Errors
/// As [`crate::verify()`].
pub fn questions_beginning_with<S: ReadStorage>(
    storage: &S,
    beginnings: BTreeSet<String>,
    options: ReadOptions<'_>,
) -> Result<(BTreeSet<String>, Searched), ReadError> {
    let mut found = BTreeSet::new();
    let wanted = Filter { one_of: Some(OneOf::Asked(beginnings)), ..Filter::default() };
    let searched =
        search(storage, &wanted, Order::NewestFirst, options, &mut |_| {}, &mut |line, _| {
            found.extend(line.event.as_ref().and_then(question_of).map(str::to_string));
            ControlFlow::Continue(())
        })?;
    Ok((found, searched))
}
