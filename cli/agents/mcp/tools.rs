//! The tools: name, description, schemas, hints, and what each does.

use super::arguments::{Cancel, Create, ListThem, Query, Refine, Respond, Show, Verify, Wait};
use super::caller::Caller;
use super::schema::{decision, of_arguments, of_result};
use super::{act, audit, look, waiting};
use crate::log::or_archived;
use crate::questions::adoption::expect_adopted;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::visible;
use rmcp::model::{Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What a client gives.
type Arguments = Map<String, Value>;

/// One tool.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    changes: Changes,
    input: fn() -> Arguments,
    output: fn() -> Value,
    call: fn(&Caller<'_>, Arguments) -> Result<Value, Failure>,
}

/// What a tool may write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    /// Nothing.
    Nothing,
    /// What was due anyway, or what was asked for: the same again writes nothing.
    Once,
    /// Something new with every call.
    Always,
}

/// The tool that waits.
const WAIT: &str = "decision_wait";

/// Every tool, but the one that answers.
const OFFERS: [Offer; 9] = [
    CREATE,
    Offer { name: "decision_list", ..LIST },
    Offer { name: "bd_decision_list", title: "List decisions (alias)", ..LIST },
    Offer {
        name: "decision_show",
        title: "Show a decision",
        description: "Show a decision: what is asked, where it stands, and what became of it.",
        changes: Changes::Nothing,
        input: of_arguments::<Show>,
        output: || json!({ "decision": decision() }),
        call: |caller, arguments| alone(caller, look::show(caller, &read(arguments)?)),
    },
    Offer {
        name: WAIT,
        title: "Wait for a decision",
        description: "Wait, at most 45 seconds, until a decision has ended. Where the outcome is \
            still_pending, call it again. answered: read decision.approved and selected_option or \
            response_text. iterated: guidance was given; call decision_refine on next_id. default, \
            aborted, cancelled, superseded: nobody answered; do not go on as if somebody had. It \
            writes nothing, but for a deadline that has passed.",
        changes: Changes::Once,
        input: of_arguments::<Wait>,
        output: || {
            json!({
                "decision": decision(),
                "outcome": { "enum": [
                    "answered", "default", "aborted", "cancelled", "superseded", "iterated",
                    "still_pending"
                ]},
                "next_step": { "type": "string" },
            })
        },
        call: |caller, arguments| alone(caller, waiting::wait(caller, &read(arguments)?)),
    },
    Offer {
        name: "decision_cancel",
        title: "Take a decision back",
        description: "Take back a question that you asked and that nobody has answered. What waits \
            for it is not released.",
        changes: Changes::Once,
        input: of_arguments::<Cancel>,
        output: || json!({ "decision": decision(), "replayed": { "type": "boolean" } }),
        call: |caller, arguments| alone(caller, act::cancel(caller, read(arguments)?)),
    },
    Offer {
        name: "decision_refine",
        title: "Propose anew",
        description: "After guidance: propose anew in the round that it opened (state refining). \
            What you leave away stays as it was.",
        input: of_arguments::<Refine>,
        call: |caller, arguments| alone(caller, act::refine(caller, read(arguments)?)),
        ..CREATE
    },
    Offer {
        name: "audit_verify",
        title: "Verify the log",
        description: "Prove that nothing recorded was changed, lost or forbidden. verdict: intact; \
            intact, tail unproven; intact, with unproven records; short of HEAD; corrupt; \
            forbidden events.",
        changes: Changes::Nothing,
        input: of_arguments::<Verify>,
        output: || {
            json!({
                "verdict": { "type": "string" },
                "axes": { "type": "object" },
                "records": { "type": "integer" },
                "head": { "type": ["object", "null"] },
                "short_by": {
                    "type": ["integer", "null"],
                    "default": null,
                    "description": "How many records are missing of a log that is short of HEAD.",
                },
                "findings": { "type": "array", "items": { "type": "object" } },
            })
        },
        call: |caller, arguments| {
            let Verify {} = read(arguments)?;
            audit::verify(caller)
        },
    },
    Offer {
        name: "audit_query",
        title: "Read the log",
        description: "Read the records of the log and of its archives, in order: who did what, \
            when, and why. Raw evidence is hidden; standing says what is proven of a record. Where \
            next_from is a number there may be more: call again with it as from. Where complete is \
            false something is missing or wrong: findings and notes say what.",
        changes: Changes::Nothing,
        input: of_arguments::<Query>,
        output: || {
            json!({
                "complete": { "type": "boolean" },
                "records": { "type": "array", "items": { "type": "object" } },
                "next_from": { "type": ["integer", "null"] },
                "verdict": { "type": ["string", "null"] },
                "findings": { "type": "array", "items": { "type": "object" } },
                "notes": notes(),
                "unread_archive": { "type": ["object", "null"] },
                "reach": { "type": "object" },
            })
        },
        call: |caller, arguments| audit::query(caller, read(arguments)?),
    },
];

const CREATE: Offer = Offer {
    name: "decision_create",
    title: "Ask a person",
    description: "Put a question to a person: a prompt, options with ids, optionally a default \
        that you prefer and a deadline. It gives a decision with an id and state pending. A \
        person answers elsewhere; call decision_wait for the answer. Use an idempotency_key so \
        that a repeated call asks nobody twice. With approvers, quorum or binding it is an \
        approval, which only people can give.",
    changes: Changes::Always,
    input: of_arguments::<Create>,
    output: || {
        json!({
            "decision": decision(),
            "replayed": { "type": "boolean" },
            "next_step": { "type": "string" },
        })
    },
    call: |caller, arguments| alone(caller, act::create(caller, read(arguments)?)),
};

const LIST: Offer = Offer {
    name: "decision_list",
    title: "List decisions",
    description: "List decisions, by default those that wait for an answer: what presses most \
        first, then what was asked first. State refining is the turn of whoever asked. Where \
        next_after is an id there are more: call again with it as after.",
    changes: Changes::Nothing,
    input: of_arguments::<ListThem>,
    output: || {
        json!({
            "decisions": { "type": "array", "items": decision() },
            "total": { "type": "integer" },
            "next_after": { "type": ["string", "null"] },
            "notes": notes(),
        })
    },
    call: |caller, arguments| alone(caller, look::list(caller, &read(arguments)?)),
};

/// Sentences on what is not in an answer.
fn notes() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// The one that answers: only where whoever starts the server says so.
const RESPOND: Offer = Offer {
    name: "decision_respond",
    title: "Answer a decision",
    description: "Answer a decision as an agent: an option, a text, guidance, or accept. It is \
        recorded as an agent's answer, whose name nothing proves; where people have to approve it \
        is refused. The first answer counts.",
    changes: Changes::Once,
    input: of_arguments::<Respond>,
    output: || {
        json!({
            "decision": decision(),
            "next_decision": { "anyOf": [decision(), { "type": "null" }] },
            "replayed": { "type": "boolean" },
        })
    },
    call: |caller, arguments| alone(caller, act::respond(caller, read(arguments)?)),
};

/// What is offered.
pub(super) fn offers(lets_respond: bool) -> impl Iterator<Item = Offer> {
    OFFERS.into_iter().chain(lets_respond.then_some(RESPOND))
}

impl Offer {
    /// The tool as a client sees it.
    pub(super) fn tool(&self) -> Tool {
        let hints = ToolAnnotations::new()
            .read_only(self.changes == Changes::Nothing)
            .destructive(false)
            .idempotent(self.changes != Changes::Always)
            .open_world(false);
        Tool::new(self.name, self.description, (self.input)())
            .with_title(self.title)
            .with_raw_output_schema(of_result((self.output)()).into())
            .with_annotations(hints)
    }

    /// Whether calls of it wait for something.
    pub(super) fn waits(&self) -> bool {
        self.name == WAIT
    }

    /// Carries the call out. It blocks.
    pub(super) fn call(&self, caller: &Caller<'_>, arguments: Arguments) -> Result<Value, Failure> {
        expect_adopted(&caller.server.global)?;
        (self.call)(caller, arguments)
    }
}

/// What came of a tool that reads the log without its archives: what it did not find may be there.
fn alone(caller: &Caller<'_>, outcome: Result<Value, Failure>) -> Result<Value, Failure> {
    or_archived(&caller.server.global, outcome)
}

fn read<T: DeserializeOwned>(arguments: Arguments) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let said = error.to_string();
        let message = format!("{}; tools/list has the schema", visible(&said));
        Failure::new(Exit::USAGE, "bad_arguments", message)
    })
}
