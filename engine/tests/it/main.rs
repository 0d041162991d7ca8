//! What the engine promises: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod callbacks;
mod closing;
mod conversation;
mod damaged;
mod decision_points;
mod embedder;
mod embedding;
mod embedding_metrics;
mod embedding_subscription;
mod embedding_tickets;
mod example;
mod executor;
mod executor_memory;
mod failed_syncs;
mod forged_records;
mod forgotten_streams;
mod governed;
mod governed_before;
mod indexes;
mod keyed_runs;
mod labels;
mod log_ahead;
mod log_claims;
mod log_failing;
mod log_group_commit;
mod log_killed;
mod log_moved;
mod log_real_clock;
mod log_real_failing;
mod log_real_killed;
mod log_real_lock;
mod log_real_syncs;
mod log_recovery;
mod log_write_out;
mod log_writing;
mod opening;
mod read_only;
mod salvage;
mod salvage_images;
mod salvage_losses;
mod settled;
mod settled_archived;
mod settled_scope;
mod shell;
mod shell_clocks;
mod shell_conditions;
mod shell_group_commit;
mod shell_replay;
mod snapshots;
mod thread_plans;
mod thread_rows;
mod threads;
mod transactions;
mod unstarted;
mod without_head;
mod writers;
