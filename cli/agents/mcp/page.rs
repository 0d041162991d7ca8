//! A page of a list: bounded in number and in bytes, so that no answer floods its reader.

use super::fit::bytes_of;
use crate::ui::{Exit, Failure};
use serde_json::Value;

/// How many there are on a page where nothing is said.
const LIMIT: u16 = 50;
/// Most that may be asked for.
pub(super) const LIMIT_MAX: u16 = 200;
/// Where a page ends however few are on it, in bytes of JSON. One always fits.
pub(super) const BYTES_MAX: usize = 256 * 1024;

/// A page that is being filled.
pub(super) struct Page {
    items: Vec<Value>,
    limit: usize,
    bytes: usize,
    is_full: bool,
}

impl Page {
    /// An empty page.
    pub(super) fn new(limit: Option<u16>) -> Result<Self, Failure> {
        let limit = limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            let message = format!("a limit of {limit} is not possible; give 1 to {LIMIT_MAX}");
            return Err(Failure::new(Exit::USAGE, "bad_arguments", message));
        }
        Ok(Self { items: Vec::new(), limit: usize::from(limit), bytes: 0, is_full: false })
    }

    /// Adds one if there is room. Where there was none, nothing more is added.
    pub(super) fn push(&mut self, item: Value) -> bool {
        let bytes = bytes_of(&item);
        let has_room = self.items.len() < self.limit
            && (self.items.is_empty() || self.bytes.saturating_add(bytes) <= BYTES_MAX);
        self.is_full |= !has_room;
        if !self.is_full {
            self.bytes = self.bytes.saturating_add(bytes);
            self.items.push(item);
        }
        !self.is_full
    }

    /// Whether something had no room: there is another page.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// What is on it.
    pub(super) fn into_items(self) -> Vec<Value> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_ends_at_its_limit_or_at_its_bytes_and_holds_one_however_large() {
        for limit in [0, 201, u16::MAX] {
            assert!(Page::new(Some(limit)).is_err(), "{limit}");
        }
        let mut page = Page::new(Some(2)).unwrap();
        assert_eq!([1, 2, 3].map(|item| page.push(json!(item))), [true, true, false]);
        assert!(page.is_full() && page.into_items() == [1, 2]);
        let mut page = Page::new(None).unwrap();
        let large = json!("x".repeat(2 * BYTES_MAX));
        assert_eq!(
            [page.push(large.clone()), page.push(json!(1)), page.push(json!(2))],
            [true, false, false]
        );
        assert!(page.is_full() && page.into_items() == [large]);
        let mut page = Page::new(None).unwrap();
        assert!(page.push(json!(1)) && !page.is_full());
    }
}
