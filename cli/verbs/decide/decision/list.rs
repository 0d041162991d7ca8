//! `holdpoint decision list`: the questions that wait for an answer.

use super::create::urgency;
use super::show::tell_place;
use crate::args::Global;
use crate::args::condition::{Condition, FilterFields, boolean};
use crate::log::archives::tell_archived;
use crate::log::at_point::parse_at;
use crate::log::clock::{self, Dated};
use crate::log::current_state::WholeArg;
use crate::log::question_look::{Linked, Look};
use crate::log::sessions::claimed;
use crate::log::{Directory, Question, recorders};
use crate::questions::question_filter::select_known;
use crate::ui::screen::{columns, in_row};
use crate::ui::short_id::told_apart;
use crate::ui::table::{self, Column, Fit, NOTHING, column};
use crate::ui::time_format::span;
use crate::ui::{Exit, Failure, Output, Page, complain, counted, named};
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::{DecisionPointState, DecisionPointView, Response};
use holdpoint_domain::{Time, World};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::Until;
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::question::{Kind, time_of};
use holdpoint_replay::question_filter::{QuestionFilter, StateFilter};

/// `DP-` and so many digits are shown at least.
const SHORT_ID_BYTES: usize = 11;
/// How many lines of a prompt are listed.
const PROMPT_LINES: usize = 3;

const COLUMNS: [Column; 8] = [
    column("question", 9, Fit::Whole),
    column("state", 7, Fit::Whole),
    column("answer", 6, Fit::Rest(7)),
    column("by", 5, Fit::Name),
    column("means", 2, Fit::Rest(8)),
    column("urgency", 4, Fit::Whole),
    column("age", 3, Fit::Whole),
    column("left", 8, Fit::Rest(7)),
];

/// Options of `decision list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Filter; all must match.
    ///
    /// `state`: `pending`, `refining` (the requester's turn), `resolved`, `iterated`, `expired`,
    /// `aborted`, `cancelled` or `superseded`; `open`, the default, is pending and refining; `all`
    /// is every state. `issue`: the work item. `requested_by`: the requester. `urgency`: low,
    /// medium or high. `overdue`: `true` for open questions past their deadline.
    #[arg(value_name = "FIELD=VALUE", value_parser = Condition::of::<QuestionFilter>)]
    wanted: Vec<Condition>,
    /// Limit to questions about an attempt of a run (`hold`), or to the others.
    #[arg(long, value_name = "KIND", value_parser = kind_parser())]
    kind: Option<Kind>,
    /// Maximum number of questions.
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,
    /// Start after this question in the order of the list.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// State after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at, conflicts_with = "whole")]
    at: Option<Until>,
    #[command(flatten)]
    whole: WholeArg,
}

fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    let kinds = [
        PossibleValue::new("hold").help("A request about an attempt of a run"),
        PossibleValue::new("decision").help("A decision point"),
    ];
    PossibleValuesParser::new(kinds)
        .map(|kind| if kind == "hold" { Kind::Hold } else { Kind::Decision })
}

fn state(name: &str) -> Result<StateFilter, String> {
    let state = match name {
        "open" => Some(StateFilter::Open),
        "all" => Some(StateFilter::All),
        _ => DecisionPointState::from_name(name).map(StateFilter::In),
    };
    let names: Vec<&str> = DecisionPointState::ALL.iter().map(|state| state.name()).collect();
    state.ok_or_else(|| format!("write {}, open or all", names.join(", ")))
}

impl FilterFields for QuestionFilter {
    const NAMES: &'static str = "state issue requested_by urgency overdue";

    fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
        match field {
            "state" => self.state = state(value)?,
            "issue" => self.issue = Some(value.to_string()),
            "requested_by" => self.requested_by = Some(value.to_string()),
            "urgency" => self.urgency = Some(urgency(value)?),
            _ => self.overdue = boolean(value)?,
        }
        Ok(())
    }
}

/// Lists questions, the most urgent first, then the oldest; exit 3 where there is no log. Writes
/// nothing: an overdue question is shown as overdue until a writer records its end.
pub(super) fn list(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let filter =
        QuestionFilter { kind: args.kind, after: args.after.clone(), ..Default::default() };
    let filter = Condition::put(&args.wanted, filter)?;
    let look = args.look(global, &filter, &directory)?;
    look.expect_log(&directory)?;
    let after = filter.after.as_deref().map(|wanted| look.state.find(wanted)).transpose()?;
    let mut found = filter.select(look.world(), after, look.now());
    let behind = args.cut(&mut found);
    look.state.expect_known(global, &found)?;
    let is_now = args.at.is_none();
    let ahead_ns = clock::ahead_ns(look.world().totals().last_at).filter(|_| is_now);
    clock::tell(ahead_ns);
    let recorder = |question| recorder(&directory.storage, question).filter(|_| is_now);
    let recorders: Vec<_> = found.iter().map(|question| recorder(*question)).collect();
    let mut out = Output::stdout();
    if global.json {
        let shown = found.iter().zip(&recorders).map(|(question, recorder)| {
            let view = look.view(*question).recorded_by(*recorder);
            let records = question.records(look.world());
            Dated::of(look.state.with_standing(view, records), ahead_ns)
        });
        out.json(&shown.collect::<Vec<_>>());
    } else if !found.is_empty() {
        let lines = lines(&found, &recorders, look.world(), look.now(), columns());
        lines.iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    if found.is_empty() && !look.state.failed() {
        tell_none(global, args, &filter, &directory);
    }
    tell_behind(&found, behind);
    tell_place(args.at, &look);
    if !filter.state.is_live() {
        tell_archived(&directory);
    }
    let exit = look.conclude(global, &found);
    if !look.state.failed() {
        expect_told(&found, &recorders)?;
    }
    Ok(exit)
}

impl Args {
    /// The state, which is read as far back as what is asked for may lie.
    fn look(
        &self,
        global: &Global,
        filter: &QuestionFilter,
        directory: &Directory,
    ) -> Result<Look, Failure> {
        if let Some(at) = self.at {
            return Ok(Look::at(directory, at)?.seen_at(at));
        }
        // People are shown no links.
        let limit = if global.json { self.limit.unwrap_or(usize::MAX) } else { 0 };
        let wanted: &Linked<'_> = &|world, now| select_known(filter, world, limit, now);
        match (filter.state.is_live(), self.whole.whole) {
            (true, is_whole) => Look::live(directory, is_whole, wanted),
            (false, false) => Look::newest(directory, wanted),
            (false, true) => Look::at(directory, Until::End),
        }
    }

    /// Leaves as many as are listed, and returns how many are behind those.
    fn cut(&self, found: &mut Vec<Question<'_>>) -> usize {
        let matching = found.len();
        found.truncate(self.limit.unwrap_or(usize::MAX));
        matching.saturating_sub(found.len())
    }
}

/// Returns what is known of the process that waits for the answer to a hold. Where it is gone,
/// nobody waits, and whoever writes next withdraws the question.
fn recorder(storage: &DirectoryStorage, question: Question<'_>) -> Option<Recorder> {
    let Question::Hold(Some(entity), held) = question else { return None };
    held.is_open().then(|| recorder_of(storage, entity.loop_id()))
}

/// Whoever was not told that a recorder is gone would wait for what nobody hears.
fn expect_told(found: &[Question<'_>], recorders: &[Option<Recorder>]) -> Result<(), Failure> {
    let mut both = found.iter().zip(recorders);
    let not_told = both.find(|(_, recorder)| **recorder == Some(Recorder::NotToBeTold));
    let Some((Question::Hold(_, held), _)) = not_told else { return Ok(()) };
    let name = named(&held.context.loop_id);
    Err(Failure::new(Exit::FAILED, "io", recorders::not_told(&name)))
}

/// Tells that the list is empty, or what may put a question that is not on record yet.
fn tell_none(global: &Global, args: &Args, filter: &QuestionFilter, directory: &Directory) {
    let may_ask = recorders::may_ask(&directory.storage);
    if let Some(sentence) = may_ask.filter(|_| args.at.is_none() && filter.state.is_live()) {
        return complain(&sentence);
    }
    if global.json {
        return;
    }
    let is_of_state = filter.is_of_state_alone();
    complain(match filter.state {
        _ if !is_of_state => "no matching questions",
        StateFilter::Open | StateFilter::In(DecisionPointState::Pending) => match args.at {
            Some(_) => "no pending questions then",
            None => "no pending questions",
        },
        StateFilter::All => "there is no question",
        StateFilter::In(_) => "no matching questions",
    });
}

/// Says that there are more than are listed, and what shows them.
fn tell_behind(shown: &[Question<'_>], behind: usize) {
    if let Some(last) = shown.last().filter(|_| behind > 0) {
        complain(&format!(
            "{} behind the {} shown: `--limit N` shows N of them, `--after {}` goes on behind the \
             last one",
            counted(behind as u64, "question"),
            shown.len(),
            last.id()
        ));
    }
}

/// The list, in so many columns: of each question a row, and below it what is asked.
fn lines(
    found: &[Question<'_>],
    recorders: &[Option<Recorder>],
    world: &World,
    now: Time,
    columns: usize,
) -> Vec<String> {
    // Told apart from every question that is remembered as well.
    let apart = told_apart(found.iter().copied().chain(Question::all(world)).map(Question::id));
    let length = found.iter().filter_map(|it| apart.get(it.id()).copied()).max();
    let length = length.unwrap_or(0).max(SHORT_ID_BYTES);
    let rows = found.iter().zip(recorders);
    let rows = rows.map(|(question, recorder)| row(*question, *recorder, length, world, now));
    let rows: Vec<Vec<String>> = rows.collect();
    let mut rows = table::lines(&COLUMNS, &rows, columns).into_iter();
    let mut page = Page::new(columns);
    rows.next().iter().for_each(|titles| page.sentence(titles));
    for ((row, question), recorder) in rows.zip(found).zip(recorders) {
        page.sentence(&row);
        notes(*question, *recorder, world).iter().for_each(|note| page.sentence(note));
        match question {
            Question::Hold(_, held) => {
                page.recorded_beginning(&held.context.command_line, PROMPT_LINES);
            }
            Question::Decision(point) => {
                let issue = question.issue().map(|issue| format!("{issue}: ")).unwrap_or_default();
                let prompt = &point.terms.proposal.prompt;
                page.beginning(&format!("{issue}{prompt}"), PROMPT_LINES);
            }
        }
    }
    page.lines()
}

/// What is to be known of a question beside its row.
fn notes(question: Question<'_>, recorder: Option<Recorder>, world: &World) -> Vec<String> {
    let doubt = question.doubt(world).map(|doubt| format!("  {doubt}, and permits nothing"));
    let gone = recorder.filter(|recorder| *recorder == Recorder::Gone);
    let gone = gone.map(|_| "  its recorder is gone".to_string());
    let passed_to = match question {
        Question::Hold(_, held) => held.context.asked_of.as_deref(),
        Question::Decision(_) => None,
    };
    let passed_to = passed_to.map(|name| format!("  passed to {}", named(name)));
    doubt.into_iter().chain(gone).chain(passed_to).collect()
}

fn row(
    question: Question<'_>,
    recorder: Option<Recorder>,
    id_length: usize,
    world: &World,
    now: Time,
) -> Vec<String> {
    let now = time_of(world, question.id(), now);
    let view = question.decision_view(world, now, None);
    let nothing = || NOTHING.to_string();
    let by = view.responded_by.filter(|_| view.authenticated_by.is_some());
    let is_claim = view.authenticated_by == Some(Authentication::None);
    let means = view.responded_means.map(in_row).filter(|means| !means.is_empty());
    vec![
        bounded(question.id(), id_length).to_string(),
        question.state().to_string(),
        answer(question, &view).unwrap_or_else(nothing),
        by.map_or_else(nothing, |by| claimed(by, is_claim)),
        means.unwrap_or_else(nothing),
        question.urgency().to_string(),
        span(now.nanoseconds_since(question.created_at())),
        left(question, recorder, now).unwrap_or_else(nothing),
    ]
}

/// What was answered, or is taken for the answer.
fn answer(question: Question<'_>, view: &DecisionPointView<'_>) -> Option<String> {
    let Question::Decision(point) = question else { return view.selected_option.map(named) };
    let ending = point.ending.as_ref()?;
    let said = ending.response.as_ref().map(|response| match response {
        Response::Option(id) => named(id),
        Response::Text(_) => "a text".to_string(),
        Response::Accept | Response::Proposal(None) => "accept".to_string(),
        Response::Proposal(Some(id)) => format!("accept: {}", named(id)),
        Response::Guidance(_) => "guidance".to_string(),
    });
    said.or_else(|| ending.default_taken.as_deref().map(|id| format!("default {}", named(id))))
}

/// The time that is left, and whose turn it is where that is the requester's.
fn left(question: Question<'_>, recorder: Option<Recorder>, now: Time) -> Option<String> {
    let end = match question {
        Question::Hold(..) if recorder == Some(Recorder::Gone) => return Some("none".to_string()),
        Question::Hold(_, held) => Some(held.request.timeout_at),
        Question::Decision(point) => point.terms.expires_at,
    };
    let time = end.filter(|_| question.is_open()).map(|end| match question.is_overdue(now) {
        true => "overdue".to_string(),
        false => span(end.nanoseconds_since(now)),
    });
    let turn = match question {
        Question::Decision(point) if point.state == DecisionPointState::Refining => {
            let by = &point.requested_by;
            let is_claim = by.authenticated_by == Authentication::None;
            Some(format!("turn of {}", claimed(&by.id, is_claim)))
        }
        Question::Decision(_) | Question::Hold(..) => None,
    };
    let both: Vec<String> = time.into_iter().chain(turn).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::{ReadOptions, rebuild_live};

    #[test]
    fn questions_are_listed_with_whole_words_at_every_width() {
        let sample = Sample::guarded();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let rebuilt = rebuild_live(&sample.storage(), options, &mut |_| {}, &mut |_| {}).unwrap();
        let found: Vec<Question> = Question::all(&rebuilt.world).collect();
        assert!(found.len() > 1);
        let none = vec![None; found.len()];
        for columns in golden::COLUMNS {
            let shown = lines(&found, &none, &rebuilt.world, sample.now, columns);
            golden::compare("decision-list", columns, &shown);
        }
    }
}
