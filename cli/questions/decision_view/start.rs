//! A start as it is shown to whoever is to let it begin: the command first, what would run and what
//! is not bound, then who asks and where all else is.

use super::{Doubts, approval, time_left, votes, who};
use crate::args::Global;
use crate::questions::choice::DETAILS_HAS_ALL;
use crate::questions::hold_view::ROOT;
use crate::ui::named;
use crate::ui::program::program;
use crate::ui::screen::{PartTexts, PromptPart, brief, in_line};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{
    APPROVE, DENY, DecisionOption, DecisionPoint, DecisionPointState, OnTimeout,
};
use holdpoint_engine::shell::{NamedLine, StartSummary, carries_code};
use std::ffi::OsStr;

/// What a program opens of its own accord is never bound.
const BY_ITSELF: &str = "what it reads by itself: a Makefile, imports, files of `sh -c`";
/// Between a program and the directory that it runs in.
const IN: &str = ", in ";
/// The answers, and what the question before a start says of them.
const ANSWERS: [(&str, &str); 2] =
    [(APPROVE, "Start it, exactly so and once"), (DENY, "Do not start it")];

/// The question in so many lines at most, that are read at one look; `None` where it says more than
/// whether to start what its circumstances have, so that all of it is to be read.
pub(crate) fn lines(
    global: &Global,
    point: &DecisionPoint,
    summary: &StartSummary,
    (now, columns, most): (Time, usize, usize),
    doubts: Doubts,
) -> Option<Vec<String>> {
    if !asks_that_alone(point, summary) || doubts.of_records.is_some() || doubts.is_log_damaged {
        return None;
    }
    let (left, then) = match time_left(point, now).as_str() {
        "" => (String::new(), ""),
        "overdue" => ("; overdue".to_string(), ": nothing starts"),
        left => (format!("; {left} left"), ", then nothing starts"),
    };
    let by = who(&point.requested_by);
    let asked = [
        format!("asked by        {by}{left}{then}"),
        format!("asked by        {by}{left}"),
        format!("asked by {by}{left}"),
    ];
    let root = (doubts.asked_by == Some(ROOT)).then(|| "root is any approver".to_string());
    let approval = point.terms.policy.as_ref().map(approval);
    let approval: Vec<String> = approval.into_iter().chain(votes(point)).chain(root).collect();
    let named_files = if summary.binds_named_files { "" } else { "; files that it names" };
    let id = named(&point.decision_id);
    let ways = [
        format!("from elsewhere  `{} {APPROVE} {id}`, or {DENY}", program(&global.log)),
        format!("or `holdpoint {APPROVE} {id}`"),
    ];
    let mut parts = beside(summary);
    parts.extend([
        PromptPart::sentence(columns, ("asked by", 2), &asked),
        PromptPart::row(columns, ("approval", 4), &approval.join("; ")),
        PromptPart::row(columns, ("not bound", 5), &format!("{BY_ITSELF}{named_files}")),
        PromptPart::sentence(columns, ("from elsewhere", 0), &ways),
    ]);
    Some(brief(&in_line(&summary.command), &parts, (columns, most, DETAILS_HAS_ALL)))
}

/// What the command finds around it, and what of that is not bound.
fn beside(summary: &StartSummary) -> Vec<PromptPart> {
    let StartSummary { directory, program, .. } = summary;
    let is_told_apart = ![program, directory].iter().any(|path| path.contains(IN));
    let program = match is_told_apart {
        true => vec![format!("{program}{IN}{directory}")],
        false => vec![program.clone(), directory.clone()],
    };
    let value = |it: &NamedLine| format!("{} = {}", it.name, it.shown);
    let variables = summary.unbound.iter().map(|it| {
        let is_code = it.name == "PATH" || carries_code(OsStr::new(&it.name));
        let carries = if is_code { " (IT CARRIES CODE)" } else { "" };
        format!("{}{carries} = {} when it was asked", it.name, it.shown)
    });
    let mut unbound: Vec<_> = variables.chain(summary.unread.iter().map(value)).collect();
    unbound.sort_by_key(|it| !it.contains("(IT CARRIES CODE)"));
    let besides = summary.unbound_besides;
    unbound.extend((besides > 0).then(|| format!("{besides} more, which have no room here")));
    let parts = [
        ("program", 3, program),
        ("NOT bound", 1, unbound),
        ("code", 6, summary.code.iter().map(value).collect()),
        ("PATH", 7, summary.search.clone().into_iter().collect()),
        ("input", 8, summary.input.clone().into_iter().collect()),
        ("file", 9, summary.files.clone()),
    ];
    parts
        .into_iter()
        .map(|(name, rank, texts)| PromptPart(name, rank, PartTexts::Foreign(texts)))
        .collect()
}

/// Whether each answer does what the usual question of a start says, and silence starts nothing.
fn asks_that_alone(point: &DecisionPoint, summary: &StartSummary) -> bool {
    let proposal = &point.terms.proposal;
    let is_answer = |option: &DecisionOption| {
        let is_one = |(id, label): &(&str, &str)| *option.id == **id && *option.label == **label;
        ANSWERS.iter().any(is_one) && option.description.is_none()
    };
    summary.is_asked_as(&proposal.prompt)
        && point.state == DecisionPointState::Pending
        && point.guidance.is_none()
        && !point.terms.allow_text
        && point.terms.on_timeout == OnTimeout::Abort
        && proposal.options.iter().all(is_answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::question::known_decisions;
    use holdpoint_replay::{ReadOptions, rebuild_live};
    use std::path::PathBuf;

    /// Lines of a prompt of twelve that its own sentence and the answer leave.
    const MOST: usize = 9;

    fn global() -> Global {
        Global { log: PathBuf::from(".holdpoint"), config: None, json: false, lists: false }
    }

    /// An open question of a log that always comes out the same, and a moment.
    fn open_question() -> (DecisionPoint, Time) {
        let sample = Sample::guarded();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let rebuilt = rebuild_live(&sample.storage(), options, &mut |_| {}, &mut |_| {}).unwrap();
        let open = known_decisions(&rebuilt.world).find(|point| point.is_open()).unwrap();
        (open.clone(), sample.now)
    }

    /// A start with files that are bound and one that is not, of so many words.
    fn summary(words: usize) -> StartSummary {
        let named = |name: &str, shown: &str| NamedLine { name: name.into(), shown: shown.into() };
        StartSummary {
            command: "sh deploy.sh --env production ".repeat(words).trim_end().to_string(),
            directory: "/srv/shop".to_string(),
            program: "/usr/bin/dash".to_string(),
            input: None,
            files: (0..30).map(|at| format!("part-{at}.txt")).collect(),
            code: vec![named("PYTHONPATH", "/srv/lib")],
            search: None,
            unread: vec![named("deploy.sh", "as asked for"), named("/dev/null", "a device")],
            unbound: vec![named("GITHUB_OUTPUT", "/tmp/out")],
            unbound_besides: 0,
            binds_named_files: true,
            says_more: false,
        }
    }

    #[test]
    fn the_prompt_of_a_start_names_or_counts_what_is_not_bound_at_every_width() {
        let (mut point, now) = open_question();
        let labels = ANSWERS.map(|(_, label)| label);
        point.terms.proposal.options =
            DecisionOption::approve_or_deny([APPROVE, DENY], labels).into_iter().collect();
        for (name, words) in [("short", 1), ("long", 6)] {
            let summary = summary(words);
            point.terms.proposal.prompt = format!("Start `{}`?", summary.command).into();
            for columns in golden::COLUMNS {
                let seen = (now, columns, MOST);
                let shown = lines(&global(), &point, &summary, seen, Doubts::default()).unwrap();
                assert!(columns < 40 || shown.len() <= MOST, "{shown:#?}");
                assert!(shown.iter().any(|line| line.starts_with("|   NOT bound  = ")));
                golden::compare(&format!("start-{name}-prompt"), columns, &shown);
            }
        }
    }

    #[test]
    fn a_question_is_shown_whole_at_every_width() {
        let (point, now) = open_question();
        for columns in golden::COLUMNS {
            let doubts = Doubts::default();
            let shown = super::super::lines(&global(), &point, (now, columns), doubts);
            golden::compare("decision-show", columns, &shown);
        }
    }
}
