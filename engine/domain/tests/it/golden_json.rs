//! Commands and events as other programs read them, and what idempotency keys store of a command:
//! one line each that stays as it is for ever.
//!
//! Where a command or an event has no line yet, and where a command grew, one is added by
//! `HOLDPOINT_WRITE_GOLDEN=1`. None is written anew: what differs is not what was promised.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::world::envelope::{Encoded, decode};
use holdpoint_domain::world::{KeyReceipt, REGISTRY};
use holdpoint_domain::{ActorId, Command, Idempotency};
use serde_json::Value;

use crate::codec::{
    GOLDEN, GOLDEN_V1, GOLDEN_V2, GOLDEN_V3, GOLDEN_V4, GOLDEN_V5, GOLDEN_V6, GOLDEN_V7, GOLDEN_V8,
    GOLDEN_V9, parsed,
};
use crate::commands_readable::samples;

/// One line for every command: its name, the digest that is stored under its key, its JSON. A
/// command that grew has another line, behind those of before.
const COMMANDS: &str = include_str!("../golden/commands.txt");

/// One line for every kind and payload version: both, the payload in hex, the JSON of what it says.
const EVENTS: &str = include_str!("../golden/events_json.txt");

/// A command as somebody gave it once.
struct GivenOnce {
    name: &'static str,
    stored: String,
    json: Value,
}

/// The commands of all lines.
fn given() -> Vec<GivenOnce> {
    let line = |line: &'static str| {
        let parts: Vec<&str> = line.splitn(3, ' ').collect();
        let [name, stored, json] = parts.try_into().expect("three parts in a line");
        let json = serde_json::from_str(json).expect("JSON");
        GivenOnce { name, stored: stored.to_owned(), json }
    };
    COMMANDS.lines().map(line).collect()
}

/// What a key stores of a command of this caller.
fn stored_of(command: &Command) -> Digest {
    command.content_by(&ActorId { kind: Actor::Automation, id: "ci".into() })
}

#[test]
fn golden_commands_are_read_and_written_as_ever() {
    let mut newest = BTreeMap::new();
    for GivenOnce { name, stored, json } in given() {
        let command: Command = serde_json::from_str(&json.to_string()).expect(name);
        assert_eq!(command.name(), name);
        newest.insert(name, (command, stored, json));
    }
    for (name, (command, stored, json)) in newest {
        let mut found = serde_json::to_value(&command).unwrap();
        told_beside(&mut found);
        assert_eq!(found, json, "{name}");
        assert_eq!(stored_of(&command).to_string(), stored, "{name}");
    }
}

/// Whoever gives a command again is answered as before, also where it has grown since.
#[test]
fn golden_digests_under_keys_are_recognised_for_ever() {
    for GivenOnce { name, stored, json } in given() {
        let command: Command = serde_json::from_value(json).expect(name);
        let mut bytes = [0; 32];
        base16ct::lower::decode(&stored, &mut bytes).expect("a digest in hex");
        let content = Digest::from_bytes(bytes);
        let receipt = KeyReceipt { content, first_sequence: 1, last_sequence: 2 };
        let again = |content| Idempotency {
            tenant: "tenant".into(),
            engine: "engine".into(),
            key: "key".into(),
            content,
        };
        let found = receipt.given_again(&again(stored_of(&command)));
        assert_eq!(found, Ok(Some(&receipt)), "{name}");
        assert!(receipt.given_again(&again(sha256(b"another command"))).is_err());
    }
}

#[test]
fn golden_file_has_every_command() {
    let given = given();
    // One that grew is written otherwise than its newest line.
    let is_there = |command: &Command| {
        let newest = given.iter().rev().find(|given| given.name == command.name());
        newest.is_some_and(|newest| {
            let read: Command = serde_json::from_value(newest.json.clone()).expect(newest.name);
            let mut found = serde_json::to_value(&read).unwrap();
            told_beside(&mut found);
            found == newest.json
        })
    };
    let line = |command: &Command| {
        let json = serde_json::to_string(command).unwrap();
        format!("{} {} {json}", command.name(), stored_of(command))
    };
    let missing: Vec<Command> = samples().into_iter().filter(|c| !is_there(c)).collect();
    add("commands.txt", missing.iter().map(line).collect());
    let mut missing: BTreeSet<&str> = missing.iter().map(Command::name).collect();
    missing.extend(Command::NAMES.iter().filter(|name| given.iter().all(|g| g.name != **name)));
    assert!(missing.is_empty(), "no golden line: {missing:?}; HOLDPOINT_WRITE_GOLDEN=1 adds it");
}

#[test]
fn golden_file_has_every_payload_version_of_every_event() {
    let known: Vec<(u16, u8)> = EVENTS.lines().map(|line| told(line).0).collect();
    let versions = REGISTRY.iter().flat_map(|entry| (1..=entry.version).map(|v| (entry.kind, v)));
    let missing: Vec<(u16, u8)> = versions.filter(|version| !known.contains(version)).collect();
    add("events_json.txt", missing.iter().filter_map(|version| event_line(*version)).collect());
    assert!(missing.is_empty(), "no golden line: {missing:?}; HOLDPOINT_WRITE_GOLDEN=1 adds it");
}

/// A line for an event that has none: of the payload that says most.
fn event_line((kind, version): (u16, u8)) -> Option<String> {
    let lines = [
        GOLDEN, GOLDEN_V9, GOLDEN_V8, GOLDEN_V7, GOLDEN_V6, GOLDEN_V5, GOLDEN_V4, GOLDEN_V3,
        GOLDEN_V2, GOLDEN_V1,
    ]
    .into_iter()
    .flat_map(str::lines);
    let lines = lines.map(|line| (line, parsed(line)));
    let of_version = lines.filter(|(_, found)| (found.kind, found.version) == (kind, version));
    let (line, found) = of_version.max_by_key(|(line, _)| line.len())?;
    let envelope = decode(kind, version, &found.payload).unwrap();
    Some(format!("{line} {}", serde_json::to_string(&envelope).unwrap()))
}

/// Adds lines to a golden file, where that is asked for.
fn add(file: &str, lines: Vec<String>) {
    if lines.is_empty() || std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_none() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
}

/// What a line of an event says: kind and version, what they stand before, and the JSON.
fn told(line: &str) -> ((u16, u8), Encoded, Value) {
    let (payload, json) = line.split_at(line.find(" {").expect("JSON behind the payload"));
    let encoded = parsed(payload);
    ((encoded.kind, encoded.version), encoded, serde_json::from_str(json).expect("JSON"))
}

#[test]
fn golden_events_read_as_ever() {
    for line in EVENTS.lines() {
        let (_, Encoded { kind, version, payload }, json) = told(line);
        let envelope = decode(kind, version, &payload).expect("a golden payload");
        let mut found = serde_json::to_value(&envelope).unwrap();
        // The score of the document, beside the basis points.
        told_beside(&mut found);
        if REGISTRY.iter().any(|entry| entry.kind == kind && entry.version > version) {
            only_promised(&mut found["event"], &json["event"]);
        }
        assert_eq!(found, json, "{line}");
    }
}

/// Takes out the score beside a confidence, which is that confidence.
fn told_beside(found: &mut Value) {
    let Some(fields) = found.as_object_mut() else { return };
    if let Some(score) = fields.remove("confidence_score") {
        let kept = fields.get("confidence_basis_points").or(fields.get("confidence"));
        let basis_points = kept.and_then(Value::as_f64).expect("the basis points");
        assert_eq!(score.as_f64(), Some(basis_points / 10_000.0));
    }
    let points: Vec<_> = fields.keys().filter(|name| name.ends_with("_bp")).cloned().collect();
    for name in points {
        let score = fields.remove(name.trim_end_matches("_bp")).expect("the fraction beside it");
        assert_eq!(score.as_f64(), fields[&name].as_f64().map(|points| points / 10_000.0));
    }
    fields.values_mut().for_each(told_beside);
}

/// Takes out what the event says more since its kind grew: what was promised stays as it was.
fn only_promised(found: &mut Value, promised: &Value) {
    let Some(fields) = found.as_object_mut() else { return };
    fields.retain(|name, _| promised.get(name).is_some());
    fields.iter_mut().for_each(|(name, within)| only_promised(within, &promised[name]));
}
