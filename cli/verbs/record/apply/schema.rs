//! `holdpoint apply --schema`: the JSON Schema of every line, command and event, made of the types
//! that read and write them.

use super::answer::Answer;
use super::submission::Line;
use crate::log::receipt::Recorded;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::{Command, Envelope};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

/// Three schemas, each whole in itself.
#[derive(Serialize)]
struct Schemas {
    /// A line of input, with every command.
    input: Schema,
    /// A line of output.
    output: Schema,
    /// Content of a record, with every event, as `log --json` shows it.
    record: Schema,
}

/// A line of output. For schemas alone: what is printed is an [`Answer`] or a [`Failure`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its form is what counts")]
enum OutputLine {
    Answer(Answer),
    /// The last line, where the verb itself failed.
    Failed {
        error: FailureForm,
    },
}

/// What went wrong.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its form is what counts")]
struct FailureForm {
    /// The stable code.
    code: String,
    /// Why, and what to do.
    message: String,
    /// What is on record nevertheless: the failure came behind the commit point.
    recorded: Option<Recorded>,
}

/// Prints the schemas as one JSON value.
pub(super) fn print() -> Result<Exit, Failure> {
    let mut out = Output::stdout();
    out.json(&schemas());
    out.finish()?;
    Ok(Exit::DONE)
}

fn schemas() -> Schemas {
    let mut input = of::<Line<Command>>(SchemaSettings::draft2020_12().for_deserialize());
    let commands = input.pointer_mut("/$defs/Command/oneOf").and_then(Value::as_array_mut);
    for command in commands.into_iter().flatten() {
        // The configuration stands in for the terms of a hold.
        if let Some(required) = command.pointer_mut("/required").and_then(Value::as_array_mut) {
            required.retain(|name| name != "hold");
        }
    }
    input.as_object_mut().into_iter().flat_map(|of| of.values_mut()).for_each(below_one);
    let output = || SchemaSettings::draft2020_12().for_serialize();
    Schemas { input, output: of::<OutputLine>(output()), record: of::<Envelope>(output()) }
}

/// Lets no fraction of a line be 1, as records of before may have it.
fn below_one(schema: &mut Value) {
    if let Value::Array(items) = schema {
        items.iter_mut().for_each(below_one);
    }
    let Some(keywords) = schema.as_object_mut() else { return };
    let is_fraction = keywords.get("type").is_some_and(|of| of.to_string().contains("number"));
    if is_fraction && keywords.remove("maximum").is_some() {
        keywords.insert("exclusiveMaximum".to_string(), 1.into());
    }
    keywords.values_mut().for_each(below_one);
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings.into_generator().into_root_schema_for::<T>()
}
