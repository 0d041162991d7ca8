//! Registrations by their commands, as callers write them.

use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::{Command, Time};
use serde_json::{Value, json};

/// A command on names that the tests of registrations share.
pub fn register(what: &str, status: &str) -> Command {
    let mut json = match what {
        "tenant" => json!({}),
        "user" => json!({"user_id": "alice"}),
        "device" => json!({"user_id": "alice", "device_id": "phone"}),
        "session" => json!({"user_id": "alice", "device_id": "phone", "session_id": "s"}),
        "work_order" => json!({"work_order_id": "w", "correlation_id": "t"}),
        _ => json!({
            "work_order_id": "w",
            "lease_token_hash": sha256(b"token").to_string(),
            "expires_at": Time::from_nanoseconds(100).to_string(),
        }),
    };
    json["command"] = format!("interruption_thread.register_{what}").into();
    json["tenant_id"] = "acme".into();
    json["status"] = status.into();
    serde_json::from_value(json).unwrap()
}

/// The same command with one field changed.
pub fn with(command: &Command, field: &str, value: Value) -> Command {
    let mut json = serde_json::to_value(command).unwrap();
    json[field] = value;
    serde_json::from_value(json).unwrap()
}
