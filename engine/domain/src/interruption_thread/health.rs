//! HEALTH: what interruption continuity came to lately, as a pure fold over the log (seed,
//! "Reporting lock"). The rows are PH1.X's own audit rows; nothing else is asked.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::core::forbidden::{RefusalClass, Rules};
use crate::core::hash::sha256;
use crate::core::payload::Text;
use crate::core::text::is_blank;
use crate::core::time::Timestamp;
use crate::interruption_thread::decision::ENGINE_ID;
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{OutcomeRow, RowCommitted, RowRefused};
use crate::interruption_thread::types::{Fate, ReasonCode, ResumePolicy};

/// Reads the outcome that a row of any kind states, and its turn.
macro_rules! outcome {
    ($row:ident, $turn_id:expr) => {
        Outcome {
            tenant_id: &$row.tenant_id,
            correlation_id: &$row.correlation_id,
            reason_code: $row.reason_code,
            issue_fingerprint: $row.issue_fingerprint.as_ref(),
            turn_id: $turn_id,
        }
    };
}

/// The longest fingerprint, in bytes, its marker included.
pub const MAX_FINGERPRINT_BYTES: usize = 128;

/// Prefix of a fingerprint.
const MARKER: &str = "topic:";

/// The hexadecimal digits, with the dash before them, that tell apart topics whose tokens are
/// alike.
const SUFFIX_BYTES: usize = 33;

/// Number of those bytes by the rules before number 6.
const SUFFIX_BYTES_BEFORE: usize = 9;

/// Summary of what PH1.X's rows say about interruption continuity: for every tenant and issue the
/// newest outcome, and for every tenant how often something was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    rows: BTreeMap<(Text, Issue), HealthRow>,
    refusals: BTreeMap<Text, u64>,
}

/// One issue of one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HealthRow {
    /// Always `PH1.X`.
    pub owner_engine_id: &'static str,
    /// The tenant.
    pub tenant_id: Text,
    /// The thread of the newest outcome.
    pub correlation_id: Text,
    /// The newest outcome.
    pub latest_reason_code: ReasonCode,
    /// The topic marker, where the rows have one. Rows without one are one issue per thread.
    pub issue_fingerprint: Option<Text>,
    /// The turn of the newest outcome.
    pub latest_turn: u64,
    /// The sequence of its record.
    pub latest_sequence: u64,
    /// The time of its record.
    pub latest_at: Timestamp,
    /// Number of outcomes the issue has had.
    pub occurrences: u64,
}

/// Key that makes rows belong together. A thread that is named like a topic stays a thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Issue {
    Topic(Text),
    Thread(Text),
}

impl HealthReport {
    /// Takes one record into account: rows that carry an outcome of interruption continuity,
    /// committed, refused or by nobody's turn, and refusals. Any other event changes nothing.
    /// Records come in the order of the log.
    pub fn apply(&mut self, sequence: u64, at: Timestamp, event: &Event) {
        if let Event::RowCommitted(row) = event {
            if is_outcome(row) {
                self.count(sequence, at, &outcome!(row, Some(row.turn_id)));
            }
        } else if let Event::RowRefused(refused) = event {
            let count = self.refusals.entry(refused.tenant_id.clone()).or_default();
            *count = count.saturating_add(1);
            if is_outcome_of_refusal(refused) {
                self.count(sequence, at, &outcome!(refused, Some(refused.turn_id)));
            }
        } else {
            // Words that passed on to the next plan or turn came to nothing yet.
            // A request that ended is no outcome of an interruption; its words have rows. Neither
            // is the end of words that nobody surely interrupted.
            let is_outcome = |row: &OutcomeRow| {
                row.passed_to_turn.is_none() && row.pending_state.is_none() && !went_on(event)
            };
            let rows = event.outcome_rows().into_iter().filter(is_outcome);
            rows.for_each(|row| self.count(sequence, at, &outcome!(row, row.turn_id)));
        }
    }

    /// Every row, the newest outcome first.
    #[must_use]
    pub fn rows(&self) -> Vec<&HealthRow> {
        let mut rows: Vec<_> = self.rows.values().collect();
        rows.sort_by_key(|row| core::cmp::Reverse(row.latest_sequence));
        rows
    }

    /// Counts the refused turns and rows of each tenant.
    #[must_use]
    pub const fn refusals(&self) -> &BTreeMap<Text, u64> {
        &self.refusals
    }

    /// Counts the refused turns and rows of a tenant, by the tenant that the command named.
    #[must_use]
    pub fn refusals_of(&self, tenant_id: &str) -> u64 {
        self.refusals.get(&Text::from(tenant_id)).copied().unwrap_or_default()
    }

    fn count(&mut self, sequence: u64, at: Timestamp, outcome: &Outcome<'_>) {
        let Outcome { tenant_id, correlation_id, .. } = *outcome;
        let topic = outcome.issue_fingerprint.cloned();
        let issue = topic.map_or_else(|| Issue::Thread(correlation_id.clone()), Issue::Topic);
        let key = (tenant_id.clone(), issue);
        let known = self.rows.get(&key);
        let (before, turn) = known.map_or((0, 0), |known| (known.occurrences, known.latest_turn));
        let newest = HealthRow {
            owner_engine_id: ENGINE_ID,
            tenant_id: tenant_id.clone(),
            correlation_id: correlation_id.clone(),
            latest_reason_code: outcome.reason_code,
            issue_fingerprint: outcome.issue_fingerprint.cloned(),
            // Which turn a return check was about was not recorded at first.
            latest_turn: outcome.turn_id.unwrap_or(turn),
            latest_sequence: sequence,
            latest_at: at,
            occurrences: before.saturating_add(1),
        };
        self.rows.insert(key, newest);
    }
}

/// Statement of one row about interruption continuity.
struct Outcome<'a> {
    tenant_id: &'a Text,
    correlation_id: &'a Text,
    reason_code: ReasonCode,
    issue_fingerprint: Option<&'a Text>,
    turn_id: Option<u64>,
}

/// `rows`, the newest outcome first, and `refusals` by tenant.
impl Serialize for HealthReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("HealthReport", 2)?;
        report.serialize_field("rows", &self.rows())?;
        report.serialize_field("refusals", &self.refusals)?;
        report.end()
    }
}

/// Returns whether a row says what became of an interruption: an outcome of the branch table, or
/// words that were said together with what is kept in memory.
fn is_outcome(row: &RowCommitted) -> bool {
    let is_resumed = row.payload.interrupt_resume_policy == Some(ResumePolicy::ResumeNow);
    row.reason_code.is_branch_outcome() || is_resumed
}

/// Returns whether words of a plan went on being said.
const fn went_on(event: &Event) -> bool {
    matches!(event, Event::PlanEnded(of) if matches!(of.remainder.fate, Fate::Discarded))
}

/// Words that were lost with a refused turn, or a turn that did not fit what was interrupted. What
/// somebody says who is outside the scope is no outcome of the thread that they name.
fn is_outcome_of_refusal(row: &RowRefused) -> bool {
    let is_inside = row.class != RefusalClass::Scope;
    let is_lost = row.remainders.iter().any(|words| words.fate == Fate::Discarded);
    is_inside && (row.reason_code.is_branch_outcome() || is_lost)
}

/// The topic marker of a row: `topic:` and a token of ASCII letters, digits, `_`, `.` and `-`, at
/// most [`MAX_FINGERPRINT_BYTES`] in all. A topic that is not such a token, or that ends as the
/// marker of another topic does, gets `_` for every other character, is cut, and ends in `-` and 32
/// digits of its SHA-256: no two topics share a marker, but by a collision of these. `None` for a
/// blank topic.
#[must_use]
pub fn issue_fingerprint(topic: &str) -> Option<Text> {
    issue_fingerprint_by(Rules::NEWEST, topic)
}

/// The same by the rules of a number.
pub(crate) fn issue_fingerprint_by(rules: &Rules, topic: &str) -> Option<Text> {
    if is_blank(topic) {
        return None;
    }
    let mut marker = String::from(MARKER);
    let is_short = topic.len() <= MAX_FINGERPRINT_BYTES - MARKER.len();
    let is_made = rules.names_ends && ends_as_a_digest(topic);
    if is_short && !is_made && topic.chars().all(is_token) {
        marker.push_str(topic);
        return Some(Text::from(marker));
    }
    let suffix = if rules.names_ends { SUFFIX_BYTES } else { SUFFIX_BYTES_BEFORE };
    let kept = MAX_FINGERPRINT_BYTES.saturating_sub(MARKER.len()).saturating_sub(suffix);
    marker.extend(topic.chars().take(kept).map(|c| if is_token(c) { c } else { '_' }));
    marker.push('-');
    let digits = suffix.saturating_sub(1);
    marker.extend(alloc::format!("{}", sha256(topic.as_bytes())).chars().take(digits));
    Some(Text::from(marker))
}

fn ends_as_a_digest(topic: &str) -> bool {
    topic.rsplit_once('-').is_some_and(|(_, digits)| {
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        digits.len() == SUFFIX_BYTES - 1 && digits.bytes().all(is_digit)
    })
}

const fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}
