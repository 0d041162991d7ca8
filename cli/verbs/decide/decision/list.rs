//! `holdpoint decision list`: what waits for an answer.

use super::create::urgency;
use super::show::tell_place;
use crate::args::Global;
use crate::log::Directory;
use crate::log::archives::tell_archived;
use crate::log::at_point::parse_at;
use crate::log::clock::{self, Dated};
use crate::log::current_state::WholeArg;
use crate::log::decision_id::{all, known};
use crate::log::decision_points::{Linked, Look};
use crate::log::sessions::claimed;
use crate::questions::decision_view::{place, time_left};
use crate::ui::screen::{columns, in_row};
use crate::ui::table::{self, Column, Fit, NOTHING, column};
use crate::ui::time_format::span;
use crate::ui::{Exit, Failure, Output, Page, complain, counted, named};
use clap::builder::RangedU64ValueParser;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointState, MAX_CLOSED_DECISION_POINTS, Response, Urgency,
};
use holdpoint_domain::{Time, World};
use holdpoint_replay::Until;

/// `DP-` and so many digits are shown at least.
const SHORT_ID_BYTES: usize = 11;
/// How many lines of a prompt are listed.
const PROMPT_LINES: usize = 3;

const COLUMNS: [Column; 8] = [
    column("decision", 9, Fit::Whole),
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
    /// Only decisions in this state: `pending`, `refining` (the requester's turn), `resolved`,
    /// `iterated`, `expired`, `aborted`, `cancelled` or `superseded`; `open` is pending and
    /// refining, `all` is every one.
    #[arg(long, value_name = "STATE", default_value = "open", value_parser = state)]
    state: Wanted,
    /// Only decisions about this work item.
    #[arg(long, value_name = "ISSUE")]
    issue: Option<String>,
    /// Only decisions that this one asked for.
    #[arg(long, value_name = "NAME")]
    requested_by: Option<String>,
    /// Only decisions that press so much: low, medium or high.
    #[arg(long, value_name = "URGENCY", value_parser = urgency)]
    urgency: Option<Urgency>,
    /// Only decisions that wait although their time is over.
    #[arg(long)]
    overdue: bool,
    /// At most so many.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,
    /// Only those that come after this one in the order of the list.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// As they were after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at, conflicts_with = "whole")]
    at: Option<Until>,
    #[command(flatten)]
    whole: WholeArg,
}

/// In which state a decision is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    In(DecisionPointState),
    Open,
    All,
}

impl Wanted {
    /// Whether all that is so lives.
    fn is_live(self) -> bool {
        match self {
            Self::In(state) => state.is_open(),
            Self::Open => true,
            Self::All => false,
        }
    }

    fn is_met_by(self, state: DecisionPointState) -> bool {
        match self {
            Self::In(wanted) => wanted == state,
            Self::Open => state.is_open(),
            Self::All => true,
        }
    }
}

fn state(name: &str) -> Result<Wanted, String> {
    let wanted = match name {
        "open" => Some(Wanted::Open),
        "all" => Some(Wanted::All),
        _ => DecisionPointState::from_name(name).map(Wanted::In),
    };
    let names: Vec<&str> = DecisionPointState::ALL.iter().map(|state| state.name()).collect();
    wanted.ok_or_else(|| format!("write {}, open or all", names.join(", ")))
}

/// Lists the decisions, the most urgent first, then the oldest; exit 3 where there is no log.
/// Writes nothing: what is overdue is shown as that until somebody records it.
pub(super) fn list(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let look = args.look(global, &directory)?;
    look.expect_log(&directory)?;
    let after = args.after.as_deref().map(|wanted| look.find(wanted)).transpose()?;
    let mut found = args.select(look.world(), after, look.now());
    let behind = args.cut(&mut found);
    look.state.expect_known(global, &found)?;
    let is_now = args.at.is_none();
    let ahead_ns = clock::ahead_ns(look.world().totals().last_at).filter(|_| is_now);
    clock::tell(ahead_ns);
    let mut out = Output::stdout();
    if global.json {
        let shown = found.iter().map(|point| Dated::of(look.shown(point), ahead_ns));
        let shown: Vec<_> = shown.collect();
        out.json(&shown);
    } else {
        show(&mut out, &found, look.world(), look.now());
    }
    out.finish()?;
    if !global.json && found.is_empty() && !look.state.failed() {
        complain(args.nothing());
    }
    tell_behind(&found, behind);
    tell_place(args.at, &look);
    if !args.state.is_live() {
        tell_archived(&directory);
    }
    Ok(look.conclude(global, &found))
}

impl Args {
    /// The state, which is read as far back as what is asked for may lie.
    fn look(&self, global: &Global, directory: &Directory) -> Result<Look, Failure> {
        if let Some(at) = self.at {
            return Ok(Look::at(directory, at)?.seen_at(at));
        }
        let wanted: &Linked<'_> = &|world, now| self.links(global, world, now);
        match (self.state.is_live(), self.whole.whole) {
            (true, is_whole) => Look::live(directory, is_whole, wanted),
            (false, false) => Look::newest(directory, wanted),
            (false, true) => Look::at(directory, Until::End),
        }
    }

    /// What is listed whose links are shown: to people, none. `None` where a state does not tell of
    /// all that is wanted.
    fn links<'w>(
        &self,
        global: &Global,
        world: &'w World,
        now: Time,
    ) -> Option<Vec<&'w DecisionPoint>> {
        if !self.state.is_live() && world.forgets_decision_points() {
            return None;
        }
        let after = match &self.after {
            Some(wanted) => Some(known(world, wanted)?),
            None => None,
        };
        if !global.json {
            return Some(Vec::new());
        }
        let mut shown = self.select(world, after, now);
        self.cut(&mut shown);
        Some(shown)
    }

    /// What is wanted, in the order of the list.
    fn select<'w>(
        &self,
        world: &'w World,
        after: Option<&DecisionPoint>,
        now: Time,
    ) -> Vec<&'w DecisionPoint> {
        let wanted = all(world).filter(|point| self.wants(point, time_of(world, point, now)));
        let mut found: Vec<_> =
            wanted.filter(|point| after.is_none_or(|after| place(point) > place(after))).collect();
        found.sort_unstable_by_key(|point| place(point));
        found
    }

    /// Leaves as many as are listed, and says how many are behind those.
    fn cut(&self, found: &mut Vec<&DecisionPoint>) -> usize {
        let wanted = found.len();
        found.truncate(self.limit.unwrap_or(usize::MAX));
        wanted.saturating_sub(found.len())
    }

    /// That no decision is listed.
    fn nothing(&self) -> &'static str {
        let filters = [&self.issue, &self.requested_by, &self.after];
        let is_filtered = filters.iter().any(|filter| filter.is_some()) || self.urgency.is_some();
        match self.state {
            _ if self.at.is_some() => "no decision was like that then",
            Wanted::All if !is_filtered => "there is no decision",
            Wanted::Open | Wanted::In(DecisionPointState::Pending)
                if !is_filtered && !self.overdue =>
            {
                "nothing waits for an answer"
            }
            _ => "no decision is like that",
        }
    }

    fn wants(&self, point: &DecisionPoint, now: Time) -> bool {
        let issue = self.issue.as_deref();
        let requester = self.requested_by.as_deref();
        self.state.is_met_by(point.state)
            && issue.is_none_or(|issue| point.terms.issue_id.as_deref() == Some(issue))
            && requester.is_none_or(|name| *point.requested_by.id == *name)
            && self.urgency.is_none_or(|urgency| point.terms.urgency == urgency)
            && (!self.overdue || point.is_overdue(now))
    }
}

/// Says that there are more than are listed, and what shows them.
fn tell_behind(shown: &[&DecisionPoint], behind: usize) {
    if let Some(last) = shown.last().filter(|_| behind > 0) {
        complain(&format!(
            "{} behind the {} shown: `--limit N` shows N of them, `--after {}` goes on behind the \
             last one",
            counted(behind as u64, "decision"),
            shown.len(),
            last.decision_id
        ));
    }
}

fn show(out: &mut Output, found: &[&DecisionPoint], world: &World, now: Time) {
    if found.is_empty() {
        return;
    }
    lines(found, world, now, columns()).iter().for_each(|line| out.line(line));
}

/// The list, in so many columns: of each decision a row, and below it what is asked.
fn lines(found: &[&DecisionPoint], world: &World, now: Time, columns: usize) -> Vec<String> {
    let length = id_length(found, world);
    let rows: Vec<Vec<String>> =
        found.iter().map(|point| row(point, length, time_of(world, point, now))).collect();
    let mut rows = table::lines(&COLUMNS, &rows, columns).into_iter();
    let mut page = Page::new(columns);
    rows.next().iter().for_each(|titles| page.sentence(titles));
    for (row, point) in rows.zip(found) {
        page.sentence(&row);
        if let Some(doubt) = world.doubt_of_point(point) {
            page.sentence(&format!("  {doubt}, and permits nothing"));
        }
        let issue = point.terms.issue_id.as_deref().map(|issue| format!("{issue}: "));
        let asked = format!("{}{}", issue.unwrap_or_default(), point.terms.proposal.prompt);
        page.beginning(&asked, PROMPT_LINES);
    }
    page.lines()
}

/// The time by which a decision is overdue.
fn time_of(world: &World, point: &DecisionPoint, now: Time) -> Time {
    clock::time_of(world, &point.decision_id, now)
}

fn row(point: &DecisionPoint, id_length: usize, now: Time) -> Vec<String> {
    let (left, nothing) = (left(point, now), || NOTHING.to_string());
    vec![
        bounded(&point.decision_id, id_length).to_string(),
        point.state.to_string(),
        answer(point).unwrap_or_else(nothing),
        answerer(point).unwrap_or_else(nothing),
        means(point).unwrap_or_else(nothing),
        point.terms.urgency.to_string(),
        span(now.nanoseconds_since(point.created_at)),
        if left.is_empty() { nothing() } else { left },
    ]
}

/// What was answered, or is taken for the answer.
fn answer(point: &DecisionPoint) -> Option<String> {
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

/// By what means whoever ended it was known.
fn means(point: &DecisionPoint) -> Option<String> {
    let by = point.ending.as_ref()?.by.as_ref()?;
    Some(in_row(&by.means)).filter(|means| !means.is_empty())
}

/// Who ended it, with a question mark behind a name that nothing proves.
fn answerer(point: &DecisionPoint) -> Option<String> {
    let by = point.ending.as_ref()?.by.as_ref()?;
    Some(claimed(&by.id, by.authenticated_by == Authentication::None))
}

/// The time that is left, and whose turn it is where that is the requester's.
fn left(point: &DecisionPoint, now: Time) -> String {
    let turn = format!("{}'s turn", named(&point.requested_by.id));
    let turn = (point.state == DecisionPointState::Refining).then_some(turn);
    let time = Some(time_left(point, now)).filter(|time| !time.is_empty());
    time.into_iter().chain(turn).collect::<Vec<_>>().join(", ")
}

/// How much of an id tells each from every other that is listed, lives or ended lately.
fn id_length(found: &[&DecisionPoint], world: &World) -> usize {
    let older = world.closed_decision_points().count().saturating_sub(MAX_CLOSED_DECISION_POINTS);
    let known = world.live_decision_points().chain(world.closed_decision_points().skip(older));
    let known = known.chain(found.iter().copied());
    let mut ids: Vec<&str> = known.map(|point| point.decision_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let pairs = ids.iter().zip(ids.iter().skip(1));
    let alike = pairs.map(|(a, b)| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count());
    alike.max().map_or(0, |alike| alike.saturating_add(1)).max(SHORT_ID_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::{ReadOptions, rebuild_live};

    #[test]
    fn decisions_are_listed_with_whole_words_at_every_width() {
        let sample = Sample::guarded();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let rebuilt = rebuild_live(&sample.storage(), options, &mut |_| {}, &mut |_| {}).unwrap();
        let found: Vec<&DecisionPoint> = all(&rebuilt.world).collect();
        assert!(found.len() > 1);
        for columns in golden::COLUMNS {
            let shown = lines(&found, &rebuilt.world, sample.now, columns);
            golden::compare("decision-list", columns, &shown);
        }
    }
}
