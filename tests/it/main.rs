//! What the program promises: a module for each promise.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod adopted;
mod answer;
mod answer_meant;
mod apply;
mod apply_archived;
mod apply_interleaved;
mod apply_schema;
mod apply_support;
mod archive_advice;
mod archive_support;
mod archived_meanwhile;
mod archives;
mod archives_unread;
mod asciicast;
mod attack_support;
mod attacks;
mod began_twice;
mod behind;
mod below_defaults;
mod bench;
mod beside_writers;
mod bisect;
mod callers;
mod claims_shown;
mod clocks;
mod command_session;
mod completions;
mod config;
mod contained;
mod copied_by_others;
mod damage_map;
mod damaged_indexed;
mod decision;
mod decision_bad_input;
mod decision_default;
mod decision_documented;
mod decision_named;
mod decision_polling;
mod decision_races;
mod decision_support;
mod decision_wait;
mod diff;
mod diff_registrations;
mod doctor;
mod doctor_hosts;
mod documents;
mod error_codes;
mod export;
mod filler;
mod floods;
mod fuzz_corpora;
mod handed_on;
mod holds;
mod holds_archived;
mod hook;
mod hook_bad_input;
mod hook_hosts;
mod hook_in_doubt;
mod hook_outcomes;
mod hostile_output;
mod hosts;
mod identity;
mod ids;
mod inbox;
mod inbox_screen;
mod inbox_sick;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod injection;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod injection_support;
mod lists;
mod locate;
mod log_archive;
mod log_archive_claims;
mod log_continued;
mod log_copy;
mod log_exchanged;
mod log_show;
mod log_tail;
mod look_alikes;
mod looks;
mod lost_attempts;
mod machine;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_audit;
#[cfg(feature = "mcp")]
mod mcp_ended;
#[cfg(feature = "mcp")]
mod mcp_support;
#[cfg(feature = "mcp")]
mod mcp_wire;
mod outcomes;
mod output_followed;
mod output_kept;
mod pager;
mod past_a_hold;
mod policy;
mod policy_verbs;
mod probes;
mod probes_decisions;
mod probes_evidence;
mod probes_sources;
mod probes_threads;
mod program;
mod question_terminal;
mod questions;
mod reach;
mod reader_behind;
mod reading_verbs;
mod readme;
mod real_bad_input;
mod real_failing;
mod real_support;
mod record;
mod recorder_lost;
mod records_support;
mod replay_in_doubt;
mod replay_systems;
mod report;
mod report_asked;
mod report_browser;
mod report_support;
mod revoked;
mod rules_numbers;
mod run;
mod run_before;
mod run_bound;
mod run_bound_formerly;
mod run_ending;
mod run_prompt;
mod run_refused;
mod run_resumed;
mod run_spent;
mod run_variables;
mod runs;
mod runs_again;
mod runs_asked;
mod runs_sessions;
mod salvage;
mod salvage_archived;
mod salvage_forged;
mod salvage_lookups;
mod salvage_moved;
mod salvage_newest;
mod screens;
mod scrolled;
mod session;
mod shape;
mod shared_sync;
mod snapshots;
mod standing;
#[cfg(target_os = "linux")]
mod statuses;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod strange_files;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod strange_support;
mod streams;
mod tamper;
mod terminal;
mod thread;
mod thread_documented;
mod thread_outcomes;
mod thread_partial;
mod thread_plans;
mod thread_receipts;
mod thread_settled;
mod thread_support;
mod thread_unsaid;
mod tidy;
mod time_travel;
mod time_travel_stated;
mod trace;
mod travel_support;
mod typed;
mod unfinished;
mod unproven;
mod unread;
mod user_namespaces;
mod vectors;
mod verify_caches;
mod verify_options;
mod verify_py;
mod verify_py_beginnings;
mod verify_py_support;
mod verify_py_witnesses;
mod waiting_support;
mod who_may_pass;
mod withheld;
mod writers_on_damage;
