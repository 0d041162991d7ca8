//! Random sessions in the form of the recorded ones. What each has to come to is told by
//! `session_oracle.rs`, from the words of the vectors' document; what the World makes of it is
//! compared as with a recorded one.

use std::sync::{Arc, Mutex};

use holdpoint_domain::core::time::Timestamp;
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use libtest_mimic::Trial;
use quickcheck::{Arbitrary as _, Gen};
use serde_json::{Value, json};

use crate::fail_with;
use crate::judge::Verdict;
use crate::report::Report;
use crate::session_oracle;
use crate::sessions;

/// How many sessions one run takes.
const SESSIONS: u64 = 300;

/// What is counted.
pub(crate) const FUNCTION: &str = "random session";

/// What humans say, some of it hidden or invisible.
const REASONS: [&str; 6] = ["it is flaky", "r", "r\u{202e}live", "\u{200b}", "a\\b", "r\0"];

/// The test.
pub(crate) fn trial(report: &Arc<Mutex<Report>>) -> Trial {
    let report = Arc::clone(report);
    Trial::test("conformance_random_sessions_are_told_alike_by_the_document", move || {
        let seed = seed();
        let mut random = Gen::from_size_and_seed(40, seed);
        let mut failures = Vec::new();
        for number in 0..SESSIONS * times() {
            let input = drawn(&mut random);
            // An error of the reference is not a session.
            let Ok(told) = session_oracle::session(&input) else { continue };
            let verdict = match sessions::run(&input, &told) {
                Ok(departures) => Verdict::Departs(departures),
                Err(why) => Verdict::Fails(why),
            };
            if let Verdict::Fails(why) = &verdict {
                failures.push(format!("HOLDPOINT_SEED={seed}, session {number}: {why}: {input}"));
            }
            report.lock().unwrap().judged("e2e", FUNCTION, &verdict);
        }
        fail_with(&failures)
    })
}

fn below(random: &mut Gen, bound: u64) -> u64 {
    u64::arbitrary(random) % bound
}

fn one_in(random: &mut Gen, bound: u64) -> bool {
    below(random, bound) == 0
}

fn any<T: Copy>(random: &mut Gen, of: &[T]) -> T {
    *random.choose(of).unwrap()
}

fn digits(random: &mut Gen) -> String {
    format!("{:08x}", below(random, 1 << 32))
}

fn drawn(random: &mut Gen) -> Value {
    let hash = if one_in(random, 20) {
        any(random, &["", " ", "\t"]).to_owned()
    } else {
        format!("{:064x}", below(random, u64::MAX))
    };
    let executor = if one_in(random, 20) { any(random, &["", " "]) } else { "exec-1" };
    let mut now = 1_767_225_600 + below(random, 1_000_000);
    let t0 = stated(random, now);
    let cycles: Vec<Value> = (0..=below(random, 5))
        .map(|_| {
            now = if one_in(random, 4) { now - below(random, 1_000) } else { now + 1 };
            let times: Vec<String> = (0..6)
                .map(|_| {
                    now += if one_in(random, 30) { 400 } else { below(random, 3) };
                    stated(random, now)
                })
                .collect();
            cycle(random, times, &hash, executor)
        })
        .collect();
    let entropy: Vec<String> = (0..2 + 7 * cycles.len()).map(|_| digits(random)).collect();
    json!({
        "instruction_envelope_hash": hash,
        "executor_id": executor,
        "t0": t0,
        "chain_id": "CHAIN-r",
        "audit_id": "AUDIT-r",
        "timeout_seconds": if one_in(random, 50) { 0 } else { any(random, &[300, 300, 1, 86_400]) },
        "max_retries": any(random, &[-1, 0, 1, 1, 2, 2, 3, 7]),
        "cycles": cycles,
        "entropy": entropy,
    })
}

/// A time, mostly in UTC.
fn stated(random: &mut Gen, seconds: u64) -> String {
    if one_in(random, 1_000) {
        return any(random, &["", "garbage"]).into();
    }
    let at = Timestamp::from_nanoseconds(seconds * 1_000_000_000).to_string();
    let at = at.split_once(['.', 'Z']).map_or(at.as_str(), |(whole, _)| whole);
    let zone = if one_in(random, 30) { "-05:00" } else { any(random, &["Z", "+00:00", ".5Z"]) };
    format!("{at}{zone}")
}

fn cycle(random: &mut Gen, times: Vec<String>, hash: &str, executor: &str) -> Value {
    let payload: Vec<u8> = Vec::arbitrary(random);
    let payload: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
    let other = "f".repeat(300);
    let instruction =
        if one_in(random, 6) { any(random, &["", "x", "0123", other.as_str()]) } else { hash };
    let executor = if one_in(random, 8) { any(random, &["evil", ""]) } else { executor };
    let statuses = ["SUCCESS", "FAILURE", "TIMEOUT", "PARTIAL", "MALFORMED"];
    let status = if one_in(random, 100) { "success" } else { any(random, &statuses) };
    json!({
        "ts": times,
        "raw_payload_hex": payload,
        "executor_id": executor,
        "instruction_hash": instruction,
        "reported_status": status,
        "human": human(random),
    })
}

fn human(random: &mut Gen) -> Value {
    if one_in(random, 12) {
        return Value::Null;
    }
    let decision = any(random, &["RETRY", "RETRY", "RETRY", "CONTINUE", "ABORT", "ESCALATE"]);
    let names = ["alice", "b\u{f6}b", "alice", "SYSTEM_TIMEOUT", "\u{200b}", "a\u{200b}b"];
    let name = if one_in(random, 8) { any(random, &names) } else { "alice" };
    let is_silent = decision == "CONTINUE" && one_in(random, 2);
    let target = if decision == "ESCALATE" || one_in(random, 30) {
        json!(any(random, &["boss", "board", "boss", "board", "b\u{202e}oss"]))
    } else {
        Value::Null
    };
    json!({
        "decision": decision,
        "human_id": name,
        "reason": if is_silent { Value::Null } else { json!(any(random, &REASONS)) },
        "escalation_target": target,
    })
}
