//! Whatever becomes of a segment's file while a log is read: what is told without a finding is what
//! a reading tells that nobody disturbed.

use holdpoint_log_files::{DirectoryStorage, Entry, ReadStorage};
use holdpoint_log_format::BootId;
use holdpoint_replay::export::{ExportStep, Selection, export};
use holdpoint_replay::{
    Answer, BisectError, Filter, Listed, Order, Range, ReadError, ReadOptions, Report, Run,
    RunFilter, RunLookup, Searched, Timeline, Trace, Traced, Until, Verdict, bisect, common_prefix,
    diff, diff_states, find_runs, rebuild, run_of, search, state_of, statistics, trace, travel,
    verify, verify_range,
};
use holdpoint_testing::hand_made::HandMadeLog;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

const OPTIONS: ReadOptions<'static> = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));

/// What becomes of a file.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Another one with records that are well chained is in its place.
    Replaced,
    /// It has another name.
    Renamed,
    /// It ends in the middle.
    Cut,
}

const CHANGES: [Change; 3] = [Change::Replaced, Change::Renamed, Change::Cut];

/// For how long it is so.
#[derive(Clone, Copy, Debug)]
enum Lasting {
    Calls(usize),
    ForGood,
    /// It was so from the beginning on, and ends with that call.
    UntilThen,
}

/// A log's directory in which one segment is changed from, or up to, one of the calls that open it.
struct Changing<'a> {
    disk: DirectoryStorage,
    other: DirectoryStorage,
    segment: &'a str,
    change: Change,
    from: usize,
    lasting: Lasting,
    opened: AtomicUsize,
}

impl ReadStorage for Changing<'_> {
    type File = Vec<u8>;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let number = match path == self.segment {
            true => self.opened.fetch_add(1, Ordering::Relaxed),
            false => return whole(&self.disk, path),
        };
        let is_changed = match self.lasting {
            Lasting::Calls(count) => (self.from..self.from.saturating_add(count)).contains(&number),
            Lasting::ForGood => number >= self.from,
            Lasting::UntilThen => number < self.from,
        };
        match self.change {
            _ if !is_changed => whole(&self.disk, path),
            Change::Replaced => whole(&self.other, path),
            Change::Renamed => Ok(None),
            Change::Cut => {
                let bytes = whole(&self.disk, path)?;
                Ok(bytes.map(|bytes| bytes[..bytes.len() / 16].to_vec()))
            }
        }
    }
}

fn whole(storage: &DirectoryStorage, path: &str) -> io::Result<Option<Vec<u8>>> {
    let is_there = storage.open(path)?.is_some();
    is_there.then(|| fs::read(storage.root().join(path))).transpose()
}

/// What a reading told; `None` where it said that something is wrong.
type Told = Result<Option<String>, ReadError>;

type Reading = fn(&Changing<'_>) -> Told;

fn unless_failed(report: &Report, told: String) -> Told {
    Ok((!report.failed()).then_some(told))
}

/// Readings by what they are for.
const READINGS: [(&str, Reading); 17] = [
    ("verify", |log| {
        let report = verify(log, OPTIONS, &mut |_| {})?;
        unless_failed(&report, format!("{:?} {}", report.head, report.records))
    }),
    ("replay", |log| {
        let rebuilt = rebuild(log, Until::End, OPTIONS, &mut |_| {}, &mut |_| {})?;
        unless_failed(&rebuilt.report, rebuilt.world.fingerprint_digest().to_string())
    }),
    ("log --stat", |log| {
        let counted = statistics(log, OPTIONS, &mut |_| {})?;
        unless_failed(&counted.report, format!("{counted:?}"))
    }),
    ("export", exported),
    ("log", |log| searched(log, &Filter::default(), Order::OldestFirst)),
    ("log --reverse", |log| searched(log, &Filter::default(), Order::NewestFirst)),
    ("log --since --until", |log| searched(log, &between(9, 20), Order::OldestFirst)),
    ("log --reverse --until", |log| searched(log, &between(1, 20), Order::NewestFirst)),
    ("log kind --until", |log| {
        let kind = Some("execution_loop".to_string());
        searched(log, &Filter { kind, ..between(1, 20) }, Order::OldestFirst)
    }),
    ("verify --range", |log| {
        let range = Range { first: Some(2), last: Some(9) };
        let report = verify_range(log, range, &[], OPTIONS, &mut |_| {})?;
        Ok((report.verdict == Verdict::Intact)
            .then(|| format!("{:?} {:?}", report.from, report.to)))
    }),
    ("runs", |log| {
        let Listed { runs, searched, .. } = listed(log)?;
        Ok(searched.is_sound().then(|| runs.iter().map(words).collect()))
    }),
    ("show", |log| {
        let (found, searched) = run_of(log, &loop_id(), OPTIONS)?;
        let RunLookup::Run(run) = found else { return Ok(not_found(&searched)) };
        Ok(searched.is_sound().then(|| words(&run)))
    }),
    ("trace", |log| {
        let Traced::Story(story) = trace(log, 9, 9, OPTIONS)? else { return Ok(None) };
        let Trace { steps, person, beginning, checked, .. } = *story;
        Ok(checked.findings.is_empty().then(|| format!("{steps:?} {person:?} {beginning:?}")))
    }),
    ("replay --live --at", |log| {
        let (line, found) = travelled(log, |line| line.at(Until::Sequence(9)))?;
        unless_failed(line.report(), state_of(&found).to_string())
    }),
    ("replay --entity", |log| {
        let (line, found) = travelled(log, |line| line.at_watching(Until::End, &loop_id()))?;
        unless_failed(line.report(), format!("{:?}", found.watched()))
    }),
    ("diff", |log| {
        let (line, difference) = travelled(log, |line| {
            let from = line.at(Until::Sequence(3))?;
            let (passed, _) = diff(line, &from, Until::Sequence(14))?;
            Ok((passed, diff_states(&from, &line.at(Until::End)?), common_prefix(line, line)?))
        })?;
        unless_failed(line.report(), format!("{difference:?}"))
    }),
    ("bisect", |log| {
        let (line, found) = travelled(log, |line| {
            let mut ask = |moment: &holdpoint_replay::Moment| -> Result<_, Infallible> {
                Ok(if moment.sequence() < 8 { Answer::DoesNot } else { Answer::Holds })
            };
            let ends = (Until::Sequence(0), Until::End);
            bisect(line, ends, None, &mut ask).map_err(|error| match error {
                BisectError::Read(error) => error,
                error => panic!("{error}"),
            })
        })?;
        unless_failed(line.report(), format!("{:?}", found.outcome))
    }),
];

fn words(run: &Run) -> String {
    format!("{:?} {:?} {}", run.entity, run.doers, run.last)
}

/// That a run is not there is false where nothing is wrong.
fn not_found(searched: &Searched) -> Option<String> {
    searched.is_sound().then(|| "no such run".to_string())
}

fn exported(log: &Changing<'_>) -> Told {
    let mut lines = Vec::new();
    let selection = Selection { since: None, until: Until::End };
    let report = export(log, selection, OPTIONS, &mut |_| {}, &mut |seen| {
        if let ExportStep::Batch { records, reach, .. } = seen {
            let line = |it: &holdpoint_replay::Committed| {
                format!("{it:?} {:?}", reach.standing(it.header.sequence, false))
            };
            lines.extend(records.iter().map(line));
        }
    })?;
    unless_failed(&report, lines.join("\n"))
}

fn between(first: u64, last: u64) -> Filter {
    Filter { first: Some(first), last: Some(last), ..Filter::default() }
}

fn searched(log: &Changing<'_>, filter: &Filter, order: Order) -> Told {
    let mut lines = Vec::new();
    let searched = search(log, filter, order, OPTIONS, &mut |_| {}, &mut |line, standing| {
        lines.push(format!("{line:?} {standing:?}"));
        ControlFlow::Continue(())
    })?;
    Ok(searched.is_sound().then(|| lines.join("\n")))
}

fn listed(log: &Changing<'_>) -> Result<Listed, ReadError> {
    let (range, wanted) = (Filter::default(), RunFilter::default());
    find_runs(log, &range, &wanted, 20, OPTIONS, &mut |_| {})
}

fn travelled<'a, 'c, T>(
    log: &'a Changing<'c>,
    go: impl FnMut(&Timeline<'a, Changing<'c>>) -> Result<T, ReadError>,
) -> Result<(Timeline<'a, Changing<'c>>, T), ReadError> {
    travel(|| Timeline::open(log, OPTIONS, &mut |_| {}), go)
}

/// A log of three segments, of two runs each.
fn written(directory: &Path, command_line: &str) -> [String; 3] {
    let mut log = HandMadeLog::new();
    let mut segments = Vec::new();
    for number in 0..3 {
        if number > 0 {
            log.roll();
        }
        segments.push(log.active_path());
        (0..2).for_each(|_| drop(log.run_of(command_line)));
    }
    log.write(directory);
    segments.try_into().unwrap()
}

/// The first run's.
fn loop_id() -> String {
    HandMadeLog::new().run_of("make a")
}

#[test]
fn what_a_reading_tells_without_a_finding_is_what_an_undisturbed_one_tells() {
    let [log, other] = [(); 2].map(|()| TempDir::new().unwrap());
    let segments = written(log.path(), "make a");
    assert_eq!(written(other.path(), "make b"), segments);
    let mut wrong = Vec::new();
    for (verb, read) in READINGS {
        for segment in &segments {
            for change in CHANGES {
                for lasting in [Lasting::Calls(1), Lasting::ForGood, Lasting::UntilThen] {
                    let changing = |from, lasting| {
                        let [disk, other] =
                            [&log, &other].map(|it| DirectoryStorage::new(it.path()));
                        let opened = AtomicUsize::new(0);
                        Changing { disk, other, segment, change, from, lasting, opened }
                    };
                    let quiet = changing(usize::MAX, Lasting::ForGood);
                    let due = read(&quiet).unwrap_or_else(|error| panic!("{verb}: {error}"));
                    let due = due.unwrap_or_else(|| panic!("{verb}"));
                    for from in 0..quiet.opened.into_inner() {
                        let told = read(&changing(from, lasting));
                        if matches!(&told, Ok(Some(told)) if *told != due) {
                            wrong.push(format!("{verb}: {segment} {change:?} {lasting:?} {from}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
