//! Checks that what is asked and answered is well-formed, which does not depend on the state, and
//! who may take an approval back.

use alloc::string::{String, ToString as _};

use crate::core::actor::{Authentication, PersonTerms, Principal, Proof, UNKNOWN_USER};
use crate::core::ids::OWN_PREFIXES;
use crate::core::limits::MAX_ID_BYTES;
use crate::core::payload::Text;
use crate::core::people::People;
use crate::core::text::{
    BLANK_CODE_POINTS, SYSTEM_PREFIX, bounded, check_identifier, check_legible,
    has_visible_character, is_readable, is_reserved_name, visible,
};
use crate::core::time::Timestamp;
use crate::decision_point::event::ApprovalRevoked;
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::round::name;
use crate::decision_point::state::{Consumed, DecisionPoint, Revocation};
use crate::decision_point::types::{
    ActionBinding, ApprovalPolicy, DecisionOption, EvidenceAttachment, MAX_CONTEXT_BYTES,
    MAX_DESCRIPTION_BYTES, MAX_EXCERPT_BYTES, MAX_ITERATIONS, MAX_LABEL_BYTES, MAX_OPTION_ID_BYTES,
    MAX_OPTIONS, MAX_PROMPT_BYTES, MAX_RESPONSE_BYTES, MAX_SHORT_BYTES, MAX_TIMEOUT_MS, OnTimeout,
    OptionList, OutcomeClaim, Proposal, Response, Terms,
};

/// Prefix of the id of every decision point: no issue is called so.
const ID_PREFIX: &str = "DP-";

/// Prefixes of names that say what they are of, where an id or an issue may be given as well.
const NAME_PREFIXES: [&str; 4] = ["session:", "thread:", "correlation:", "stream:"];

/// Most bytes of a wrong id that a refusal shows.
const SHOWN_BYTES: usize = 96;

/// Checks whether the terms may be agreed on with this requester, by a record of this time.
///
/// # Errors
/// The first rule that says no.
pub fn check_terms(terms: &Terms, requester: &str, at: Timestamp) -> Result<(), No> {
    if let Some(issue_id) = &terms.issue_id {
        check_identifier("issue id", issue_id)?;
        if issue_id.starts_with(ID_PREFIX) {
            return Err(No::ReservedName { field: "issue id", found: shown(issue_id) });
        }
    }
    check_proposal(&terms.proposal, terms.allow_text)?;
    check_times(terms, at)?;
    if !(1..=MAX_ITERATIONS).contains(&terms.max_iterations) {
        return Err(No::IterationsOutOfRange { found: terms.max_iterations });
    }
    if let Some(policy) = &terms.policy {
        check_policy(policy, requester)?;
    }
    terms.blocks.iter().try_for_each(|name| check_identifier("name of what is blocked", name))?;
    terms.evidence.iter().try_for_each(check_evidence)?;
    terms.binding.as_ref().map_or(Ok(()), check_binding)
}

/// Checks whether a proposal can be answered.
///
/// # Errors
/// The first rule that says no.
pub fn check_proposal(proposal: &Proposal, allow_text: bool) -> Result<(), No> {
    check_words("prompt", &proposal.prompt, MAX_PROMPT_BYTES)?;
    if let Some(context) = &proposal.context {
        check_length("context", context, MAX_CONTEXT_BYTES)?;
    }
    if proposal.options.is_empty() && !allow_text {
        return Err(No::OptionCount { found: 0 });
    }
    for (place, option) in proposal.options.iter().enumerate() {
        check_option(option)?;
        if proposal.options.iter().take(place).any(|earlier| earlier.id == option.id) {
            return Err(No::DuplicateOption { id: option.id.to_string() });
        }
    }
    match &proposal.default_option {
        Some(default) if proposal.option(default).is_none() => {
            Err(bad_default(shown(default), proposal))
        }
        _ => Ok(()),
    }
}

/// Checks whether a policy can be met where this one asks, and does not approve by accident.
///
/// # Errors
/// [`No::BadPolicy`](crate::decision_point::DecisionPointRefusal::BadPolicy).
pub fn check_policy(policy: &ApprovalPolicy, requester: &str) -> Result<(), No> {
    let bad = |reason| Err(No::BadPolicy { reason });
    for (place, name) in policy.approvers.iter().enumerate() {
        check_identifier("approver", name)?;
        check_plain_name("approver", name, |name| name.starts_with(SYSTEM_PREFIX))?;
        if policy.approvers.iter().take(place).any(|earlier| earlier == name) {
            return bad("an approver is named twice; name each once");
        }
    }
    let quorum = usize::from(policy.quorum);
    let may = |name: &&crate::core::payload::Text| policy.allow_requester || ***name != *requester;
    let approvers = policy.approvers.iter().filter(may).count();
    match quorum {
        0 => bad("a quorum of 0 approves by itself; ask for 1 to 16 people"),
        17.. => bad("the quorum is above 16; ask for 1 to 16 people"),
        _ if !policy.approvers.is_empty() && quorum > approvers => bad(
            "the quorum is above the number of approvers, of whom the requester is none unless \
             that is allowed; name more, or ask for fewer",
        ),
        _ => Ok(()),
    }
}

/// Checks whether an answer is well-formed, whatever it answers.
///
/// # Errors
/// The first rule that says no.
pub fn check_response_form(response: &Response, comment: Option<&str>) -> Result<(), No> {
    match response {
        Response::Text(words) => check_words("text", words, MAX_RESPONSE_BYTES)?,
        Response::Guidance(words) => check_words("guidance", words, MAX_RESPONSE_BYTES)?,
        Response::Option(id) => check_option_id(id)?,
        Response::Proposal(default) => {
            default.as_ref().map_or(Ok(()), |id| check_option_id(id))?;
        }
        Response::Accept => {}
    }
    comment.map_or(Ok(()), |comment| check_length("comment", comment, MAX_RESPONSE_BYTES))
}

/// Checks that nobody takes the names that a new question chooses for others, and that a reader
/// finds something in each. What was recorded before this was asked for is not judged by it.
pub(crate) fn check_chosen_names(terms: &Terms) -> Result<(), No> {
    let mut issue_id = terms.issue_id.iter();
    issue_id.try_for_each(|name| {
        check_chosen_name("issue id", name)?;
        check_unlike_ids(name)
    })?;
    let mut blocks = terms.blocks.iter();
    blocks.try_for_each(|name| check_chosen_name("name of what is blocked", name))?;
    let mut approvers = terms.policy.iter().flat_map(|policy| policy.approvers.iter());
    approvers.try_for_each(|name| check_chosen_person("approver", name))
}

/// The name of somebody who is asked, or told of a question.
pub(crate) fn check_chosen_person(field: &'static str, name: &str) -> Result<(), No> {
    check_legible(field, name)?;
    check_plain_name(field, name, is_reserved_name)
}

fn check_chosen_name(field: &'static str, name: &str) -> Result<(), No> {
    check_legible(field, name)?;
    check_no_blank_around(field, name)
}

/// Checks that a reader finds something in every text of a new proposal.
pub(crate) fn check_chosen_words(proposal: &Proposal) -> Result<(), No> {
    check_found("prompt", &proposal.prompt)?;
    proposal.options.iter().try_for_each(|option| {
        check_found("short form of an option", &option.short)?;
        check_found("label of an option", &option.label)
    })
}

/// Checks an answer that is given now, as [`check_response_form`] does: a reader finds something in
/// it.
pub(crate) fn check_new_response(response: &Response, comment: Option<&str>) -> Result<(), No> {
    check_response_form(response, comment)?;
    match response {
        Response::Text(words) => check_found("text", words),
        Response::Guidance(words) => check_found("guidance", words),
        Response::Option(_) | Response::Proposal(_) | Response::Accept => Ok(()),
    }
}

fn check_found(field: &'static str, text: &str) -> Result<(), No> {
    if is_readable(text) { Ok(()) } else { Err(No::Missing { field }) }
}

/// Checks that an issue is not taken for an id, or for another name that says what it is of.
fn check_unlike_ids(issue: &str) -> Result<(), No> {
    let begins = OWN_PREFIXES.iter().chain(&NAME_PREFIXES).any(|prefix| issue.starts_with(prefix));
    match begins || issue.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Err(No::IssueLikeAnId { found: shown(issue) }),
        false => Ok(()),
    }
}

fn check_no_blank_around(field: &'static str, name: &str) -> Result<(), No> {
    let is_blank = |c: char| BLANK_CODE_POINTS.contains(&c);
    match name.starts_with(is_blank) || name.ends_with(is_blank) {
        true => Err(No::BlankAround { field, found: shown(name) }),
        false => Ok(()),
    }
}

/// A name that nobody takes for another one: no blanks around it, and not one of Holdpoint's own,
/// of which there were fewer once.
pub(crate) fn check_plain_name(
    field: &'static str,
    name: &str,
    is_own: fn(&str) -> bool,
) -> Result<(), No> {
    check_no_blank_around(field, name)?;
    check_unreserved(field, name, is_own)
}

fn check_unreserved(field: &'static str, name: &str, is_own: fn(&str) -> bool) -> Result<(), No> {
    match is_own(name) {
        true => Err(No::ReservedName { field, found: shown(name) }),
        false => Ok(()),
    }
}

/// Nobody is named in a policy, or granted anything, under a name of Holdpoint itself. What was
/// recorded before this was asked for is not judged by it.
pub(crate) fn check_none_reserved<'a>(
    field: &'static str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), No> {
    names.try_for_each(|name| check_unreserved(field, name, is_reserved_name))
}

/// Nobody else asks under the name of Holdpoint itself.
pub(crate) fn check_asks(by: &Principal) -> Result<(), No> {
    match by.is_holdpoint() {
        true => Err(No::ReservedName { field: "name of who asks", found: shown(&by.id) }),
        false => Ok(()),
    }
}

/// Something to read, within a bound.
fn check_words(field: &'static str, text: &str, limit: usize) -> Result<(), No> {
    if !has_visible_character(text) {
        return Err(No::Missing { field });
    }
    check_length(field, text, limit)
}

pub(crate) fn check_length(field: &'static str, text: &str, expected: usize) -> Result<(), No> {
    match text.len() {
        found if found > expected => Err(No::TooLong { field, expected, found }),
        _ => Ok(()),
    }
}

/// The refusal of a default.
pub(crate) fn bad_default(found: String, proposal: &Proposal) -> No {
    No::BadDefault { found, options: option_ids(proposal) }
}

/// The default of the proposal that takes the place of one: another, none where it is dropped, or
/// as before.
pub(crate) fn refined_default(
    before: &Proposal,
    default: Option<Text>,
    is_dropped: bool,
) -> Result<Option<Text>, No> {
    match default {
        Some(id) if is_dropped => {
            Err(bad_default(alloc::format!("both {} and dropped", shown(&id)), before))
        }
        None if is_dropped => Ok(None),
        named => Ok(named.or_else(|| before.default_option.clone())),
    }
}

/// The ids of the options, as a person reads them; nothing where there are none.
pub(crate) fn option_ids(proposal: &Proposal) -> String {
    let mut ids = String::new();
    for option in proposal.options.iter() {
        if !ids.is_empty() {
            ids.push_str(", ");
        }
        ids.push_str(&option.id);
    }
    ids
}

/// A text as a refusal shows it.
pub(crate) fn shown(text: &str) -> String {
    visible(bounded(text, SHOWN_BYTES)).to_string()
}

fn check_option(option: &DecisionOption) -> Result<(), No> {
    check_option_id(&option.id)?;
    check_words("short form of an option", &option.short, MAX_SHORT_BYTES)?;
    check_words("label of an option", &option.label, MAX_LABEL_BYTES)?;
    let description = option.description.as_deref().unwrap_or_default();
    check_length("description of an option", description, MAX_DESCRIPTION_BYTES)
}

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,31}`: what people can type, and tell apart.
fn check_option_id(id: &str) -> Result<(), No> {
    if id.starts_with('_') {
        return Err(No::ReservedOption { id: shown(id) });
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins_well = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins_well && id.len() <= MAX_OPTION_ID_BYTES && id.chars().all(is_plain) {
        true => Ok(()),
        false => Err(No::InvalidOptionId { id: shown(id) }),
    }
}

fn check_times(terms: &Terms, at: Timestamp) -> Result<(), No> {
    let bad = |field, found: String| Err(No::BadTimeout { field, found });
    if let Some(end) = terms.expires_at {
        let left_ms = end.nanoseconds_since(at) / 1_000_000;
        if end <= at || left_ms > MAX_TIMEOUT_MS {
            return bad("the end of the time", end.to_string());
        }
    }
    for (field, ms) in [
        ("the time of a round", terms.round_timeout_ms.unwrap_or(1)),
        ("the time to spend an approval", terms.valid_for_ms),
    ] {
        if !(1..=MAX_TIMEOUT_MS).contains(&ms) {
            return bad(field, alloc::format!("{ms} ms"));
        }
    }
    if terms.on_timeout == OnTimeout::Default && terms.proposal.default_option.is_none() {
        return Err(bad_default("missing".to_string(), &terms.proposal));
    }
    Ok(())
}

fn check_evidence(attachment: &EvidenceAttachment) -> Result<(), No> {
    check_words("label of the evidence", &attachment.label, MAX_ID_BYTES)?;
    check_words("media type of the evidence", &attachment.media_type, MAX_ID_BYTES)
}

/// Checks whether something can be bound to an action of this name. The form of what is claimed of
/// an outcome.
pub(crate) fn check_claim(claim: &OutcomeClaim) -> Result<(), No> {
    check_identifier("tool_use_id", &claim.tool_use_id)?;
    check_length("head", &claim.head, MAX_EXCERPT_BYTES)?;
    check_length("tail", &claim.tail, MAX_EXCERPT_BYTES)
}

pub(crate) fn check_binding(binding: &ActionBinding) -> Result<(), No> {
    Ok(check_identifier("tool", &binding.tool)?)
}

/// Checks that whoever answers has the number that is on record for the name, voted under no other
/// name, and is not the requester under another one. Returns the terms of the answer for that name.
pub(crate) fn check_number(
    people: &People,
    point: &DecisionPoint,
    id: &str,
    (terms, proof): (PersonTerms, Option<Proof>),
) -> Result<PersonTerms, No> {
    let decision_id = &*point.decision_id;
    let terms = people.in_point(decision_id, id, terms);
    if let Some(before) = people.voted_as(decision_id, id, proof) {
        return Err(No::SamePerson {
            decision_id: decision_id.to_string(),
            by: visible(id).to_string(),
            before: visible(before).to_string(),
        });
    }
    let requester = (&point.requested_by, terms.asked_by.unwrap_or(UNKNOWN_USER));
    let lets_requester = point.terms.policy.as_ref().is_none_or(|policy| policy.allow_requester);
    if !lets_requester && people.is_requester(decision_id, requester, proof) {
        let (decision_id, by) = (decision_id.to_string(), visible(id).to_string());
        return Err(No::SelfApproval { decision_id, by });
    }
    Ok(terms)
}

/// The options, each with a short form.
pub(crate) fn options(offered: &[DecisionOption]) -> Result<OptionList, No> {
    if offered.len() > MAX_OPTIONS {
        return Err(No::OptionCount { found: offered.len() });
    }
    let with_short = |option: &DecisionOption| {
        let short = if option.short.is_empty() { &option.id } else { &option.short };
        DecisionOption { short: short.clone(), ..option.clone() }
    };
    Ok(offered.iter().map(with_short).collect())
}

impl DecisionPoint {
    /// Checks whether somebody may revoke the approval: who asked, who answered, or an approver.
    /// Their names are proven where those of before were.
    pub(crate) fn check_revocation(&self, by: &Principal) -> Result<(), No> {
        let voters = self.votes.iter().map(|vote| &vote.by);
        let answered = self.ending.iter().filter_map(|ending| ending.by.as_ref());
        let mut involved = voters.chain(answered).chain([&self.requested_by]);
        let is_proven = |before: &Principal| {
            by.authenticated_by >= before.authenticated_by.min(Authentication::OsUser)
        };
        if involved.any(|before| before.id == by.id && is_proven(before)) {
            return Ok(());
        }
        match &self.terms.policy {
            Some(policy) => self.check_approver(policy, by),
            None => self.check_requester(by),
        }
    }

    /// Why an approval that was spent cannot be revoked: what it started.
    pub(crate) fn already_spent(&self, consumed: &Consumed) -> No {
        No::AlreadySpent {
            decision_id: self.decision_id.to_string(),
            at: consumed.at,
            by: name(&consumed.by),
            tool: self.binding().map(|to| visible(&to.tool).to_string()).unwrap_or_default(),
            sequence: consumed.sequence,
        }
    }

    pub(crate) fn revoke(&mut self, body: &ApprovalRevoked, at: Timestamp, sequence: u64) {
        let (by, reason) = (body.by.clone(), body.reason.clone());
        self.revoked = Some(Revocation { by, reason, at, sequence });
    }
}
