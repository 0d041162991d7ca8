//! A whole session as `README-ygb.md` and section 1 to 4 of the behavioural spec have it, written
//! from their text and with no code of ours but SHA-256: every recorded session has to come out of
//! it as it is recorded, hashes included. By the same words the World's own records are hashed.

use std::vec::IntoIter;

use holdpoint_domain::core::hash::sha256;
use serde_json::{Value, json};

/// Why a session ends before its end: the reference raises an error with this text.
pub(crate) type Raised = String;

/// What a captured record is hashed over.
#[derive(Clone, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) record_id: &'a str,
    pub(crate) point: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) timestamp: &'a str,
    pub(crate) raw: &'a [u8],
    pub(crate) prior_hash: &'a str,
}

impl Evidence<'_> {
    /// "Evidence hash": six fields, a NUL between two of them.
    pub(crate) fn hash(&self) -> String {
        let Evidence { record_id, point, kind, timestamp, raw, prior_hash } = self;
        let fields = [record_id, point, kind, timestamp].map(|text| text.as_bytes());
        let fields: Vec<&[u8]> = fields.into_iter().chain([*raw, prior_hash.as_bytes()]).collect();
        sha256(&fields.join(&0)).to_string()
    }
}

/// "Decision hash": eight fields of a decision, then the hash before; a NUL between two of them.
pub(crate) fn decision_hash(record: &Value, prior_hash: &str) -> String {
    let names = [
        "decision_id",
        "request_id",
        "human_id",
        "decision",
        "reason",
        "escalation_target",
        "timestamp",
        "evidence_chain_hash",
    ];
    let fields = names.map(|name| record[name].as_str().unwrap_or_default());
    let fields: Vec<&str> = fields.into_iter().chain([prior_hash]).collect();
    sha256(fields.join("\0").as_bytes()).to_string()
}

/// BLANK: nothing, or only these 29 code points.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(u32::from(c),
            0x9..=0xD | 0x1C..=0x20 | 0x85 | 0xA0 | 0x1680 | 0x2000..=0x200A
                | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000)
    })
}

/// What a response is worth, in the shape of the vectors.
pub(crate) fn shape(decision: &str, reason: &str, confidence: f64) -> Value {
    json!({
        "decision": decision,
        "reason": reason,
        "confidence_score": confidence,
    })
}

/// What the reference makes of a response (section 2): decision, reason, confidence.
pub(crate) fn normalized(cycle: &Value, expected_hash: &str) -> Value {
    let hash = word(cycle, "instruction_hash");
    if is_blank(word(cycle, "executor_id")) {
        return shape("REJECT", "MALFORMED: Missing or empty executor_id", 0.0);
    }
    if is_blank(hash) {
        return shape("REJECT", "MALFORMED: Missing or empty instruction_hash", 0.0);
    }
    if hash != expected_hash {
        let reason = format!("Instruction hash mismatch: expected {expected_hash}, got {hash}");
        return shape("REJECT", &reason, 0.0);
    }
    match word(cycle, "reported_status") {
        "SUCCESS" => shape("ACCEPT", "Executor reported success (requires verification)", 0.85),
        "FAILURE" => shape("REJECT", "Executor reported failure", 0.3),
        "TIMEOUT" => shape("REJECT", "Executor timed out", 0.2),
        "PARTIAL" => {
            let reason = "Executor reported partial completion - escalating to human";
            shape("ESCALATE", reason, 0.5)
        }
        "MALFORMED" => shape("REJECT", "Executor reported MALFORMED response", 0.1),
        _ => shape("REJECT", "Unknown response type", 0.0),
    }
}

fn word<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A session under way.
struct Session {
    state: &'static str,
    is_halted: bool,
    entropy: IntoIter<String>,
    hashes: Vec<String>,
    audit_head: String,
    audit_length: u64,
    retries: i64,
}

/// Runs a session: what the vector's `ok` has to be, or the text of the error.
pub(crate) fn session(input: &Value) -> Result<Value, Raised> {
    let entropy = input["entropy"].as_array().cloned().unwrap_or_default();
    let entropy: Vec<String> = entropy.iter().map(|e| e.as_str().unwrap_or("").into()).collect();
    let mut entropy = entropy.into_iter();
    let (hash, executor) = (word(input, "instruction_envelope_hash"), word(input, "executor_id"));
    let mut next = |prefix| format!("{prefix}{}", entropy.next().unwrap_or_default());
    let (loop_id, session_id) = (next("LOOP-"), next("OBS-"));
    let blank = [&loop_id, executor, hash, word(input, "t0")].into_iter().any(is_blank);
    let is_missing = hash.is_empty() || executor.is_empty();
    let mut session = Session {
        state: if is_missing { "HALTED" } else { "INIT" },
        is_halted: blank,
        entropy,
        hashes: Vec::new(),
        audit_head: String::new(),
        audit_length: 0,
        retries: 0,
    };
    let mut cycles = Vec::new();
    for cycle in input["cycles"].as_array().into_iter().flatten() {
        cycles.push(session.cycle(input, cycle)?);
        if !session.goes_on(&cycles[cycles.len() - 1], cycle) {
            break;
        }
    }
    let head = session.chain_head();
    Ok(json!({
        "loop": {
            "loop_id": loop_id,
            "instruction_envelope_hash": hash,
            "current_state": session.state,
            "executor_id": executor,
        },
        "observer": {
            "session_id": session_id,
            "loop_id": loop_id,
            "executor_id": executor,
            "envelope_hash": hash,
            "created_at": input["t0"],
            "is_halted": session.is_halted,
        },
        "cycles": cycles,
        "chain_head": head,
        "chain_length": session.hashes.len(),
        "audit_head": session.audit_head,
        "audit_length": session.audit_length,
        "retry_count": session.retries,
        "record_hashes": session.hashes,
    }))
}

impl Session {
    fn next(&mut self, prefix: &str) -> String {
        format!("{prefix}{}", self.entropy.next().unwrap_or_default())
    }

    fn chain_head(&self) -> String {
        self.hashes.last().cloned().unwrap_or_default()
    }

    /// The transition table of section 1: what it does not have leads to HALTED.
    fn go(&mut self, to: &'static str) {
        let allowed = [
            ("INIT", "DISPATCHED"),
            ("DISPATCHED", "AWAITING_RESPONSE"),
            ("AWAITING_RESPONSE", "EVALUATED"),
            ("EVALUATED", "DISPATCHED"),
        ];
        self.state = if allowed.contains(&(self.state, to)) { to } else { "HALTED" };
    }

    fn capture(&mut self, point: &str, kind: &str, raw: &[u8], timestamp: &str) {
        let halted: (&str, &str, &[u8]) = ("HALT_ENTRY", "STOP_CONDITION", b"CONTEXT_HALTED");
        let (point, kind, raw) = if self.is_halted { halted } else { (point, kind, raw) };
        let (record_id, prior_hash) = (self.next("REC-"), self.chain_head());
        let (record_id, prior_hash) = (record_id.as_str(), prior_hash.as_str());
        let record = Evidence { record_id, point, kind, timestamp, raw, prior_hash };
        self.hashes.push(record.hash());
    }

    fn cycle(&mut self, input: &Value, cycle: &Value) -> Result<Value, Raised> {
        let time = |place: usize| cycle["ts"][place].as_str().unwrap_or_default();
        self.go("DISPATCHED");
        self.capture("PRE_DISPATCH", "STATE_TRANSITION", self.state.as_bytes(), time(0));
        self.go("AWAITING_RESPONSE");
        self.capture("POST_DISPATCH", "STATE_TRANSITION", self.state.as_bytes(), time(1));
        let payload = unhex(word(cycle, "raw_payload_hex"));
        self.capture("PRE_EVALUATE", "EXECUTOR_OUTPUT", &payload, time(2));
        let worth = normalized(cycle, word(input, "instruction_envelope_hash"));
        self.go("EVALUATED");
        let decision = word(&worth, "decision");
        self.capture("POST_EVALUATE", "STATE_TRANSITION", decision.as_bytes(), time(3));
        let request_id = self.next("REQ-");
        let record = self.decided(&cycle["human"], &request_id, time(5))?;
        self.audit_head = decision_hash(&record, &self.audit_head);
        self.audit_length += 1;
        let most = input["max_retries"].as_i64().unwrap_or_default();
        let outcome = match word(&record, "decision") {
            "ABORT" => "APPLIED",
            "CONTINUE" if self.state == "HALTED" => "REJECTED",
            "CONTINUE" => "APPLIED",
            "RETRY" if self.retries >= most => "REJECTED",
            "RETRY" => "APPLIED",
            _ if word(&record, "escalation_target").is_empty() => "REJECTED",
            _ => "PENDING",
        };
        Ok(json!({
            "normalized": worth,
            "state": self.state,
            "request_id": request_id,
            "decision_id": record["decision_id"],
            "decision": record["decision"],
            "outcome": outcome,
            "chain_head": self.chain_head(),
            "audit_head": self.audit_head,
        }))
    }

    /// What a human decides, or nobody does (section 4).
    fn decided(&mut self, human: &Value, request_id: &str, time: &str) -> Result<Value, Raised> {
        let named = json!({
            "human_id": "SYSTEM_TIMEOUT", "decision": "ABORT", "reason": "TIMEOUT",
        });
        let mut record = if human.is_null() { named } else { human.clone() };
        let is_missing = |name: &str| is_blank(word(&record, name));
        let decision = word(&record, "decision");
        if is_missing("human_id") {
            return Err("human_id is required".into());
        }
        if ["RETRY", "ESCALATE"].contains(&decision) && is_missing("reason") {
            return Err(format!("{decision} decision requires a reason"));
        }
        if decision == "ESCALATE" && is_missing("escalation_target") {
            return Err("ESCALATE decision requires an escalation_target".into());
        }
        record["decision_id"] = json!(self.next("DEC-"));
        record["request_id"] = json!(request_id);
        record["timestamp"] = json!(time);
        record["evidence_chain_hash"] = json!(self.chain_head());
        Ok(record)
    }

    /// Whether another cycle follows; else the session ends in HALTED.
    fn goes_on(&mut self, done: &Value, cycle: &Value) -> bool {
        let decision = word(done, "decision");
        if done["outcome"] == "APPLIED" && ["CONTINUE", "RETRY"].contains(&decision) {
            self.retries += i64::from(decision == "RETRY");
            return true;
        }
        self.go("HALTED");
        let time = cycle["ts"][5].as_str().unwrap_or_default();
        self.capture("HALT_ENTRY", "STOP_CONDITION", decision.as_bytes(), time);
        false
    }
}

/// The bytes of lower-case hex.
pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    let digit = |d: u8| char::from(d).to_digit(16).and_then(|d| u8::try_from(d).ok()).unwrap_or(0);
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
