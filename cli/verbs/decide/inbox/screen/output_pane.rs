//! What a run printed, on a screen of its own.

use super::question::Opened;
use super::room::Part;
use crate::ui::Page;

/// What a run printed.
pub(crate) struct Printed {
    /// What each part is, in words of this program, and its lines, made visible.
    pub(crate) parts: Vec<(String, Vec<String>)>,
    pub(super) part: Part,
    /// The question from which one came here.
    pub(super) back: Option<Box<Opened>>,
}

/// What a run printed: unverified in what it says, and no part of what is decided.
pub(super) fn output(parts: &[(String, Vec<String>)], columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    for (what, lines) in parts {
        page.printed(lines);
        page.sentence(what);
    }
    page.sentence(match parts.is_empty() {
        true => "no output was recorded",
        false => "UNTRUSTED OUTPUT above, no part of the decision",
    });
    page.lines()
}
