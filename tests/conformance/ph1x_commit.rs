//! Audit rows: what callers commit, against an independent little model of scope, keys and order.
//!
//! What the model says differs from the record only where the reference loses or leaks something:
//!
//! | category | what we do |
//! |---|---|
//! | key with other content | a conflict: the second content is never swallowed |
//! | turn that is not newer | refused with X_FAIL_TURN_ORDER, whatever the key |
//! | tenant that the user is not of | refused: nobody binds a device by writing first |
//! | time that the caller states | there is none: the record's own time counts |
//! | device that another row named | it stays where it was registered |
//! | key of another tenant | keys are scoped by tenant |
//! | row for another speaker | only a CLARIFY or a WAIT is for somebody else |
//! | dispatch while a question is open | a CLARIFY or CONFIRM bars it until it is answered |
//! | reason without a name | a row's reason is a name of the closed registry |

use std::sync::Mutex;

use holdpoint_domain::Command;
use holdpoint_domain::core::text::is_blank;
use holdpoint_domain::interruption_thread::{
    ClarifyCommitRow, ConfirmCommitRow, DispatchCommitRow, InterruptionThreadCommand, ReasonCode,
    RespondCommitRow, RowCommitted, Thread, WaitCommitRow,
};
use holdpoint_domain::registration::{SessionStatus, WorkOrderStatus};
use serde_json::{Map, Value, json};

use crate::decode::{Decoded, text, typed};
use crate::ph1x_report::{Report, Verdict};
use holdpoint_testing::threads::{Outcome, Stage, lease_of, rows, work_order_of};

/// The first number of the reference's reason ids; its first 22 agree in both of its copies.
const REASON_BASE: u64 = 0x5800_0000;
const AGREED_REASONS: usize = 0x16;

/// What becomes of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    New,
    SameAs(usize),
    Refused,
}

/// An operation that was carried out.
struct Done {
    args: Value,
    command: Command,
    fate: Fate,
    row: Option<RowCommitted>,
    sequence: u64,
}

/// Runs a record; what failed.
pub(crate) fn run(record: &Value, report: &Mutex<Report>) -> Vec<String> {
    let id = record["id"].as_str().unwrap_or_default();
    let mut stage = stage_of(record);
    let (mut done, mut failures, mut departs) = (Vec::new(), Vec::new(), false);
    for (place, op) in items(&record["ops"]).iter().enumerate() {
        let (wanted, rule) = model(record, &op["args"], &done);
        let found = carry_out(&mut stage, &op["args"], &mut done);
        let verdict = judge(&wanted, &found, &recorded(&op["expect"]), rule);
        let mut report = report.lock().unwrap();
        report.judged("commit rows", &verdict);
        match verdict {
            Verdict::Fails(why) => failures.push(format!("{id}#{place}: {why}")),
            Verdict::Differs(name) => {
                departs = true;
                report.explained(name, reason_of(name));
            }
            _ => {}
        }
    }
    stage.assert_rebuilt();
    if !departs {
        failures
            .extend(compare_rows(record, &stage, &done).err().map(|why| format!("{id}: {why}")));
    }
    failures
}

fn judge(wanted: &Fate, found: &Fate, recorded: &Fate, rule: &'static str) -> Verdict {
    if wanted != found {
        return Verdict::Fails(format!("expected {wanted:?} ({rule}), found {found:?}"));
    }
    if found == recorded {
        return Verdict::Matches;
    }
    if reason_of(rule).is_empty() {
        return Verdict::Fails(format!("recorded {recorded:?}, found {found:?} by {rule}"));
    }
    Verdict::Differs(rule)
}

fn reason_of(rule: &str) -> &'static str {
    match rule {
        "key with other content" => "a conflict: the second content is never swallowed",
        "turn that is not newer" => "turns of a thread go forward, whatever the key",
        "tenant that the user is not of" => "a scope is registered, not bound by writing first",
        "time that the caller states" => "there is none: the record's own time counts",
        "device that another row named" => "a device stays where it was registered",
        "key of another tenant" => "keys are scoped by tenant",
        "row for another speaker" => "only a CLARIFY or a WAIT is for somebody else",
        "dispatch while a question is open" => "a CLARIFY or CONFIRM bars it until it is answered",
        "reason without a name" => "a row's reason is a name of the closed registry",
        _ => "",
    }
}

fn recorded(expect: &Value) -> Fate {
    if expect["status"] != "OK" {
        return Fate::Refused;
    }
    let same = expect["event"]["same_as_op"].as_u64();
    same.map_or(Fate::New, |op| Fate::SameAs(usize::try_from(op).unwrap()))
}

/// What has to become of an operation, and by which rule.
fn model(record: &Value, args: &Value, done: &[Done]) -> (Fate, &'static str) {
    if reason(args).is_err() && args["reason_code"] != 0 {
        return (Fate::Refused, "reason without a name");
    }
    if !is_within_bounds(args) {
        return (Fate::Refused, "bounds");
    }
    let same = |name: &str, of: &Done| of.args[name] == args[name];
    let of_thread = |of: &&Done| same("tenant_id", of) && same("correlation_id", of);
    let written = || done.iter().filter(|of| of.fate == Fate::New);
    if let Some(first) = written().filter(of_thread).find(|of| same("idempotency_key", of)) {
        if content(&first.args) != content(args) {
            return (Fate::Refused, "key with other content");
        }
        let place = done.iter().position(|of| of.sequence == first.sequence).unwrap();
        return (Fate::SameAs(place), "the same again");
    }
    if tenant_of(&args["user_id"]) != args["tenant_id"].as_str() {
        return (Fate::Refused, "tenant that the user is not of");
    }
    if !is_in_scope(&record["setup"], args) {
        return (Fate::Refused, "scope");
    }
    let last = written().filter(of_thread).filter_map(|of| of.args["turn_id"].as_u64()).max();
    if args["turn_id"].as_u64() <= last {
        return (Fate::Refused, "turn that is not newer");
    }
    if let Some(rule) = barred_by(args, &written().filter(of_thread).collect::<Vec<_>>()) {
        return (Fate::Refused, rule);
    }
    let is_of_another = |of: &Done| {
        same("idempotency_key", of) && same("correlation_id", of) && !same("tenant_id", of)
    };
    let rule = if args["now"] == 0 {
        "time that the caller states"
    } else if written().any(is_of_another) {
        "key of another tenant"
    } else {
        "device that another row named"
    };
    (Fate::New, rule)
}

/// What bars a row, by the rows that its thread has.
fn barred_by(args: &Value, thread: &[&Done]) -> Option<&'static str> {
    let is = |args: &Value, capability: &str| args["capability"] == capability;
    let is_wait = |args: &Value| is(args, "PH1X_WAIT_COMMIT_ROW");
    // Who speaks in a thread is known from its first row, and from every one that is for somebody;
    // what it waits for, from the newest that is no WAIT.
    let newest = thread.iter().rfind(|of| !is_wait(&of.args));
    let spoken = newest.or_else(|| thread.first())?;
    let is_free = is_wait(args) || is(args, "PH1X_CLARIFY_COMMIT_ROW");
    if !is_free && spoken.args["user_id"] != args["user_id"] {
        return Some("row for another speaker");
    }
    let asks = ["PH1X_CLARIFY_COMMIT_ROW", "PH1X_CONFIRM_COMMIT_ROW"];
    let is_open = asks.iter().any(|asked| is(&spoken.args, asked));
    let is_barred = is(args, "PH1X_DISPATCH_COMMIT_ROW") && is_open;
    is_barred.then_some("dispatch while a question is open")
}

fn is_within_bounds(args: &Value) -> bool {
    let is_short = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| !is_blank(text) && text.len() <= most)
    };
    let kind = kind_of(args).map(|(_, kind)| Value::String(kind));
    is_short(&args["tenant_id"], 64)
        && is_short(&args["idempotency_key"], 128)
        && kind.is_ok_and(|kind| is_short(&kind, 64))
        && reason(args).is_ok()
        && args["turn_id"].as_u64() > Some(0)
        && args["correlation_id"] != 0
}

/// Everything but the time.
fn content(args: &Value) -> Map<String, Value> {
    let mut content = args.as_object().cloned().unwrap_or_default();
    content.remove("now");
    content
}

fn is_in_scope(setup: &Value, args: &Value) -> bool {
    let is_of =
        |of: &Value| of["user_id"] == args["user_id"] && of["device_id"] == args["device_id"];
    let session = &args["session_id"];
    items(&setup["user_devices"]).iter().any(is_of)
        && (session.is_null()
            || items(&setup["sessions"]).iter().any(|of| of["session_id"] == *session && is_of(of)))
}

/// Users are named `tenant:user` in the vectors.
fn tenant_of(user_id: &Value) -> Option<&str> {
    user_id.as_str()?.split_once(':').map(|(tenant, _)| tenant)
}

/// Everything that the record's setup says, registered; a work order for every thread.
fn stage_of(record: &Value) -> Stage {
    let mut stage = Stage::default();
    stage.allow_caller();
    let setup = &record["setup"];
    let mut tenants: Vec<&str> =
        items(&setup["user_devices"]).iter().filter_map(|of| tenant_of(&of["user_id"])).collect();
    tenants.sort_unstable();
    tenants.dedup();
    tenants.iter().for_each(|tenant| stage.tenant(tenant));
    let mut users: Vec<&str> = Vec::new();
    for of in items(&setup["user_devices"]) {
        let (user, device) = (text(of, "user_id").unwrap(), text(of, "device_id").unwrap());
        let tenant = tenant_of(&of["user_id"]).unwrap();
        if users.contains(&user) {
            stage.device(tenant, user, device)
        } else {
            stage.user(tenant, user, device);
        }
        users.push(user);
    }
    for of in items(&setup["sessions"]) {
        let (user, device) = (text(of, "user_id").unwrap(), text(of, "device_id").unwrap());
        let (tenant, session) = (tenant_of(&of["user_id"]).unwrap(), of["session_id"].to_string());
        stage.session([tenant, &session, user, device], SessionStatus::Active, 1).events();
    }
    let mut threads: Vec<String> =
        items(&record["ops"]).iter().map(|op| op["args"]["correlation_id"].to_string()).collect();
    threads.sort_unstable();
    threads.dedup();
    for (tenant, thread) in tenants.iter().flat_map(|t| threads.iter().map(move |c| (t, c))) {
        stage.work_order(tenant, thread);
    }
    stage
}

fn carry_out(stage: &mut Stage, args: &Value, done: &mut Vec<Done>) -> Fate {
    let again = done.iter().find(|of| content(&of.args) == content(args));
    let command = match again.map_or_else(|| command(stage, args), |of| Ok(of.command.clone())) {
        Ok(command) => command,
        Err(_) => return Fate::Refused,
    };
    let newest = done.last().and_then(|of| of.args["now"].as_u64()).unwrap_or(1);
    let at = args["now"].as_u64().unwrap_or(1).max(newest);
    let sequence = stage.sequence + 1;
    let before = thread_of(stage, args).cloned();
    let (fate, row) = match stage.give(&command, at) {
        Outcome::Done(events) => (Fate::New, rows(&events).first().map(|row| (*row).clone())),
        Outcome::Repeated(first) => {
            let place = done.iter().position(|of| of.sequence == first);
            (place.map_or(Fate::Refused, Fate::SameAs), None)
        }
        Outcome::Refused(_) => (Fate::Refused, None),
    };
    let after = thread_of(stage, args);
    match &row {
        Some(row) => assert!(after.is_some_and(|thread| follows(thread, row)), "{args}"),
        None => assert_eq!(after, before.as_ref(), "{args}"),
    }
    done.push(Done { args: args.clone(), command, fate: fate.clone(), row, sequence });
    fate
}

/// The thread that an operation is about.
fn thread_of<'a>(stage: &'a Stage, args: &Value) -> Option<&'a Thread> {
    let tenant_id = args["tenant_id"].as_str()?;
    stage.world.thread(tenant_id, &args["correlation_id"].to_string())
}

/// Whether the thread knows the row as its newest.
fn follows(thread: &Thread, row: &RowCommitted) -> bool {
    let newest = (thread.last_turn_id, thread.last_directive, thread.last_reason_code);
    newest == (row.turn_id, row.payload.directive, row.reason_code)
}

/// The name of a reason id that means the same in both copies of the reference.
fn reason(args: &Value) -> Decoded<ReasonCode> {
    let number = args["reason_code"].as_u64().ok_or("no number")?;
    let place = number.checked_sub(REASON_BASE + 1).ok_or("a reason without a name")?;
    let place = usize::try_from(place).map_err(|error| error.to_string())?;
    let known = ReasonCode::ALL.get(..AGREED_REASONS).ok_or("fewer reasons than agreed")?;
    known.get(place).copied().ok_or_else(|| "a reason without a name".into())
}

/// The directive's payload key and its own kind.
fn kind_of(args: &Value) -> Decoded<(&'static str, String)> {
    let key = match text(args, "capability")? {
        "PH1X_CONFIRM_COMMIT_ROW" => "confirm_kind",
        "PH1X_CLARIFY_COMMIT_ROW" => "what_is_missing",
        "PH1X_RESPOND_COMMIT_ROW" => "response_kind",
        "PH1X_DISPATCH_COMMIT_ROW" => "dispatch_target",
        "PH1X_WAIT_COMMIT_ROW" => "wait_kind",
        other => return Err(format!("unknown capability {other}")),
    };
    Ok((key, text(args, key)?.into()))
}

/// A row with the vectors' arguments, and constants for what the seed wants besides.
macro_rules! row {
    ($Body:ident, $stage:ident, $args:ident, $($field:ident: $value:expr),+) => {{
        let (tenant_id, thread) = (text($args, "tenant_id")?, $args["correlation_id"].to_string());
        let session: Option<u64> = typed($args, "session_id")?;
        Command::InterruptionThread(InterruptionThreadCommand::$Body($Body {
            tenant_id: tenant_id.into(),
            turn_id: typed($args, "turn_id")?,
            session_id: session.map(|session| session.to_string()),
            user_id: text($args, "user_id")?.into(),
            device_id: text($args, "device_id")?.into(),
            work_order_id: work_order_of(&thread),
            work_order_status_snapshot: WorkOrderStatus::Executing,
            pending_state: $stage.pending(tenant_id, &thread),
            idempotency_key: text($args, "idempotency_key")?.into(),
            reason_code: reason($args)?,
            $($field: $value,)+
            correlation_id: thread,
        }))
    }};
}

fn command(stage: &Stage, args: &Value) -> Decoded<Command> {
    let (key, kind) = kind_of(args)?;
    let lease = Some(lease_of(&args["correlation_id"].to_string()));
    Ok(match key {
        "confirm_kind" => row!(ConfirmCommitRow, stage, args, confirm_kind: kind),
        "what_is_missing" => row!(
            ClarifyCommitRow, stage, args,
            what_is_missing: kind, clarification_unit_id: "unit-1".into()
        ),
        "response_kind" => row!(RespondCommitRow, stage, args, response_kind: kind),
        "dispatch_target" => row!(
            DispatchCommitRow, stage, args, dispatch_target: kind, lease_token_hash: lease
        ),
        _ => row!(WaitCommitRow, stage, args, wait_kind: kind),
    })
}

/// Every recorded row is there, in order, with all that the record says of its payload; and every
/// tenant reads its own.
fn compare_rows(record: &Value, stage: &Stage, done: &[Done]) -> Result<(), String> {
    let ours: Vec<&RowCommitted> = done.iter().filter_map(|of| of.row.as_ref()).collect();
    let recorded = items(&record["final"]["audit_rows"]);
    if ours.len() != recorded.len() {
        return Err(format!("expected {} rows, found {}", recorded.len(), ours.len()));
    }
    for (row, wanted) in ours.iter().zip(recorded) {
        let found = row_shape(row);
        let payload = wanted["payload"].as_object().into_iter().flatten();
        let holds =
            payload.fold(true, |holds, (key, value)| holds && found["payload"][key] == *value);
        let names = ["tenant_id", "turn_id", "engine", "event_type", "severity", "idempotency_key"];
        let same = names.iter().all(|name| found[name] == wanted[name]);
        let named = reason(wanted).is_ok_and(|reason| reason == row.reason_code);
        if !(holds && same && named) {
            return Err(format!("expected the row {wanted}, found {found}"));
        }
        let thread = stage.world.thread(&row.tenant_id, &row.correlation_id);
        let own = ours.iter().filter(|other| {
            other.tenant_id == row.tenant_id && other.correlation_id == row.correlation_id
        });
        if thread.map(|thread| thread.turns) != Some(own.count() as u64) {
            return Err(format!("tenant {} does not read its own rows", row.tenant_id));
        }
    }
    Ok(())
}

fn row_shape(row: &RowCommitted) -> Value {
    let mut payload = json!(row.payload);
    payload["directive"] = json!(row.payload.directive.payload_value());
    json!({
        "tenant_id": row.tenant_id,
        "turn_id": row.turn_id,
        "engine": holdpoint_domain::interruption_thread::ENGINE_ID,
        "event_type": row.event_type,
        "severity": row.severity,
        "idempotency_key": row.idempotency_key,
        "payload": payload,
    })
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}
