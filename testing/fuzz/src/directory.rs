//! A whole directory: a valid log, then whatever may happen to it. Verified, rebuilt, opened.

use super::damage::Damage;
use super::image::{Image, Node};
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_engine::log::{Level, Log, NewRecord, OpenError, OpenReport, Options, Storage};
use holdpoint_log_files::{
    Extent, Problem, Survey, SurveyError, SurveyOptions, survey as survey_log,
};
use holdpoint_log_format::recovery::{self, Row, Verdict};
use holdpoint_log_format::{Link, names};
use holdpoint_replay::{ReadError, ReadOptions, Report, Until, rebuild, verify};
use holdpoint_simulation::SimulatedDisk;
use std::time::Duration;

/// Makes a directory as the input says, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let mut image = Image::of(&written, input)?;
    let head = image.file(names::HEAD).cloned();
    let is_forged = Damage::happen(&mut image, &written, input)?;
    let disk = image.disk();
    let Some(found) = read_whole(&disk) else {
        check_newer_is_refused(&image, &disk);
        return Ok(());
    };
    check_findings(&image, &found);
    if !is_forged && !found.is_corrupt() {
        let has_its_head = image.file(names::HEAD) == head.as_ref();
        check_nothing_changed_unseen(&found, &written, has_its_head);
    }
    check_opening(&image, &disk, &found);
    Ok(())
}

/// What a reading from the anchor gives.
struct WholeReading {
    survey: Survey,
    report: Report,
    links: Vec<Link>,
}

impl WholeReading {
    fn is_corrupt(&self) -> bool {
        self.report.verdict.is_of_damage()
    }
}

/// Surveys, verifies and rebuilds; nothing where a file says that it is of a newer format.
fn read_whole(disk: &SimulatedDisk) -> Option<WholeReading> {
    let mut links = Vec::new();
    let mut visit = |_: &_, record: &holdpoint_log_format::Record<'_>| {
        links.push(record.header.link);
    };
    let options = survey_options(disk, Extent::FromAnchor);
    let survey = match survey_log(disk, options, &mut visit) {
        Ok(survey) => survey,
        Err(SurveyError::NewerVersion { .. }) => return None,
        Err(error) => unreachable!("{error}"),
    };
    let report = must(verify(disk, read_options(disk), &mut |_| {}));
    let rebuilt = rebuild(disk, Until::End, read_options(disk), &mut |_| {}, &mut |_| {});
    assert_as_verified(must(rebuilt).report, &report);
    Some(WholeReading { survey, report, links })
}

/// To rebuild is to verify and keep the state. Besides it is told before which record the state was
/// left standing, where only a newer program knows what that says: to verify that is no finding.
pub(crate) fn assert_as_verified(mut told: Report, verified: &Report) {
    told.findings.retain(|finding| !finding.is_of_unknown_kind());
    if told.verdict == holdpoint_replay::Verdict::Unknown {
        assert!(!verified.failed(), "{}", verified.verdict);
        told.verdict = verified.verdict;
    }
    assert_eq!(told, *verified);
}

fn survey_options(disk: &SimulatedDisk, extent: Extent) -> SurveyOptions {
    SurveyOptions::new(extent, disk.boot())
}

fn read_options(disk: &SimulatedDisk) -> ReadOptions<'static> {
    ReadOptions::new(disk.boot(), &|| Ok(false))
}

fn must<T>(read: Result<T, ReadError>) -> T {
    read.unwrap_or_else(|error| unreachable!("memory can be read: {error}"))
}

/// The verdict is the recovery table's; whatever is damaged is found, in a file that is there.
fn check_findings(image: &Image, found: &WholeReading) {
    let WholeReading { survey, report, links } = found;
    assert_eq!(survey.row, recovery::row(&survey.evidence));
    assert_eq!(report.row, survey.row.number());
    assert_eq!(links.len() as u64, survey.records);
    let of_log = survey.row.verdict();
    assert!(!of_log.has_failed() || found.is_corrupt());
    assert!(!of_log.has_failed() || !survey.findings.is_empty(), "{:?}", survey.row);
    assert!(found.is_corrupt() || survey.findings.is_empty() || of_log == Verdict::NothingHere);
    for finding in &survey.findings {
        let (place, problem) = (&finding.place, &finding.problem);
        match image.0.get(&place.file) {
            // A seal is missing where the next segment's header says that it should be.
            Some(Node::File(_)) if matches!(problem, Problem::SealMissing { .. }) => {}
            Some(Node::File(bytes)) => assert!(place.offset <= bytes.len() as u64, "{finding}"),
            Some(Node::Directory) => assert_eq!(place.offset, 0, "{finding}"),
            None => assert!(
                matches!(problem, Problem::HeadMissing | Problem::SegmentsGone { .. }),
                "{finding}"
            ),
        }
    }
}

/// Without a forgery, a log that is not corrupt holds what was written, up to HEAD at least.
fn check_nothing_changed_unseen(found: &WholeReading, written: &Written, has_its_head: bool) {
    if found.survey.row.verdict() == Verdict::NothingHere {
        return;
    }
    let all = written.segments.iter().flat_map(|segment| &segment.records);
    let all: Vec<Link> = all.map(|(_, header)| header.link).collect();
    assert!(all.starts_with(&found.links), "a record differs from what was written");
    let witnessed = found.survey.head.valid().map_or(0, |head| head.newest_sequence);
    let reached = found.links.len() as u64;
    assert!(!has_its_head || reached >= witnessed, "{witnessed} witnessed, {reached} here");
}

/// A log of a newer format is neither read nor written.
fn check_newer_is_refused(image: &Image, disk: &SimulatedDisk) {
    let refused = Log::open(disk.clone(), options()).err();
    assert!(matches!(refused, Some(OpenError::Survey { .. })), "{refused:?}");
    assert_eq!(&Image::read(disk), image, "nothing is changed in what is refused");
}

fn options() -> Options {
    Options::default().lock_wait(Duration::ZERO).head_delay(Duration::from_secs(3_600))
}

/// Opening refuses what verifying calls corrupt, as far as it reads, and then changes nothing.
fn check_opening(image: &Image, disk: &SimulatedDisk, found: &WholeReading) {
    let seen = survey_log(disk, survey_options(disk, Extent::FromHead), &mut |_, _| {});
    let seen = seen.unwrap_or_else(|error| unreachable!("it was read from the anchor: {error}"));
    match Log::open(disk.clone(), options()) {
        Ok((log, report)) => {
            assert!(!seen.row.verdict().has_failed(), "opened what the table refuses");
            check_opened(image, disk, found, log, &report);
        }
        Err(OpenError::Refused { .. }) => {
            assert!(found.is_corrupt(), "refused what verifies: {:?}", found.survey.row);
            assert_eq!(&Image::read(disk), image, "nothing is changed in what is refused");
        }
        Err(OpenError::Foreign { .. }) => {
            assert_eq!(found.survey.row, Row::Foreign);
            assert_eq!(&Image::read(disk), image, "nothing is changed in what is refused");
        }
        Err(error) => {
            let is_no_file = image.0.get(names::LOCK) == Some(&Node::Directory);
            assert!(is_no_file && found.is_corrupt(), "nothing was asked to fail: {error}");
            assert_eq!(&Image::read(disk), image, "nothing is changed in what is refused");
        }
    }
}

/// What was there is served, what was cut is kept aside, and the log goes on.
fn check_opened(
    image: &Image,
    disk: &SimulatedDisk,
    found: &WholeReading,
    log: Log<SimulatedDisk>,
    report: &OpenReport,
) {
    let reached = found.survey.last.as_ref().map(|last| last.run.chain);
    if let (Some(reached), false) = (reached, found.is_corrupt()) {
        assert_eq!(report.position, reached, "the newest record is where verifying found it");
    }
    check_cut(image, disk, report);
    let record = NewRecord { kind: 32_771, version: 1, payload: vec![7; 40] };
    let appended = log.append(&[record.clone(), record], 1, Level::Os);
    appended.unwrap_or_else(|error| unreachable!("the log goes on: {error}"));
    log.close().unwrap_or_else(|error| unreachable!("nothing was asked to fail: {error}"));
    if found.is_corrupt() {
        return;
    }
    let after = read_whole(disk).expect("no file became newer");
    assert!(!after.is_corrupt(), "{:?}", after.report.findings);
    assert!(after.links.starts_with(&served(found, report)), "what was served is still there");
    assert_eq!(after.report.mark, report.position.sequence + 2, "closing proves everything");
}

/// The links of the records that were served: without those of a batch that was cut.
fn served(found: &WholeReading, report: &OpenReport) -> Vec<Link> {
    let first = found.survey.segments.first().map_or(1, |segment| segment.first_sequence);
    let length = (report.position.sequence + 1).saturating_sub(first) as usize;
    found.links.iter().take(length).copied().collect()
}

/// Nothing is overwritten before it was copied aside.
fn check_cut(image: &Image, disk: &SimulatedDisk, report: &OpenReport) {
    let recovered = &report.recovered;
    let Some(copy) = &recovered.copied_to else { return };
    let start = recovered.cut_offset as usize;
    let end = start + recovered.cut_bytes as usize;
    let cut = image.file(&recovered.segment).and_then(|bytes| bytes.get(start..end));
    let now = Image::read(disk);
    assert_eq!(now.file(copy).map(Vec::as_slice), cut, "what is cut is kept aside whole");
}
