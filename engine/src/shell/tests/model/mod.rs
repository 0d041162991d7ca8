//! Models of what wakes whom: tickets, their queue, and the notifier of the subscriptions.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test may fail like the test"
)]

mod submit_queue;
mod ticket;
