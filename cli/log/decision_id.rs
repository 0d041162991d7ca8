//! Which decision is meant: by its id, by the beginning of its id, or by its issue.

use crate::log::IdOf;
use crate::log::ids::{are_digits, begins, own_in_small_letters};
use crate::log::question::resolve;
use crate::ui::text::cut;
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_replay::id_text::DIGITS_MIN;
use holdpoint_replay::question::{Question, known_decisions};
use serde_json::json;

/// What every id begins with: by itself it names nothing, whatever there is.
const ID_PREFIX: &str = "DP-";
/// Longest prompt in a line, in bytes.
const PROMPT_BYTES: usize = 60;
/// How many of several decisions are listed.
const LISTED_MAX: usize = 16;

/// Whether it is by the beginning of its id that a decision point was found.
pub(crate) fn is_by_beginning(point: &DecisionPoint, wanted: &str) -> bool {
    *point.decision_id != *wanted && point.terms.issue_id.as_deref() != Some(wanted)
}

/// That a text is not both an issue and the beginning of an id that something has: who means one
/// would be given the other. Exit 4; both are named.
pub(crate) fn expect_one_meaning(world: &World, wanted: &str) -> Result<(), Failure> {
    let digits = IdOf::of(wanted).and_then(|of| wanted.strip_prefix(of.prefix())).unwrap_or(wanted);
    if digits.len() < DIGITS_MIN || !are_digits(digits) {
        return Ok(());
    }
    let is_its = |point: &&DecisionPoint| point.terms.issue_id.as_deref() == Some(wanted);
    let id = ids_of(world).find(|id| begins(id, wanted));
    let Some((of_issue, id)) = known_decisions(world).find(is_its).zip(id) else { return Ok(()) };
    let (wanted, of_issue, id) = (visible(wanted), visible(&of_issue.decision_id), visible(id));
    let message = format!(
        "{wanted} is the issue of {of_issue} and the beginning of {id}: name one by its whole id"
    );
    Err(Failure::new(Exit::CONFLICT, "ambiguous_name", message))
}

/// The question that is meant, as [`resolve`] finds it, where a state tells that it is
/// the only one: what left the state may be called so too. A hold whose run left the state is not
/// known.
pub(crate) fn known<'w>(world: &'w World, wanted: &str) -> Option<Question<'w>> {
    let found = resolve(world, wanted).ok()?;
    let is_of_issue = found.issue() == Some(wanted) && found.is_open();
    let is_named = found.id() == wanted || is_of_issue && !wanted.starts_with(ID_PREFIX);
    let forgets = world.forgets_decision_points() || world.forgets_requests();
    let is_whole = !matches!(found, Question::Hold(None, _));
    ((is_named || !forgets) && is_whole).then_some(found)
}

/// The id of every decision point that is known, of every question that waits and of every run that
/// lives.
pub(crate) fn ids_of(world: &World) -> impl Iterator<Item = &str> {
    let points = known_decisions(world).map(|point| point.decision_id.as_str());
    let requests = world.open_requests().map(|(_, held)| held.request_id());
    points.chain(requests).chain(world.live_loops().map(|run| run.loop_id()))
}

/// The failure that nothing is called so.
pub(crate) fn unknown(world: &World, wanted: &str) -> Failure {
    let shown = excerpt(wanted);
    let advice = match closest(world, wanted) {
        Some(name) => format!("did you mean {}?", visible(&name)),
        None => "`holdpoint decision list state=all` shows all".to_string(),
    };
    let message =
        format!("there is no decision {shown}, and no issue of that name has one: {advice}");
    Failure::new(Exit::NOT_FOUND, "not_found", message)
        .with("decision_id", json!(wanted))
        .with("current", json!(null))
}

/// The decision point of an issue: its one open one, or where none is open the newest round that
/// ended. Exit 4 where several are open.
pub(crate) fn of_issue<'w>(
    world: &'w World,
    issue: &str,
) -> Result<Option<&'w DecisionPoint>, Failure> {
    let is_its = |point: &&DecisionPoint| point.terms.issue_id.as_deref() == Some(issue);
    let open: Vec<&DecisionPoint> = world.open_decisions_of(issue).collect();
    match open.as_slice() {
        [] => Ok(known_decisions(world).filter(is_its).max_by_key(|point| point.created_sequence)),
        [only] => Ok(Some(*only)),
        several => Err(several_open(several, issue)),
    }
}

fn several_open(open: &[&DecisionPoint], issue: &str) -> Failure {
    let listed = open.iter().take(LISTED_MAX);
    let listed: Vec<String> =
        listed.map(|point| format!("\n  {}  {}", point.decision_id, prompt(point))).collect();
    let more = match open.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    let message = format!(
        "issue {} has {} open decisions; name one by its id:{}{more}",
        visible(issue),
        open.len(),
        listed.concat()
    );
    let ids: Vec<&str> = open.iter().map(|point| point.decision_id.as_str()).collect();
    Failure::new(Exit::CONFLICT, "ambiguous_issue", message).with("decision_ids", json!(ids))
}

fn prompt(point: &DecisionPoint) -> String {
    cut(&point.terms.proposal.prompt, PROMPT_BYTES)
}

/// The id or issue that is most like the name, if one is.
fn closest(world: &World, wanted: &str) -> Option<String> {
    let names = known_decisions(world).flat_map(|point| {
        let issue = point.terms.issue_id.as_deref();
        issue.into_iter().chain([point.decision_id.as_str()])
    });
    let in_small = || own_in_small_letters(wanted, IdOf::Decision);
    crate::ui::suggest::closest(names, wanted).map(String::from).or_else(in_small)
}
