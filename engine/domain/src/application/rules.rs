//! Rules for an event of the application, for decision and judgement alike.

use crate::application::command::{ApplicationCommand, RecordEvent};
use crate::application::event::{
    ApplicationEvent, ApplicationRecorded, ReducerFingerprintRecorded,
};
use crate::application::types::{MAX_CONTENT_TYPE_BYTES, MAX_DATA_BYTES};
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::OWN_PREFIXES;
use crate::core::limits::{ENTROPY_BYTES, MAX_ID_BYTES};
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name, quoted, require};

const NAME_256: &str = "1 to 256 bytes, visible, without control characters";
const NAME_128: &str = "1 to 128 bytes, visible, without control characters";

/// Checks whether a command is well-formed.
pub(crate) fn check_command(command: &ApplicationCommand) -> Result<(), Malformed> {
    let ApplicationCommand::RecordEvent(c) = command;
    check(&c.stream, &c.event_type, c.type_version, &c.content_type, c.data.as_bytes().len())
}

/// The fact that a command asks for.
pub(crate) fn recorded(command: &ApplicationCommand) -> ApplicationEvent {
    let ApplicationCommand::RecordEvent(c) = command;
    let RecordEvent { stream, event_type, type_version, content_type, data } = c;
    ApplicationRecorded {
        stream: Text::from(stream),
        event_type: Text::from(event_type),
        type_version: *type_version,
        content_type: Text::from(content_type),
        data: data.clone(),
    }
    .into()
}

/// Checks whether what is stated of a reducer's states is well-formed, and is about records up to
/// the newest one.
pub(crate) fn check_fingerprint(
    stated: &ReducerFingerprintRecorded,
    newest: u64,
) -> Result<(), Malformed> {
    let ReducerFingerprintRecorded { reducer, version, encoding, covers, .. } = stated;
    check_own_name("reducer", reducer)?;
    require(*version > 0, "version", "1 or more", version)?;
    check_name("encoding", encoding, MAX_CONTENT_TYPE_BYTES, NAME_128)?;
    require(*covers <= newest, "covers", "a record before the one that says so", covers)
}

/// Adds to `checks` what the rules forbid about an event: what no command would have asked for.
pub(crate) fn judge(record: Record<'_>, event: &ApplicationEvent, checks: &mut RuleChecks) {
    let checked = match event {
        ApplicationEvent::ApplicationRecorded(it) => {
            let length = it.data.as_bytes().len();
            check(&it.stream, &it.event_type, it.type_version, &it.content_type, length)
        }
        ApplicationEvent::ReducerFingerprintRecorded(it) => {
            check_fingerprint(it, record.sequence.saturating_sub(1))
        }
    };
    if let Err(Malformed { field, expected, found }) = checked {
        checks.forbid(Rule::ApplicationEvent, format_args!("{field}: {expected}"), found);
    }
}

fn check(
    stream: &str,
    event_type: &str,
    type_version: u32,
    content_type: &str,
    length: usize,
) -> Result<(), Malformed> {
    check_own_name("stream", stream)?;
    let expected = "no id as Holdpoint mints them: a prefix such as LOOP- and 32 digits";
    require(!is_own_id(stream), "stream", expected, quoted(stream))?;
    check_own_name("type", event_type)?;
    require(type_version > 0, "type_version", "1 or more", type_version)?;
    check_name("content_type", content_type, MAX_CONTENT_TYPE_BYTES, NAME_128)?;
    let fits = length <= MAX_DATA_BYTES;
    require(fits, "data", "at most 66060288 bytes (63 MiB)", format_args!("{length} bytes"))
}

/// A name of the application's.
fn check_own_name(field: &'static str, name: &str) -> Result<(), Malformed> {
    check_name(field, name, MAX_ID_BYTES, NAME_256)?;
    require(name.trim() == name, field, "no blanks around the name", quoted(name))
}

/// Returns whether a name could be taken for one of Holdpoint's own ids.
fn is_own_id(name: &str) -> bool {
    let digits = OWN_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    digits.is_some_and(|digits| {
        digits.len() == 2 * ENTROPY_BYTES && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

const _: () = assert!(MAX_DATA_BYTES == 66_060_288);
