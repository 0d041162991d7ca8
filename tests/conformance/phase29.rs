//! The functions of Phase-29.

use holdpoint_domain::execution_loop::{
    ExecutionLoopContext, ExecutionLoopState, evaluate_executor_response,
    initialize_execution_loop, transition_execution_state,
};
use serde_json::{Value, json};

use crate::decode::{Answer, Decoded, entropy, shaped, text, typed};

/// Runs a function; `None` if there is none of that name.
pub(crate) fn run(function: &str, input: &Value) -> Option<Decoded<Answer>> {
    Some(match function {
        "initialize_execution_loop" => initialized(input).map(|context| shaped(&context)),
        "transition_execution_state" => transition(input),
        "execution_trace" => trace(input),
        "evaluate_executor_response" => evaluate(input),
        _ => return None,
    })
}

fn initialized(input: &Value) -> Decoded<ExecutionLoopContext> {
    let hash = text(input, "instruction_envelope_hash")?;
    let executor = text(input, "executor_id")?;
    let entropy = entropy(input, 1)?;
    Ok(initialize_execution_loop(hash, executor, &entropy[0]))
}

fn transition(input: &Value) -> Decoded<Answer> {
    let mut context: ExecutionLoopContext = typed(input, "context")?;
    transition_execution_state(&mut context, typed(input, "to_state")?);
    Ok(shaped(&context))
}

fn trace(input: &Value) -> Decoded<Answer> {
    let mut context = initialized(input)?;
    let mut states = vec![context.current_state()];
    for to_state in typed::<Vec<ExecutionLoopState>>(input, "to_states")? {
        transition_execution_state(&mut context, to_state);
        states.push(context.current_state());
    }
    Ok(Answer::Value(json!({ "states": states, "final": context })))
}

fn evaluate(input: &Value) -> Decoded<Answer> {
    let error: Option<String> = typed(input, "error")?;
    Ok(shaped(&evaluate_executor_response(typed(input, "success")?, error.as_deref())))
}
