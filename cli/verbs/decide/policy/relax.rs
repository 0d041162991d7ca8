//! `holdpoint policy set` of less: the log demands less, once those whom it names approve of that.

use super::change::{confirmed, no_terminal, tell};
use crate::args::Global;
use crate::args::principal::user;
use crate::questions::decision_session::{DecisionSession, Only};
use crate::questions::decision_view::{how_to_answer, tell_how_to_answer};
use crate::questions::permits::Act;
use crate::questions::waiting::until_ended;
use crate::ui::program::program;
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CreateDecisionPoint, DecisionPoint, OnTimeout,
};
use holdpoint_domain::log::{
    ChangePolicy, GatePolicy, LogCommand, RELAX_TOOL, relax_binding, relax_proposal,
};
use holdpoint_engine::shell::{TypedLine, approvers_who_are_gone, owner_of, user_number};
use serde_json::json;
use std::path::PathBuf;

/// Asks, waits, and changes the policy. Exit 5 where it is not approved, 10 where nobody waits.
pub(super) fn relax(
    global: &Global,
    session: DecisionSession<'_>,
    (before, after): (&GatePolicy, &GatePolicy),
    (approval, waits): (Option<&str>, bool),
) -> Result<Exit, Failure> {
    let line = match waits {
        false => None,
        true => Some(confirmed("relax the policy", "relax", before, after)?),
    };
    if approval.is_none() && line.is_some() && is_locked_out(&session)? {
        return unlock(global, session, after, line);
    }
    let point = match approval {
        Some(wanted) => session.find(wanted, Act::Consume)?,
        None => ask(global, &session, before, after)?,
    };
    if !waits {
        session.close()?;
        return tell_id(global, &point);
    }
    let point = if approval.is_some() { point } else { answered(global, &session, point)? };
    let by = user(Actor::Human);
    let spent = Some(point.decision_id.to_string());
    let change =
        ChangePolicy { by: by.clone(), policy: after.clone(), approval: spent, people: None };
    let command = Command::Log(LogCommand::RelaxPolicy(Box::new(change)));
    let submitted = session.submit(&point, &by, &Only::default(), &command, line)?;
    let (receipt, _) = session.carried_out(Some(&point.decision_id), submitted)?;
    session.close()?;
    tell(global, &receipt, after)
}

/// Whether root sits here, and the policy names somebody whom the user database no longer has.
fn is_locked_out(session: &DecisionSession<'_>) -> Result<bool, Failure> {
    if user_number() != 0 {
        return Ok(false);
    }
    let gone = session.look(approvers_who_are_gone)?.map_err(|error| {
        let message = format!("the user database does not answer: {error}; nothing is relaxed");
        Failure::new(Exit::FAILED, "io", message)
    })?;
    if gone.is_empty() {
        return Ok(false);
    }
    let names: Vec<String> = gone.iter().map(|name| visible(name).to_string()).collect();
    complain(&format!(
        "the policy names {}, an unknown user: root loosens it without an approval, on record",
        names.join(", ")
    ));
    Ok(true)
}

/// Sets the policy as root, who is no approver by that.
fn unlock(
    global: &Global,
    session: DecisionSession<'_>,
    after: &GatePolicy,
    line: Option<TypedLine>,
) -> Result<Exit, Failure> {
    let Some(line) = line else { return Err(no_terminal("relax a policy")) };
    let submitted = session.unlock(&user(Actor::Human), after.clone(), line)?;
    let (receipt, _) = session.carried_out(None, submitted)?;
    session.close()?;
    tell(global, &receipt, after)
}

/// Puts the question on record: may the policy before become the one after?
fn ask(
    global: &Global,
    session: &DecisionSession<'_>,
    before: &GatePolicy,
    after: &GatePolicy,
) -> Result<DecisionPoint, Failure> {
    let input_sha256 = relax_binding(before, after);
    let shown = relax_proposal(before, after);
    let question = CreateDecisionPoint {
        context: shown.context.map(|context| context.to_string()),
        allow_text: Some(false),
        on_timeout: Some(OnTimeout::Abort),
        max_iterations: Some(1),
        policy: Some(approvers(global, before)?),
        timeout_ms: before.approval_timeout_ms.map(|most| most.milliseconds()),
        binding: Some(ActionBinding { tool: RELAX_TOOL.into(), input_sha256 }),
        separation: before.separation,
        ..CreateDecisionPoint::asking(
            session.entropy()?,
            user(Actor::Human),
            &*shown.prompt,
            shown.options.to_vec(),
        )
    };
    Ok(session.ask(&Only::default(), question)?.0)
}

/// Those whom the policy before names; where it names nobody, the owner of the log at a terminal.
fn approvers(global: &Global, before: &GatePolicy) -> Result<ApprovalPolicy, Failure> {
    let people = ApprovalPolicy { quorum: before.quorum, ..ApprovalPolicy::people() };
    if !before.approvers.is_empty() {
        let authentication = before.authentication.unwrap_or(Authentication::Terminal);
        return Ok(ApprovalPolicy {
            approvers: before.approvers.clone(),
            authentication,
            ..people
        });
    }
    let log: PathBuf = global.log.components().collect();
    let owner = owner_of(&log).ok_or_else(|| {
        let message = "the owner of the log cannot be told: check that its directory can be read";
        Failure::new(Exit::FAILED, "io", message)
    })?;
    let approvers: List<Text> = [Text::from(owner)].into_iter().collect();
    Ok(ApprovalPolicy { approvers, authentication: Authentication::Terminal, ..people })
}

/// Waits until the question ended, and gives it where that is an approval.
fn answered(
    global: &Global,
    session: &DecisionSession<'_>,
    asked: DecisionPoint,
) -> Result<DecisionPoint, Failure> {
    complain(&format!("decision {} waits for an answer:", asked.decision_id));
    tell_how_to_answer(global, &asked);
    let id = asked.decision_id.to_string();
    until_ended(global, std::slice::from_ref(&id), None, &|| false)?;
    let point = session.find(&id, Act::Consume)?;
    if point.approves() {
        return Ok(point);
    }
    let message = format!(
        "the decision {id} is no approval, and the policy stays as it is: `{} decision show {id}` \
         tells more",
        program(&global.log)
    );
    Err(Failure::new(Exit::REFUSED, "not_approved", message))
}

fn tell_id(global: &Global, point: &DecisionPoint) -> Result<Exit, Failure> {
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&json!({ "decision_id": point.decision_id }));
    } else {
        out.line(&point.decision_id);
        how_to_answer(global, point, crate::ui::screen::columns())
            .iter()
            .for_each(|line| out.line(line));
    }
    out.finish()?;
    Ok(Exit::STILL_PENDING)
}
