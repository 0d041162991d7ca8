//! What the domain promises: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod advice;
mod application;
#[cfg(feature = "arbitrary")]
mod arbitrary;
mod architecture;
mod carried;
mod clocks;
mod codec;
mod commands_readable;
mod confidences;
mod continued;
mod decision_point_approvals;
mod decision_point_bugs;
mod decision_point_defaults;
mod decision_point_outcomes;
mod decision_point_product;
mod decision_point_random;
mod decision_point_warnings;
mod decision_points;
mod doubted_registrations;
mod duplex;
mod escalations;
mod forbidden;
mod forbidden_approvals;
mod forbidden_decision_points;
mod forbidden_decisions;
mod forbidden_events;
mod forbidden_headings;
mod forbidden_plans;
mod forbidden_threads;
mod gate_policies;
mod golden_json;
mod hashed_evidence;
mod hashes;
mod health;
mod hold_terms;
mod idempotency;
mod integration;
mod log_events;
mod lost;
mod map_sequences;
mod output_pieces;
mod payload_document;
mod people;
mod persons;
mod phase21_seed_table;
mod phase31_seed_table;
mod phase32_seed_table;
mod plan_remainders;
mod plan_unsure;
mod points;
mod policy;
mod reason_codes;
mod registrations;
mod registrations_ended;
mod replay_determinism;
mod reserved_names;
mod revocations;
mod rules_evidence_capture;
mod rules_execution_loop;
mod rules_human_decision;
mod rules_numbers;
mod rules_sandbox_fault;
mod sessions;
mod sources;
mod stop_conditions;
mod tables_execution_loop;
mod terms;
mod texts;
mod thread_accountant;
mod thread_belongings;
mod thread_fates;
mod thread_outcomes;
mod thread_product;
mod thread_random;
mod thread_requests;
mod thread_rows;
mod thread_sessions;
mod thread_strangers;
mod thread_turns;
mod times;
mod tool_render;
mod unproven;
mod visibility;
mod weaknesses;
mod weaknesses_decisions;
