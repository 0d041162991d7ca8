//! A question as it is shown: the curated summary and its circumstances, to a program and to a
//! person. There is no field for what is hidden.

use crate::args::Global;
use crate::questions::choice::DETAILS_HAS_ALL;
use crate::ui::program::program;
use crate::ui::screen::{PartTexts, PromptPart, brief, quoted, recorded_in_line};
use crate::ui::time_format::{span, took};
use crate::ui::{Page, moment, named};
use holdpoint_domain::Time;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::execution_loop::{ExecutorResponseType, Exit};
use holdpoint_domain::human_decision::{
    HeldRequest, HoldPolicy, HumanDecision, RequestOutcome, claimed, present_evidence,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_engine::shell::Question;
use std::time::Duration;

/// What is said of a question instead of what could be answered, once its time is over.
pub(crate) const ALL_OVER: &str = "expired; answers are no longer accepted";
/// What is said behind what becomes of it.
pub(crate) const RECORDED_NEXT: &str = ", and whoever writes to the log next records that";

/// The number of the user to whom everything is open.
pub(crate) const ROOT: u32 = 0;
/// What an answer proves where root asks.
pub(crate) const ROOT_IS_ALL: &str =
    "root is every approver; only a signature proves another person";

pub(crate) fn time_left(question: &Question, now: Time) -> Duration {
    Duration::from_nanos(question.held.request.timeout_at.nanoseconds_since(now))
}

/// The time that is left, for a person: `4m 12s`.
pub(crate) fn left(question: &Question, now: Time) -> String {
    if question.held.request.is_expired(now) {
        return "overdue".to_string();
    }
    span(question.held.request.timeout_at.nanoseconds_since(now))
}

/// The warning that 80 % of the time to answer a question are over, and what comes then.
pub(crate) fn warning_line(id: &str, left: Duration, then: &str) -> String {
    format!(
        "WARNING: 80 % of the time are over, {} left to answer {}; then {then}",
        span(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)),
        visible(id)
    )
}

/// The question for a person, in lines of so many columns: first what others wrote, behind a mark,
/// then what happened, why it is asked and what each answer does, and what is bound last, with the
/// codes and hashes where they are asked for. `program` is how this one is called for the log.
pub(crate) fn lines(
    question: &Question,
    now: Option<Time>,
    columns: usize,
    (program, is_verbose): (&str, bool),
) -> Vec<String> {
    let mut page = Page::new(columns);
    page.recorded("command", &question.context().command_line);
    for (field, value) in &question.disclosed {
        page.foreign(field.name(), &serde_json::to_string(value).unwrap_or_default());
    }
    let decided = question.held.decided().filter(|decided| !decided.record.is_timeout());
    let reason = decided.and_then(|decided| decided.record.reason.as_deref());
    reason.iter().for_each(|reason| page.foreign("reason", reason));
    page.row("what happened", &happened(question));
    page.row("attempt", &attempt(question));
    add_root(&mut page, question.asked_by.filter(|_| question.held.is_open()));
    add_answers(&mut page, question, now);
    page.sentence(&output_of(program, &question.held, question.hides_output));
    add_record(&mut page, question);
    match is_verbose {
        true => add_codes(&mut page, question),
        false => page.sentence(&format!(
            "`{program} decision show {} --verbose` has its codes and hashes",
            named(question.request_id())
        )),
    }
    page.lines()
}

/// Lines of a prompt, so many at most: the command, how the attempt ended, and what each answer
/// does.
pub(crate) fn brief_lines(
    question: &Question,
    now: Time,
    (columns, most): (usize, usize),
    program: &str,
) -> Vec<String> {
    let is_open = question.held.is_open() && !question.held.request.is_expired(now);
    let request = named(question.request_id());
    let ways = [
        format!("or by `{program} decision respond {request} CHOICE`"),
        format!("or `holdpoint approve {request}`"),
    ];
    let disclosed = question.disclosed.iter().map(|(field, value)| {
        format!("{} = {}", field.name(), serde_json::to_string(value).unwrap_or_default())
    });
    let root = if question.asked_by == Some(ROOT) { "root is every approver" } else { "" };
    let (mut answers, mut time) = (Page::new(columns), String::new());
    let rank = if is_open { 5 } else { 2 };
    match is_open {
        true => {
            time = format!("{} left, then ABORT", left(question, now));
            add_meanings(&mut answers, question);
        }
        false => add_answers(&mut answers, question, Some(now)),
    }
    let parts = [
        PromptPart("disclosed", 1, PartTexts::Foreign(disclosed.collect())),
        PromptPart::row(columns, ("what happened", 3), &happened(question)),
        PromptPart::row(columns, ("attempt", 4), &attempt(question)),
        PromptPart::row(columns, ("time", 2), &time),
        PromptPart::row(columns, ("asked as root", 6), root),
        PromptPart("answers", rank, PartTexts::Own(answers.lines())),
        PromptPart::sentence(columns, ("from elsewhere", 0), &ways),
    ];
    let command = recorded_in_line(&question.context().command_line);
    brief(&command, &parts, (columns, most, DETAILS_HAS_ALL))
}

/// Says who may answer where root asks: root is every approver.
pub(crate) fn add_root(page: &mut Page, asked_by: Option<u32>) {
    if asked_by == Some(ROOT) {
        page.row("asked as root", ROOT_IS_ALL);
    }
}

/// The words in the place of an output that floors hide.
pub(crate) const HIDDEN: &str =
    "what it printed is not shown while this is open (hold.show_output = false)";

/// The command that shows what the attempt printed that a question is about; where that is hidden
/// while it is open, that it is.
pub(crate) fn output_of(program: &str, held: &HeldRequest, is_hidden: bool) -> String {
    if is_hidden && held.is_open() {
        return HIDDEN.to_string();
    }
    let (run, attempt) = (named(&held.context.loop_id), held.context.attempt);
    format!(
        "`{program} output {run} --attempt {attempt}` has the output, which is no part of the \
         decision"
    )
}

/// The attempt, and why that is a question.
fn attempt(question: &Question) -> String {
    let (attempt, most) = (question.context().attempt, question.max_attempts);
    let left = if attempt < most { "" } else { ", the last one" };
    format!("{attempt} of {most}{left}; {}", why(question))
}

/// How an attempt ended, in words.
fn happened(question: &Question) -> String {
    let Some(observed) = question.held.request.evidence_summary.observed else {
        return "not told: the question is older than this part of it".to_string();
    };
    let ended = match observed.exit {
        Exit::Unknown => "it ended, how is not known".to_string(),
        Exit::Status(status) => format!("it ended with exit status {status}"),
        Exit::Signal(signal) => format!("it was killed by signal {signal}"),
    };
    let after = observed.duration_ns.map(|duration| format!(" after {}", took(duration)));
    let fault = observed.fault_type.map(|fault| format!("; {}", fault_words(fault)));
    let (after, fault) = (after.unwrap_or_default(), fault.unwrap_or_default());
    let whence =
        if question.is_reported { "; its recorder was told so: nobody observed it" } else { "" };
    format!("{ended}{after}{fault}{whence}")
}

const fn fault_words(fault: ExecutionFaultType) -> &'static str {
    match fault {
        ExecutionFaultType::Crash => "it crashed",
        ExecutionFaultType::Timeout => "its time was over",
        ExecutionFaultType::Partial => "its output is not whole",
        ExecutionFaultType::InvalidResponse => "its output is not what it should be",
        ExecutionFaultType::ResourceExhausted => "it used up what it was given",
        ExecutionFaultType::SecurityViolation => "it tried what it may not do",
    }
}

fn why(question: &Question) -> String {
    match (question.context().asked_of.as_deref(), question.policy) {
        (Some(name), _) => format!("passed on to {}", named(name)),
        (None, HoldPolicy::After) => "asked after every attempt".to_string(),
        (None, HoldPolicy::OnFailure) => "asked after every failed attempt".to_string(),
        (None, HoldPolicy::Never) => "somebody wanted a person to decide".to_string(),
    }
}

/// What may be answered until when, or what was.
fn add_answers(page: &mut Page, question: &Question, now: Option<Time>) {
    let request = &question.held.request;
    if question.held.is_open() && now.is_some_and(|now| request.is_expired(now)) {
        let since = moment(request.timeout_at);
        page.row("time", &format!("over since {since}: ABORT{RECORDED_NEXT}"));
        page.sentence(ALL_OVER);
    } else if question.held.is_open() {
        let left = now.map(|now| format!("{} left, ", left(question, now))).unwrap_or_default();
        let until = moment(request.timeout_at);
        page.row("time", &format!("{left}until {until}; then ABORT"));
        page.sentence("answers");
        add_meanings(page, question);
    }
    question.held.outcome.iter().for_each(|outcome| page.sentence(&outcome_line(outcome)));
    if question.held.late_answers > 0 {
        let count = question.held.late_answers;
        page.row("late answers", &format!("{count}, which do not count"));
    }
}

/// What each answer does.
fn add_meanings(page: &mut Page, question: &Question) {
    let offered = question.held.request.allowed_decisions.iter();
    offered.for_each(|decision| page.sentence(&meaning(question, *decision)));
}

/// What else the decision binds, in words, and what stands for all of it.
fn add_record(page: &mut Page, question: &Question) {
    let summary = present_evidence(&question.held.request);
    let context = question.context();
    page.sentence("for the record");
    page.row("request", &named(question.request_id()));
    page.row("run", &named(&context.loop_id));
    context.escalated_from.iter().for_each(|request| page.row("passed on from", &named(request)));
    let (claim, confidence) = (claim_words(context.executor_claim), summary.confidence_score);
    let observed = if question.is_reported { "by nobody" } else { "by its recorder" };
    page.row("observed", observed);
    page.row("claimed", &format!("{claim}, confidence {confidence} of 1, unverified"));
    let (count, newest) = (summary.chain_length, named(&summary.timestamp));
    page.row("evidence", &format!("{count} records, the newest of {newest}"));
    page.row("answer binds", &question.held.shown_hash().to_string());
}

/// The codes and hashes.
fn add_codes(page: &mut Page, question: &Question) {
    let summary = present_evidence(&question.held.request);
    let context = question.context();
    page.sentence("codes and hashes");
    page.row("result", &claimed(context.executor_claim));
    let fault = summary.observed.as_ref().and_then(|observed| observed.fault_type);
    fault.iter().for_each(|fault| page.row("fault", fault.name()));
    page.row("state", summary.execution_state.name());
    let (newest, place) = (summary.evidence_type, summary.observation_point);
    page.row("newest", &format!("{newest} at {place}"));
    page.row("chain hash", &named(&summary.chain_hash));
    page.row("self hash", &named(&context.self_hash));
    page.row("prior hash", &named(&context.prior_hash));
}

/// What an executor claims of itself.
const fn claim_words(claim: ExecutorResponseType) -> &'static str {
    match claim {
        ExecutorResponseType::Success => "that it succeeded",
        ExecutorResponseType::Failure => "that it failed",
        ExecutorResponseType::Timeout => "that its time was over",
        ExecutorResponseType::Partial => "that it is done in part",
        ExecutorResponseType::Malformed => "something that could not be read",
    }
}

/// What a decision does, here and now.
fn meaning(question: &Question, decision: HumanDecision) -> String {
    let next = question.context().attempt.saturating_add(1);
    let targets: Vec<String> = question.targets.iter().map(|target| named(target)).collect();
    let means = match decision {
        HumanDecision::Continue if question.is_reported && next > question.max_attempts => {
            "leave the loop as this attempt left it: no attempt is left, and it may be ended".into()
        }
        HumanDecision::Continue if question.is_reported => {
            "let the loop go on: its next instruction may be given, or it may be ended".into()
        }
        HumanDecision::Continue => "end the run here, as this attempt left it".to_string(),
        HumanDecision::Retry => {
            let most = question.max_attempts;
            format!("run again, as attempt {next} of {most}; say why")
        }
        HumanDecision::Abort => "stop the run".to_string(),
        HumanDecision::Escalate => {
            format!("ask {} instead; say why", targets.join(" or "))
        }
    };
    format!("  {:<12}  {means}", decision.name())
}

/// What became of a question, on one line.
pub(crate) fn outcome_line(outcome: &RequestOutcome) -> String {
    match outcome {
        RequestOutcome::Withdrawn { at, sequence } => {
            format!("withdrawn       {}, record {sequence}: the run had ended", moment(*at))
        }
        RequestOutcome::Decided(decided) if decided.record.is_timeout() => {
            let (decision, at) = (decided.record.decision, moment(decided.at));
            let sequence = decided.sequence;
            format!("decided         {decision}, on expiry, {at}, record {sequence}")
        }
        RequestOutcome::Decided(decided) => {
            let record = &decided.record;
            let to = record.escalation_target.as_deref();
            let to = to.map(|target| format!(" to {}", named(target))).unwrap_or_default();
            let why = record.reason.as_deref();
            let why = why.map(|reason| format!(": {}", quoted(reason))).unwrap_or_default();
            format!(
                "decided         {}{to} by {}, {}, record {}{why}",
                record.decision,
                named(&record.human_id),
                moment(decided.at),
                decided.sequence
            )
        }
    }
}

/// The same in a sentence.
pub(crate) fn outcome_words(outcome: &RequestOutcome) -> String {
    outcome_line(outcome).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words that are allowed here, and the commands by which a question is looked at and answered
/// from another terminal.
pub(crate) fn how_to_answer(global: &Global, question: &Question) -> String {
    let (program, request) = (program(&global.log), named(question.request_id()));
    let allowed = &question.held.request.allowed_decisions;
    let names: Vec<&str> = allowed.iter().map(|decision| decision.name()).collect();
    format!(
        "its words are {}\n  {program} decision show {request}\n  {program} decision respond \
         {request} CHOICE",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use holdpoint_testing::story::Story;

    /// A question about an attempt that ended so.
    fn question(exit: Exit, fault_type: Option<ExecutionFaultType>) -> Question {
        let story = Story::asked();
        let mut question = Question::of(story.entity(), story.held());
        let observed = question.held.request.evidence_summary.observed.as_mut().unwrap();
        (observed.exit, observed.fault_type) = (exit, fault_type);
        observed.duration_ns = Some(3_200_000_000);
        question.is_reported = false;
        question
    }

    #[test]
    fn what_its_recorder_was_told_is_not_called_observed() {
        let mut question = question(Exit::Status(0), None);
        let told = |question: &Question| shown(question, 200).join("\n");
        assert!(told(&question).contains("observed        by its recorder"));
        question.is_reported = true;
        let told = told(&question);
        assert!(told.contains("nobody observed it") && !told.contains("by its recorder"));
    }

    fn shown(question: &Question, columns: usize) -> Vec<String> {
        let now = question.held.request.created_at;
        lines(question, Some(now), columns, ("holdpoint", false))
    }

    /// Lines of a prompt of twelve that its own sentence and the answer leave.
    const PROMPT_LINES: usize = 9;

    fn prompt(question: &Question, columns: usize) -> Vec<String> {
        let now = question.held.request.created_at;
        brief_lines(question, now, (columns, PROMPT_LINES), "holdpoint")
    }

    #[test]
    fn at_a_prompt_the_command_is_first_and_no_more_lines_than_are_read_at_one_look() {
        for fault in ExecutionFaultType::ALL {
            for words in [1, 40, 4000] {
                let mut question = question(Exit::Status(127), Some(*fault));
                question.asked_by = Some(ROOT);
                question.held.context.command_line = "deploy ".repeat(words).trim_end().into();
                for columns in [40, 41, 59, 60, 61, 80, 120, 200] {
                    let shown = prompt(&question, columns);
                    assert!(shown.len() <= PROMPT_LINES, "{shown:#?}");
                    assert!(shown[0].starts_with("| deploy"), "{shown:#?}");
                    let all = shown.join(" ");
                    let ways = ["or by `holdpoint decision", "or `holdpoint approve"];
                    assert!(ways.iter().any(|way| all.contains(way)), "{all}");
                    assert!(all.contains(" left, then ABORT"), "{all}");
                    let is_cut = all.contains("more lines; `details` shows all");
                    assert!(is_cut || words < 4000, "{shown:#?}");
                }
            }
        }
    }

    #[test]
    fn a_question_tells_what_happened_first_and_hashes_last_at_every_width() {
        let crash = question(Exit::Signal(11), Some(ExecutionFaultType::Crash));
        let mut before = question(Exit::Unknown, None);
        before.held.request.evidence_summary.observed = None;
        let questions =
            [("failed", question(Exit::Status(1), None)), ("crashed", crash), ("before", before)];
        for (name, question) in questions {
            for columns in golden::COLUMNS {
                golden::compare(&format!("hold-{name}"), columns, &shown(&question, columns));
                golden::compare(
                    &format!("hold-{name}-prompt"),
                    columns,
                    &prompt(&question, columns),
                );
            }
        }
    }

    #[test]
    fn a_question_whose_time_is_over_offers_nothing_and_says_what_happens_now() {
        let question = question(Exit::Status(1), None);
        for columns in golden::COLUMNS {
            let over = question.held.request.timeout_at;
            let shown = lines(&question, Some(over), columns, ("holdpoint", false));
            golden::compare("hold-over", columns, &shown);
        }
    }

    #[test]
    fn a_question_is_told_in_plain_words_and_its_codes_where_they_are_asked_for() {
        for fault in ExecutionFaultType::ALL {
            let question = question(Exit::Unknown, Some(*fault));
            let plain = shown(&question, 120).join("\n");
            assert!(plain.contains(fault_words(*fault)), "{plain}");
            let codes = [fault.name(), "CLAIMED FAILURE", "EVALUATED", "POST_EVALUATE"];
            let verbose = lines(&question, None, 120, ("holdpoint", true)).join("\n");
            for code in codes {
                assert!(!plain.contains(code) && verbose.contains(code), "{plain}\n{verbose}");
            }
        }
    }

    #[test]
    fn what_an_executor_claims_is_told_as_that() {
        for claim in ExecutorResponseType::ALL {
            let mut question = question(Exit::Status(1), None);
            question.held.context.executor_claim = *claim;
            let plain = shown(&question, 120).join("\n");
            let told = format!("claimed         {}, ", claim_words(*claim));
            assert!(plain.contains(&told) && plain.contains("unverified"), "{plain}");
        }
    }

    #[test]
    fn a_timeout_is_no_answer_of_anybody() {
        let mut story = Story::asked();
        story.wait(2_000);
        let expire = story.expire(story.held().request_id());
        story.given(expire);
        let outcome = story.held().outcome.clone().unwrap();
        let line = outcome_line(&outcome);
        assert!(line.contains("ABORT, on expiry"), "{line}");
        assert!(!line.contains("TIMEOUT"), "{line}");
    }
}
