//! `holdpoint decision list`: what waits for an answer.

use super::create::urgency;
use super::shown::{span, time_left};
use super::{Look, all};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure, complain};
use crate::output::Output;
use crate::screen::{Page, columns};
use crate::text::aligned;
use crate::verify::{exit_of, refuse_damaged_list, warn};
use clap::builder::RangedU64ValueParser;
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{DecisionPointState, Urgency};
use holdpoint_domain::text::bounded;
use holdpoint_domain::world::{DecisionPoint, DecisionPointView};
use holdpoint_replay::Until;
use std::cmp::Reverse;

/// `DP-` and so many digits are shown at least.
const SHORT_ID_BYTES: usize = 11;
/// How many lines of a prompt are listed.
const PROMPT_LINES: usize = 3;

/// Options of `decision list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only decisions in this state: `pending`, `refining` (the requester's turn), `resolved`,
    /// `iterated`, `expired`, `aborted`, `cancelled` or `superseded`; `open` is pending and
    /// refining, `all` is every one.
    #[arg(long, value_name = "STATE", default_value = "pending", value_parser = state)]
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
}

/// In which state a decision is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    In(DecisionPointState),
    Open,
    All,
}

impl Wanted {
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
    let look = Look::at(&directory, Until::End)?;
    let report = &look.rebuilt.report;
    directory.expect_log(report)?;
    refuse_damaged_list(global, report)?;
    let after = args.after.as_deref().map(|wanted| look.find(wanted)).transpose()?.map(place);
    let mut found: Vec<&DecisionPoint> = all(&look.rebuilt.world).collect();
    found.sort_unstable_by_key(|point| place(point));
    let known: Vec<&DecisionPoint> = found.clone();
    found.retain(|point| args.wants(point, look.now()));
    found.retain(|point| after.as_ref().is_none_or(|after| place(point) > *after));
    found.truncate(args.limit.unwrap_or(usize::MAX));
    let mut out = Output::stdout();
    if global.json {
        let views: Vec<DecisionPointView<'_>> = found.iter().map(|p| look.view(p)).collect();
        out.json(&views);
    } else {
        show(&mut out, &found, &known, look.now());
    }
    out.finish()?;
    if !global.json && found.is_empty() && !report.failed() {
        complain(args.nothing());
    }
    warn(report);
    Ok(exit_of(report))
}

/// What the order of the list follows from: how much it presses, then its age. Two decisions never
/// have the same place, and neither moves while others come and go.
pub(crate) fn place(point: &DecisionPoint) -> (Reverse<Urgency>, Time, u64) {
    (Reverse(point.terms.urgency), point.created_at, point.created_sequence)
}

impl Args {
    /// That no decision is listed.
    fn nothing(&self) -> &'static str {
        let filters = [&self.issue, &self.requested_by, &self.after];
        let is_filtered = filters.iter().any(|filter| filter.is_some()) || self.urgency.is_some();
        match self.state {
            Wanted::All if !is_filtered => "there is no decision",
            Wanted::In(DecisionPointState::Pending) if !is_filtered && !self.overdue => {
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

fn show(out: &mut Output, found: &[&DecisionPoint], known: &[&DecisionPoint], now: Time) {
    if found.is_empty() {
        return;
    }
    let length = id_length(known);
    let header = ["decision", "state", "urgency", "age", "left"];
    let rows = found.iter().map(|point| row(point, length, now));
    let rows: Vec<_> = std::iter::once(header.map(String::from)).chain(rows).collect();
    let mut page = Page::new(columns());
    let mut rows = aligned(&rows).into_iter();
    rows.next().iter().for_each(|header| page.sentence(header));
    for (row, point) in rows.zip(found) {
        page.sentence(&row);
        let issue = point.terms.issue_id.as_deref().map(|issue| format!("{issue}: "));
        let asked = format!("{}{}", issue.unwrap_or_default(), point.terms.proposal.prompt);
        page.beginning(&asked, PROMPT_LINES);
    }
    page.lines().iter().for_each(|line| out.line(line));
}

fn row(point: &DecisionPoint, id_length: usize, now: Time) -> [String; 5] {
    [
        bounded(&point.decision_id, id_length).to_string(),
        point.state.to_string(),
        point.terms.urgency.to_string(),
        span(now.nanoseconds_since(point.created_at)),
        time_left(point, now),
    ]
}

/// How much of an id tells each from every other.
fn id_length(known: &[&DecisionPoint]) -> usize {
    let mut ids: Vec<&str> = known.iter().map(|point| point.decision_id.as_str()).collect();
    ids.sort_unstable();
    let pairs = ids.iter().zip(ids.iter().skip(1));
    let alike = pairs.map(|(a, b)| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count());
    alike.max().map_or(0, |alike| alike.saturating_add(1)).max(SHORT_ID_BYTES)
}
