//! Decision points at the library's doors (seed "Decisions").

mod link;
