//! The four things that a verification says apart, and the verdict that follows from them.

use crate::anchor::Before;
use crate::finding::{Finding, Problem};
use crate::meaning::{Meaning, Stopped, UnderRules, Unjudged};
use crate::read::Reading;
use crate::report::{Axes, Axis, AxisState, Report, Unproven, Verdict};
use crate::tell::named_by_application;
use crate::verify::{OutsideState, Witnessed};
use holdpoint_log_files::later::Later;
use holdpoint_log_files::{Place, Problem as LogProblem, records_named};
use holdpoint_log_format::recovery::{Row, Verdict as LogVerdict};

const NO_LOG: &str = "there is no log here";

/// Message about a log with an identity of its own, whose first records are in the archive of
/// another.
const NO_ARCHIVE_FITS: &str = "this log was made by salvage, so no archive fits it";

/// Message where each event is taken as it was recorded.
const NOT_JUDGED: &str = "no event was judged: `holdpoint verify` judges them";

/// The report of a reading. `meaning` is what its events gave, or `None` when nobody looked.
pub(crate) fn report(reading: Reading, meaning: Option<&Meaning>) -> Report {
    let archives = reading.archives.clone();
    let located = |finding: &Finding| finding.clone().located(&archives);
    let bytes: Vec<Finding> = findings_of_bytes(&reading).iter().map(located).collect();
    let judged: Vec<Finding> =
        meaning.iter().flat_map(|meaning| &meaning.findings).map(located).collect();
    let axes = Axes {
        integrity: integrity(&reading, &bytes),
        completeness: completeness(&reading, &bytes, meaning),
        authenticity: authenticity(),
        meaning: meaning_axis(&reading, meaning, &judged),
    };
    let verdict = verdict(&reading, &axes);
    let mut report = Report::of_reading(reading, axes, verdict);
    report.findings = bytes;
    if let Some(meaning) = meaning {
        report.findings.extend(judged);
        report.findings_left_out = meaning.left_out;
        report.take_archived(meaning.archived.clone());
        report.uncompared = uncompared(meaning);
        report.is_salvaged = meaning.is_salvaged();
        report.notes = meaning.notes.iter().map(located).collect();
        report.notes_left_out = meaning.notes_left_out;
        report.take_state(&meaning.world);
        report.not_judged_from = meaning.unknown.as_ref().map(|it| it.place.sequence);
    }
    report.say_limits();
    report
}

impl Report {
    /// Takes up what came of comparing heads from outside: one that the log does not agree with is
    /// a finding.
    pub(crate) fn take_heads(&mut self, heads: Vec<Witnessed>) {
        self.heads = heads;
        if self.heads.is_empty() || self.verdict == Verdict::NothingHere {
            return;
        }
        self.axes.authenticity = authenticity_by(&self.heads);
        let newest = self.head.as_ref().map_or(0, |head| head.sequence);
        self.reach.take_outside(self.proven_outside(), newest);
        for head in self.heads.iter().filter(|head| head.state.is_refuted()) {
            let place = Place { file: head.from.clone(), offset: 0, sequence: head.sequence };
            let problem = Problem::OutsideHead(Box::new(head.clone()));
            self.findings.push(Finding { place, problem });
        }
        let missing = self.heads.iter().find(|head| head.state == OutsideState::Missing);
        if let Some(head) = missing {
            self.axes.completeness = failed(refutation(head));
        }
        if self.axes.authenticity.state == AxisState::Failed {
            self.verdict = Verdict::Corrupt;
        }
        self.say_limits();
    }

    /// Takes up what else was found about what the report is of, and is not in it yet.
    pub(crate) fn take_findings(&mut self, found: &[Finding]) {
        for finding in found {
            if self.findings.iter().all(|it| it.place != finding.place) {
                self.findings.push(finding.clone());
            }
        }
        if !self.findings.is_empty() && !self.failed() && self.verdict != Verdict::NothingHere {
            self.verdict = Verdict::by(&self.findings);
        }
    }

    /// Takes up why the state did not reach what was asked for.
    pub(crate) fn take_unread<'f>(&mut self, unread: impl IntoIterator<Item = &'f Finding>) {
        let archives = self.archives.clone();
        let located = unread.into_iter().map(|finding| finding.clone().located(&archives));
        self.take_findings(&located.collect::<Vec<_>>());
    }

    /// Keeps the first finding alone.
    pub(crate) fn stop_at_first(&mut self) {
        self.stopped_early = !self.findings.is_empty();
        let others = self.findings.len().saturating_sub(1) as u64;
        self.findings_left_out = self.findings_left_out.saturating_add(others);
        self.findings.truncate(1);
        self.say_limits();
    }

    /// Says what was not checked, and what nothing in here can prove.
    fn say_limits(&mut self) {
        if self.verdict == Verdict::NothingHere {
            return;
        }
        self.not_checked = not_checked_of(self);
        self.beyond_proof = beyond_proof_of(self);
    }
}

impl Verdict {
    /// The verdict by what was found, where that is something.
    #[must_use]
    pub fn by(findings: &[Finding]) -> Self {
        let is_of_bytes = findings.iter().any(|it| is_change(it) || is_loss(it));
        match findings.iter().all(Finding::is_of_unknown_kind) {
            true => Self::Unknown,
            false if findings.iter().all(is_short) => Self::ShortOfHead,
            false if is_of_bytes => Self::Corrupt,
            false => Self::ForbiddenEvents,
        }
    }
}

fn not_checked_of(report: &Report) -> Vec<String> {
    let not_checked =
        report.axes.all().into_iter().filter(|(_, axis)| axis.state == AxisState::NotChecked);
    let mut told: Vec<String> =
        not_checked.map(|(name, axis)| format!("{name}: {}", axis.reason)).collect();
    if report.stopped_early {
        told.push("what lies behind the first finding: the verification stopped there".into());
    }
    if report.withheld > 0 {
        told.push(format!("the payloads of {} withheld records", report.withheld));
    }
    told.extend(report.uncompared.clone());
    for head in report.heads.iter().filter(|head| head.state.is_open()) {
        told.push(format!("the head kept outside for record {}: {}", head.sequence, head.state));
    }
    told
}

fn beyond_proof_of(report: &Report) -> Vec<String> {
    let newest = report.head.as_ref().map_or(0, |head| head.sequence).max(report.mark);
    let rewritten = match report.proven_outside() {
        0 => "that nobody wrote the whole log anew, or put an older copy in its place: compare it \
              with a head that was kept elsewhere, with `--head FILE`"
            .to_string(),
        proven => format!(
            "that nobody wrote the records behind record {proven} anew, the newest that a head \
             kept outside names"
        ),
    };
    let cut = format!(
        "that there was nothing behind record {newest} which was cut off together with every mark \
         of it"
    );
    vec![rewritten, cut, "who wrote it: nothing is signed".to_string()]
}

pub(crate) fn authenticity_by(heads: &[Witnessed]) -> Axis {
    let refuted = heads.iter().find(|head| head.state.is_refuted());
    if let Some(head) = refuted {
        return failed(refutation(head));
    }
    let matching = heads.iter().filter(|head| head.state == OutsideState::Matches);
    match matching.map(|head| head.sequence).max() {
        Some(sequence) => proven(format!(
            "record {sequence} has the link that was kept outside: up to there nothing was \
             changed, lost or written anew since; nothing is signed"
        )),
        None => not_checked("no head from outside names a record that was read"),
    }
}

/// Returns what is wrong with a head from outside, in words.
pub(crate) fn told(head: &Witnessed) -> String {
    match head.state {
        OutsideState::Differs => {
            let found = head.found.as_deref().unwrap_or("another one");
            format!("the head kept outside has link {}, and the log has {found}", head.link)
        }
        OutsideState::Missing => {
            "a head was kept outside for it, and the log ends before it".to_string()
        }
        state => format!("the head kept outside is {state}"),
    }
}

/// The same, with the record that the head is of.
pub(crate) fn refutation(head: &Witnessed) -> String {
    format!("record {}: {}", head.sequence, told(head))
}

/// In the order of the log: the first one is the first bad place.
fn findings_of_bytes(reading: &Reading) -> Vec<Finding> {
    let found = reading.survey.findings.iter().cloned().map(Finding::from);
    let mut found: Vec<Finding> = found.chain(reading.withheld.iter().cloned()).collect();
    found.sort_by(|a, b| a.place.in_order().cmp(&b.place.in_order()));
    found
}

fn verdict(reading: &Reading, axes: &Axes) -> Verdict {
    let failed = |axis: &Axis| axis.state == AxisState::Failed;
    match Verdict::of_log(reading.survey.row.verdict()) {
        Verdict::NothingHere if !failed(&axes.completeness) => Verdict::NothingHere,
        Verdict::ShortOfHead if !failed(&axes.integrity) && short_by(reading).is_some() => {
            Verdict::ShortOfHead
        }
        _ if failed(&axes.integrity) || failed(&axes.completeness) => Verdict::Corrupt,
        _ if failed(&axes.meaning) => Verdict::ForbiddenEvents,
        _ if !reading.unproven_here().is_empty() => Verdict::UnprovenRecords,
        Verdict::Intact if reading.later.is_some() => Verdict::TailUnproven,
        of_log => of_log,
    }
}

fn integrity(reading: &Reading, findings: &[Finding]) -> Axis {
    if reading.survey.row.verdict() == LogVerdict::NothingHere {
        return not_checked(NO_LOG);
    }
    let changed: Vec<&Finding> = findings.iter().filter(|finding| is_change(finding)).collect();
    match changed.split_first() {
        Some((first, more)) => failed(sentence(first, more.len())),
        None if is_corrupt(reading) && !findings.iter().any(is_loss) => {
            failed("the files of the log do not fit together".to_string())
        }
        None if is_corrupt(reading) => not_checked("what is missing cannot be checked for changes"),
        None if short_by(reading).is_some() => not_checked(format!(
            "the records up to {} follow from each other, and the one that would tie them to HEAD \
             is not here",
            newest(reading)
        )),
        None => proven(format!(
            "every header, record and seal hashes to what the chain says, up to record {}{}",
            newest(reading),
            taken_over(&reading.unproven_here())
        )),
    }
}

/// Returns what the log says of the records that it did not get from a writer.
fn taken_over(unproven: &[Unproven]) -> String {
    match unproven {
        [] => String::new(),
        [Unproven { first, last }, more @ ..] => format!(
            "; a salvage took {}{} over without proof",
            records_named(*first, *last),
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) }
        ),
    }
}

/// Returns the number of records that HEAD, or LOCK, states behind the newest one here, where no
/// other is missing.
pub(crate) fn short_by(reading: &Reading) -> Option<u64> {
    let has_others = reading
        .survey
        .findings
        .iter()
        .any(|found| !matches!(found.problem, LogProblem::ShortOfHead { .. }));
    let is_alone = !has_others && reading.withheld.is_empty();
    let is_short = reading.survey.row == Row::ShortOfHead && is_alone;
    is_short.then(|| reading.survey.mark.saturating_sub(newest(reading)))
}

fn completeness(reading: &Reading, findings: &[Finding], meaning: Option<&Meaning>) -> Axis {
    let lost: Vec<&Finding> = findings.iter().filter(|finding| is_loss(finding)).collect();
    match lost.split_first() {
        Some((first, more)) => failed(sentence(first, more.len())),
        None if reading.survey.row.verdict() == LogVerdict::NothingHere => not_checked(NO_LOG),
        None if is_corrupt(reading) => not_checked("what lies behind the damage cannot be counted"),
        None if reading.later.is_some() => not_checked(contradicted(reading)),
        None => proven(completeness_reason(reading) + &beginning(reading, meaning)),
    }
}

/// Returns what a file beside the log says against its being whole.
fn contradicted(reading: &Reading) -> String {
    let Some(Later { file, sequence }) = &reading.later else { return String::new() };
    format!(
        "unproven: the newest record here is {}, and {file} tells of record {sequence}: if it was \
         written, that file is what is left of it, so keep it",
        newest(reading)
    )
}

fn completeness_reason(reading: &Reading) -> String {
    let (mark, newest) = (reading.survey.mark, newest(reading));
    let mut reason = format!("nothing is missing up to record {mark}, the newest durable mark");
    if newest > mark {
        reason.push_str(&format!(
            "; no durable mark covers {} yet: unproven",
            records_named(mark.saturating_add(1), newest)
        ));
    }
    if reading.is_being_written {
        reason.push_str("; the log is being written, and what follows is not yet recorded");
    } else if reading.survey.last.as_ref().is_some_and(|last| last.tail_end.is_some()) {
        reason.push_str(&format!("; an interrupted write follows record {newest}"));
    }
    reason
}

/// Returns what a log that does not begin with record 1 says of what was before.
fn beginning(reading: &Reading, meaning: Option<&Meaning>) -> String {
    let anchor = reading.anchor.position.sequence;
    if anchor == 0 {
        return String::new();
    }
    let stated = meaning.and_then(|meaning| meaning.archived.as_ref()?.stated_by);
    let by = stated.map(|sequence| format!("record {sequence} says so; "));
    let mut text = format!(
        "; the log begins at record {}: the {anchor} records before it were moved to an archive \
         ({}link {}) and {}",
        anchor.saturating_add(1),
        by.unwrap_or_default(),
        reading.anchor.position.link,
        match meaning.map_or(Before::NotLookedAt, |meaning| meaning.before) {
            Before::CheckedFrom(1) => "are checked there".to_string(),
            Before::CheckedFrom(first) => format!("are checked there from record {first} on"),
            _ if meaning.is_some_and(Meaning::is_salvaged) => format!(
                "were not checked here: {NO_ARCHIVE_FITS}; `--log DIR` verifies the archive by \
                 itself"
            ),
            Before::NotLookedAt => "were not checked here: give `--archive DIR`".to_string(),
            Before::OfArchive => "were not checked here: give this archive with `--log`, and the \
                                  earlier one with `--archive`"
                .to_string(),
            Before::NotProven =>
                "were not checked: what was given as their archive does not show them".to_string(),
        }
    );
    let leftovers = reading.survey.leftovers.len();
    if leftovers > 0 {
        text.push_str(&format!(
            "; {leftovers} segments of them are still here, and are no part of the log: the next \
             `archive` to the same archive removes them"
        ));
    }
    text
}

/// Returns what was not compared of ids, where something may begin a second time under one.
fn uncompared(meaning: &Meaning) -> Option<String> {
    let last = meaning.uncompared_to();
    let compares = match meaning.before {
        _ if meaning.is_salvaged() => NO_ARCHIVE_FITS,
        Before::NotLookedAt | Before::NotProven => "`--archive DIR` compares them",
        Before::OfArchive => {
            "this archive with `--log`, and the earlier one with `--archive`, compares them"
        }
        Before::CheckedFrom(_) => "nothing compares a log with the archive before its archive",
    };
    (last > 0).then(|| {
        format!(
            "whether ids of {}, which are in an archive, begin something here again: {compares}",
            records_named(1, last)
        )
    })
}

fn authenticity() -> Axis {
    not_checked(
        "nothing is signed and no outside checkpoint was given, so whoever owns the files could \
         have written the whole log anew",
    )
}

fn meaning_axis(reading: &Reading, meaning: Option<&Meaning>, judged: &[Finding]) -> Axis {
    let Some(meaning) = meaning else { return not_checked(NOT_JUDGED) };
    if let Some((first, more)) = judged.split_first() {
        return failed(sentence(first, more.len()));
    }
    let applied = meaning.applied.sequence;
    let every = if meaning.under_rules.is_some() { "every other event" } else { "every event" };
    let hole = meaning.unjudged_from().filter(|hole| *hole < applied);
    let so_far = match hole.map_or(applied, |hole| hole.saturating_sub(1)) {
        0 => "no event was judged".to_string(),
        judged if judged == meaning.anchor.position.sequence => "no event was judged".to_string(),
        judged if meaning.anchor.position.sequence > 0 => format!(
            "{every} from record {} up to record {judged} is one that the rules allow, given \
             the state that the log begins with",
            meaning.anchor.position.sequence.saturating_add(1)
        ),
        judged => format!("{every} up to record {judged} is one that the rules allow"),
    };
    match meaning.stopped {
        _ if reading.survey.row.verdict() == LogVerdict::NothingHere => not_checked(NO_LOG),
        Some(Stopped::Withheld(sequence)) => not_checked(format!(
            "{so_far}; record {sequence} is withheld, and nothing behind it can be judged"
        )),
        Some(Stopped::NoBeginning) => not_checked("the state at the log's beginning is not known"),
        Some(Stopped::Unknown(sequence)) => not_checked(format!(
            "{so_far}; not judged from record {sequence}: only a newer holdpoint knows what it \
             says, so use that one"
        )),
        Some(Stopped::Undecodable(sequence)) => failed(format!("record {sequence} is unreadable")),
        _ if hole.is_some() => {
            not_checked(so_far + &behind_hole(meaning) + &under_rules(meaning) + &unjudged(meaning))
        }
        _ if meaning.under_rules.is_some() => {
            not_checked(so_far + &under_rules(meaning) + &unjudged(meaning))
        }
        Some(Stopped::Until) => proven(so_far),
        None if is_corrupt(reading) => {
            not_checked(format!("{so_far}; what lies behind the damage cannot be judged"))
        }
        None if applied < newest(reading) => {
            not_checked("the records from 1 on, from which the state is rebuilt, are not here")
        }
        None => proven(so_far + &unjudged(meaning) + &fingerprints(meaning)),
    }
}

/// Returns what a salvaged log says of the events behind the first records that were lost or are
/// unproven.
fn behind_hole(meaning: &Meaning) -> String {
    let from = meaning.unjudged_from().unwrap_or(0);
    let mut text = match meaning.hole == Some(from) {
        true => {
            format!("; record {from} tells of records lost, and nothing behind it can be judged")
        }
        false => format!("; record {from} is unproven, and nothing from it on can be judged"),
    };
    match meaning.records_noted {
        0 => {}
        1 => text.push_str("; 1 event there lacks what was lost or changed"),
        some => text.push_str(&format!("; {some} events there lack what was lost or changed")),
    }
    text
}

/// Returns what cannot be said of events for which the rules of their time have no words.
fn under_rules(meaning: &Meaning) -> String {
    let Some(UnderRules { number, first, count }) = meaning.under_rules else {
        return String::new();
    };
    let (events, are) = if count == 1 { ("event", "is") } else { ("events", "are") };
    format!("; {count} {events} from record {first} on {are} not checked under rules {number}")
}

/// Returns the text about what is chained as everything else, and means what the application alone
/// knows.
fn unjudged(meaning: &Meaning) -> String {
    let Unjudged { application, opaque, reducers, has_more_reducers } = &meaning.unjudged;
    let mut text = String::new();
    if *application > 0 {
        text.push_str(&format!("; contents of application events, not judged: {application}"));
    }
    if !reducers.is_empty() {
        let names: Vec<_> = reducers.iter().map(|name| named_by_application(name)).collect();
        let more = if *has_more_reducers { " and more" } else { "" };
        text.push_str(&format!("; not checked: reducer {}{more}", names.join(", ")));
    }
    if *opaque > 0 {
        text.push_str(&format!("; opaque records, chained and not judged: {opaque}"));
    }
    let claims = meaning.copies_of_evidence.claims;
    if claims > 0 {
        text.push_str(&format!(
            "; not compared: {claims} of the commands, whose envelopes have a form of their own"
        ));
    }
    text
}

fn fingerprints(meaning: &Meaning) -> String {
    let mut text = String::new();
    match meaning.fingerprints_proven {
        0 => {}
        1 => text.push_str("; 1 recorded fingerprint matches"),
        proven => text.push_str(&format!("; {proven} recorded fingerprints match")),
    }
    if meaning.fingerprints_not_checked > 0 {
        let count = meaning.fingerprints_not_checked;
        text.push_str(&format!("; {count} of another state schema or log were not checked"));
    }
    let (proven, not_checked) = meaning.statements();
    match proven {
        0 => {}
        1 => text.push_str("; 1 stated index is that of its segment"),
        proven => {
            text.push_str(&format!("; {proven} stated indexes are those of their segments"));
        }
    }
    if not_checked > 0 {
        text.push_str(&format!(
            "; stated indexes of another version, or of records in an archive, were not checked: \
             {not_checked}"
        ));
    }
    text
}

/// Returns whether what was recorded is not what is there.
pub(crate) fn is_change(finding: &Finding) -> bool {
    matches!(&finding.problem, Problem::Log(problem) if !is_loss_alone(problem))
}

/// Something that was recorded is not there.
pub(crate) fn is_loss(finding: &Finding) -> bool {
    let Problem::Log(problem) = &finding.problem else { return false };
    is_loss_alone(problem)
        || matches!(problem, LogProblem::BelowMark { .. } | LogProblem::Length { .. })
}

/// Returns whether all that is wrong is that the log ends before HEAD.
fn is_short(finding: &Finding) -> bool {
    matches!(finding.problem, Problem::Log(LogProblem::ShortOfHead { .. }))
}

fn is_loss_alone(problem: &LogProblem) -> bool {
    matches!(
        problem,
        LogProblem::Gap { .. }
            | LogProblem::HeadMissing
            | LogProblem::NotTheAnchor { .. }
            | LogProblem::SegmentsGone { .. }
            | LogProblem::ShortOfHead { .. }
            | LogProblem::UnsealedArchive { .. }
            | LogProblem::SealMissing { .. }
            | LogProblem::Withheld
    )
}

fn is_corrupt(reading: &Reading) -> bool {
    reading.survey.row.verdict() == LogVerdict::Corrupt
}

fn newest(reading: &Reading) -> u64 {
    reading.survey.last.as_ref().map_or(0, |last| last.run.chain.sequence)
}

fn sentence(first: &Finding, more: usize) -> String {
    match more {
        0 => first.to_string(),
        _ => format!("{first}; and {more} more"),
    }
}

fn proven(reason: String) -> Axis {
    Axis { state: AxisState::Proven, reason }
}

fn failed(reason: String) -> Axis {
    Axis { state: AxisState::Failed, reason }
}

fn not_checked(reason: impl Into<String>) -> Axis {
    Axis { state: AxisState::NotChecked, reason: reason.into() }
}
