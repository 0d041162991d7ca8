//! The result of a tool: a value, and the same as text for clients that know no other.

use super::fit::fitted;
use crate::questions::decision_output::told_whole;
use crate::ui::Failure;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The result for a client: a value as it is; a failure as `isError`, with the `error` object that
/// the program prints, in which `decision_id` and `current` are always there. It is bounded.
pub(super) fn result_of(outcome: Result<Value, Failure>) -> CallToolResult {
    let is_error = outcome.is_err();
    let value = fitted(outcome.unwrap_or_else(|failure| told_whole(failure).value()));
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(value.to_string())];
    result.structured_content = Some(value);
    result.is_error = Some(is_error);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Exit;
    use serde_json::json;

    #[test]
    fn a_failure_is_told_with_every_key_of_an_error() {
        let result = result_of(Err(Failure::new(Exit::NOT_FOUND, "not_found", "no such thing")));
        let expected = json!({ "error": {
            "code": "not_found", "message": "no such thing", "decision_id": null, "current": null,
        }});
        assert_eq!((result.structured_content, result.is_error), (Some(expected), Some(true)));
        let result = result_of(Ok(json!({ "decision": 1 })));
        assert_eq!(result.is_error, Some(false));
        assert_eq!(result.content, [ContentBlock::text(r#"{"decision":1}"#)]);
    }
}
