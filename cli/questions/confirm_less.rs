//! Options that ask for less than the defaults: a person at the terminal types a word for them.

use crate::questions::confirm::{Offer, Typed};
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure, Page};
use holdpoint_engine::shell::TypedLine;

/// What a person types.
const WORD: &str = "less";

/// Has a person at the terminal confirm what is asked for, where any of it is less than the
/// defaults. Without a terminal it is refused.
pub(crate) fn confirm_less(asked: &[String]) -> Result<Option<TypedLine>, Failure> {
    if asked.is_empty() {
        return Ok(None);
    }
    let reason = "holdpoint: this command line asks for less than the defaults";
    let lines = |columns| {
        let mut page = Page::new(columns);
        asked.iter().for_each(|one| page.in_one_line("asks for", &visible_once(one)));
        page.lines()
    };
    match Offer::of_page(lines, reason, WORD).ask() {
        Ok(Typed::Word(line)) => Ok(Some(line)),
        Ok(Typed::Other) => Err(refused(asked, "and that was not confirmed")),
        Ok(Typed::Nobody) | Err(_) => Err(refused(
            asked,
            "which takes a person at a terminal, or a line in /etc/holdpoint/config.toml or in \
             .config/holdpoint/config.toml in the home that the user database names",
        )),
    }
}

fn refused(asked: &[String], why: &str) -> Failure {
    let asked = visible_once(&asked.join(", "));
    let message = format!("{asked}: this is less than the defaults, {why}");
    Failure::new(Exit::REFUSED, "policy_loosened", message)
}
