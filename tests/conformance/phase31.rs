//! The functions of Phase-31.

use holdpoint_domain::core::ids::id;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{
    ObservationContext, OfferedEvidence, StopFacts, attach_observer, check_stop, evidence_hash,
};
use holdpoint_domain::execution_loop::ExecutionLoopContext;
use holdpoint_testing::chains::{ChainFault, EvidenceChain};
use serde_json::{Value, json};

use crate::decode::{
    Answer, Decoded, bytes, chain, entropy, field, record, record_shape, shaped, text, typed,
};
use crate::tamper::session;

/// Runs a function; `None` if there is none of that name.
pub(crate) fn run(function: &str, input: &Value, expect: &Value) -> Option<Decoded<Answer>> {
    Some(match function {
        "evidence_hash" => record(input).map(|record| shaped(&evidence_hash(&record))),
        "capture_evidence" => capture(input),
        "capture_sequence" => capture_sequence(input),
        "check_stop" => stop(input),
        "validate_chain" => Ok(validate(input, expect)),
        "attach_observer" => attach(input),
        "create_empty_chain" => empty_chain(input),
        _ => return None,
    })
}

fn capture(input: &Value) -> Decoded<Answer> {
    let context: ObservationContext = typed(input, "context")?;
    let entropy = entropy(input, 1)?;
    let prior = match chain(input, "prior_chain") {
        Ok(prior) => prior,
        // A prior chain that is none is refused like any other that does not verify.
        Err(why) => return Ok(Answer::Refused(why)),
    };
    let raw = bytes(input, "raw_data_hex")?;
    match capture_step(&context, input, raw, &prior, &entropy[0])? {
        Ok(after) => Ok(captured(&prior, &after)),
        Err(why) => Ok(Answer::Refused(why)),
    }
}

fn captured(prior: &EvidenceChain, after: &EvidenceChain) -> Answer {
    let (appended, before) = after.records.split_last().unwrap();
    assert_eq!(before, prior.records, "prior records are unchanged");
    Answer::Value(json!({
        "chain_id": after.chain_id,
        "length": after.length,
        "head_hash": after.head_hash,
        "records_len": after.records.len(),
        "appended": record_shape(appended),
    }))
}

/// One capture, as `decide` makes it: the inner error is a refusal.
fn capture_step(
    context: &ObservationContext,
    step: &Value,
    raw: RawData,
    prior: &EvidenceChain,
    entropy: &str,
) -> Decoded<Result<EvidenceChain, String>> {
    let offer = OfferedEvidence {
        observation_point: typed(step, "observation_point")?,
        evidence_type: typed(step, "evidence_type")?,
        raw_data: raw,
    };
    let captured = prior.capture(context, offer, text(step, "timestamp")?, entropy);
    Ok(captured.map_err(|fault| format!("{fault:?}")))
}

fn capture_sequence(input: &Value) -> Decoded<Answer> {
    let context: ObservationContext = typed(input, "context")?;
    let steps: Vec<Value> = typed(input, "steps")?;
    let entropy = entropy(input, steps.len())?;
    let mut chain = EvidenceChain::empty(&context, text(input, "chain_id")?);
    for (step, entropy) in steps.iter().zip(&entropy) {
        let context = ObservationContext { is_halted: typed(step, "halted")?, ..context.clone() };
        let raw = bytes(step, "raw_data_hex")?;
        chain = match capture_step(&context, step, raw, &chain, entropy)? {
            Ok(chain) => chain,
            Err(why) => return Ok(Answer::Refused(why)),
        };
    }
    let hashes: Vec<&str> = chain.records.iter().map(|r| r.self_hash.as_str()).collect();
    let ids: Vec<&str> = chain.records.iter().map(|r| r.record_id.as_str()).collect();
    Ok(Answer::Value(json!({
        "length": chain.length,
        "head_hash": chain.head_hash,
        "self_hashes": hashes,
        "record_ids": ids,
    })))
}

fn stop(input: &Value) -> Decoded<Answer> {
    let context: Option<ObservationContext> = typed(input, "context")?;
    let condition = typed(input, "condition")?;
    let facts = facts(field(input, "flags")?)?;
    Ok(shaped(&check_stop(context.as_ref(), condition, &facts)))
}

/// Only the flags that were passed are known.
fn facts(flags: &Value) -> Decoded<StopFacts> {
    let flags = flags.as_object().ok_or("flags is no object")?;
    let mut all = serde_json::to_value(StopFacts::default()).unwrap();
    for (name, value) in flags {
        let fact = all.get_mut(name).ok_or_else(|| format!("unknown flag {name}"))?;
        *fact = value.clone();
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

/// Beside the verdict, the place has to be the recorded one. What does not decode as a chain is
/// not a valid chain; only names outside a closed enum are left to their category.
fn validate(input: &Value, expect: &Value) -> Answer {
    match chain(input, "chain") {
        Ok(chain) => {
            let place = place(&chain);
            let recorded = (field(expect, "failed_check"), field(expect, "first_bad_index"));
            if let (Ok(check), Ok(index)) = recorded {
                let found = (json!(place.0), json!(place.1));
                if found != (check.clone(), index.clone()) {
                    return Answer::Undecodable(format!("place {found:?}, not {check}, {index}"));
                }
            }
            shaped(&chain.fault(&session()).is_none())
        }
        Err(why) if why.starts_with("length") => shaped(&false),
        Err(why) => Answer::Undecodable(why),
    }
}

/// The first failed check and its record, in the words of the vectors.
fn place(chain: &EvidenceChain) -> (Option<&'static str>, Option<u64>) {
    match chain.fault(&session()) {
        None => (None, None),
        Some(ChainFault::Record(finding)) => (Some(finding.field), Some(finding.index)),
        Some(ChainFault::Stated("head_hash")) => (Some("head_hash"), chain.length.checked_sub(1)),
        Some(ChainFault::Stated(what)) => (Some(what), None),
    }
}

/// The reference takes four texts. Here the observer is attached to the loop that they name: in
/// INIT, with the same executor and envelope.
fn attach(input: &Value) -> Decoded<Answer> {
    let entropy = entropy(input, 1)?;
    let (loop_id, executor_id) = (text(input, "loop_id")?, text(input, "executor_id")?);
    let envelope_hash = text(input, "envelope_hash")?;
    let loop_context: ExecutionLoopContext = serde_json::from_value(json!({
        "loop_id": loop_id,
        "instruction_envelope_hash": envelope_hash,
        "current_state": "INIT",
        "executor_id": executor_id,
    }))
    .map_err(|error| error.to_string())?;
    let session = ObservationContext {
        session_id: format!("OBS-{}", entropy[0]),
        loop_id: loop_id.into(),
        executor_id: executor_id.into(),
        envelope_hash: envelope_hash.into(),
        created_at: text(input, "timestamp")?.into(),
        is_halted: false,
    };
    Ok(shaped(&attach_observer(&loop_context, &session)))
}

fn empty_chain(input: &Value) -> Decoded<Answer> {
    let chain_id: Option<String> = typed(input, "chain_id")?;
    let entropy = entropy(input, usize::from(chain_id.is_none()))?;
    let made = || id("CHAIN-", entropy.first().map_or("", String::as_str));
    let empty = EvidenceChain::empty(&session(), &chain_id.unwrap_or_else(made));
    Ok(Answer::Value(json!({
        "chain_id": empty.chain_id,
        "records": empty.records,
        "head_hash": empty.head_hash,
        "length": empty.length,
    })))
}
