//! Models of what wakes whom: tickets, their desk, and the bell of the subscriptions.

mod desk;
mod ticket;
