//! How many runs a list of a damaged log does not show.

use crate::log::Directory;
use crate::ui::{Failure, complain, counted};
use holdpoint_replay::{Filter, Order, RUN_BEGINS, search};
use std::ops::ControlFlow;

/// Says so of those that began within a range, as far as their beginnings can be read, where so
/// many are shown. `is_all`: nothing else is asked of them.
pub(super) fn tell(
    directory: &Directory,
    range: &Filter,
    (shown, is_all): (usize, bool),
) -> Result<(), Failure> {
    let begins = Filter { kind: Some(RUN_BEGINS.to_string()), ..range.clone() };
    let mut begun = 0_u64;
    directory.read(|log, options| {
        search(log, &begins, Order::OldestFirst, options, &mut |_| {}, &mut |_, _| {
            begun = begun.saturating_add(1);
            ControlFlow::Continue(())
        })
    })?;
    let hidden = begun.saturating_sub(shown as u64);
    let why = "what became of them may lie in the damage";
    complain(&match (hidden, is_all) {
        (0, _) => "not shown: runs that began in the damage or before it, if there are any: they \
                   cannot be counted"
            .to_string(),
        (_, true) => format!("not shown: at least {}: {why}", counted(hidden, "run")),
        (_, false) => format!(
            "not shown: at least {}, whether they are wanted or not: {why}",
            counted(hidden, "run")
        ),
    });
    Ok(())
}
