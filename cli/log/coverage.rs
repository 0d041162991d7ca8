//! What is said of how far a reading reached: where what was shown ceases to be proven. Programs
//! are told by `reach` and by the standing of each record, people by a sentence on stderr.

use crate::args::Global;
use crate::log::archives::FITS_NONE;
use crate::log::verdict::{exit_of, warn};
use crate::ui::output::ascii;
use crate::ui::program::program_on;
use crate::ui::{Exit, Output, complain, streams};
use holdpoint_engine::shell::Watch;
use holdpoint_log_files::Standing;
use holdpoint_replay::{LogTail, Missed, Reach, Report, records_named};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// HEAD follows within half of this: whoever follows a log is not told before.
const HEAD_IS_LATE: Duration = Duration::from_secs(2);

/// The records that were shown one by one and that nothing ties to a witness.
#[derive(Default)]
pub(crate) struct UntiedRecords {
    /// The first and the last of those that a witness should tie.
    unproven: Option<(u64, u64)>,
    /// The newest of all that were shown.
    newest: u64,
}

impl UntiedRecords {
    /// Takes a record that was shown.
    pub(crate) fn take(&mut self, sequence: u64, standing: Standing) {
        self.newest = self.newest.max(sequence);
        if standing == Standing::Unproven {
            let (first, last) = self.unproven.get_or_insert((sequence, sequence));
            (*first, *last) = (sequence.min(*first), sequence.max(*last));
        }
    }

    /// Says which they are. What follows them awaits a witness from there on.
    pub(crate) fn tell(&self, reach: &Reach) -> WitnessWait {
        if let Some((first, last)) = self.unproven {
            complain(&match first == last {
                true => format!(
                    "record {first} is shown and unproven: nothing ties it to HEAD, or the log \
                     says so"
                ),
                false => format!(
                    "records shown from {first} to {last} are unproven: nothing ties them to \
                     HEAD, or the log says so"
                ),
            });
        }
        as_stated(reach);
        no_witness(reach.first_unwitnessed(), self.newest);
        followed(reach);
        WitnessWait::behind(reach, self.newest)
    }
}

/// True if HEAD comes to confirm what is shown to whoever follows a log.
#[derive(Default)]
pub(crate) struct WitnessWait {
    /// The newest record that was shown.
    newest: u64,
    /// The record that HEAD names while it is behind that one, and since when.
    since: Option<(u64, Instant)>,
    is_told: bool,
}

impl WitnessWait {
    /// Behind a reading that showed records up to one, and told which have no witness.
    pub(crate) fn behind(reach: &Reach, newest: u64) -> Self {
        let is_told = reach.first_unwitnessed().is_some_and(|first| newest >= first);
        Self { newest, since: None, is_told }
    }

    /// Takes a record that was shown.
    pub(crate) fn take(&mut self, sequence: u64) {
        self.newest = self.newest.max(sequence);
    }

    /// Looks at the record that HEAD names. Says from which one on there is no witness yet, where
    /// HEAD is late: once, until it named all that was shown.
    pub(crate) fn look(&mut self, witnessed: u64) {
        if witnessed >= self.newest {
            (self.since, self.is_told) = (None, false);
            return;
        }
        match self.since.filter(|(before, _)| *before == witnessed) {
            Some((_, since)) if since.elapsed() < HEAD_IS_LATE || self.is_told => {}
            Some(_) => {
                self.is_told = true;
                no_witness(Some(witnessed.saturating_add(1)), self.newest);
            }
            None => self.since = Some((witnessed, Instant::now())),
        }
    }

    /// Waits until a followed log is written to, and says where HEAD is late. False once nobody
    /// reads any more.
    pub(crate) fn wait(
        &mut self,
        global: &Global,
        tail: &LogTail,
        out: &mut Output,
        watch: &Watch,
    ) -> bool {
        if !global.json {
            self.look(tail.witnessed());
        }
        // Looked at though nothing was written: whoever closes a pipe is not kept waiting for us.
        let is_read = out.has_reader();
        if is_read {
            // What was written is looked for in any case.
            let _ = watch.wait(Duration::MAX);
        }
        is_read
    }
}

/// Says which records of a followed log were moved to an archive before they were shown by `verb`.
pub(crate) fn tell_missed(missed: Option<Missed>, verb: &str) {
    let Some(Missed { first, last }) = missed else { return };
    let records = records_named(first, last);
    complain(&format!(
        "{records}: moved to an archive before that was shown; `holdpoint {verb} --archive DIR` \
         shows it"
    ));
}

/// Says by which record those are proven from which no link leads to HEAD: by a state that it
/// states. Else says which records are believed of the indexes that were asked.
fn as_stated(reach: &Reach) {
    let stated_by = &reach.indexes_stated_by;
    if let Some(by_state) = reach.tied_by_state.first() {
        complain(&format!(
            "what is shown of sealed segments is proven as far as the state is right that record \
             {} vouches for: `holdpoint verify` checks that state",
            by_state.stated_by
        ));
    } else if let (Some(first), Some(last)) = (stated_by.first(), stated_by.last()) {
        let records = match stated_by.len() {
            1 => format!("as stated by record {first}"),
            count => format!("as stated by {count} records from {first} to {last}"),
        };
        complain(&format!(
            "sealed segments were searched by their indexes, {records}: `holdpoint verify` checks \
             what is stated"
        ));
    }
}

/// Says that something which is no record follows the newest one. That is no fault.
pub(crate) fn followed(reach: &Reach) {
    if reach.followed {
        complain(
            "an interrupted write follows the newest record: `holdpoint verify` says how much",
        );
    }
}

/// Says where what a reading of the whole log shows, up to its newest record, ceases to be proven.
/// Programs find it in what they were shown.
pub(crate) fn tell(global: &Global, report: &Report, newest: u64) {
    if !global.json {
        say(&report.reach, newest);
    }
}

/// Ends a verb that read the whole log: the same, what is wrong with the log, and the exit code.
pub(crate) fn conclude(global: &Global, report: &Report, newest: u64) -> Exit {
    tell(global, report, newest);
    warn(report);
    exit_of(report)
}

/// The same of states, and before it which records state what these were made from.
pub(crate) fn tell_of_states(global: &Global, report: &Report, newest: u64) {
    if !global.json {
        states_as_stated(report);
    }
    tell(global, report, newest);
}

/// The same, whoever reads what was shown.
pub(crate) fn say(reach: &Reach, newest: u64) {
    if let Some(last) = reach.untied_to(newest) {
        complain(&format!(
            "what is shown of records up to {last} is unproven: nothing ties them to HEAD"
        ));
    }
    no_witness(reach.first_unwitnessed(), newest);
    followed(reach);
}

/// Says which records state what states were made from, and which one carries that from which the
/// log goes on.
fn states_as_stated(report: &Report) {
    let reach = &report.reach;
    if let (Some(first), Some(last)) = (reach.stated_by.first(), reach.stated_by.last()) {
        let records = match reach.stated_by.len() {
            1 => format!("record {first}"),
            count => format!("{count} records from {first} to {last}"),
        };
        complain(&format!(
            "as stated by {records}: what happened before was taken from snapshots; `holdpoint \
             verify` checks what is stated"
        ));
    } else if let Some(sentence) = as_carried(report) {
        complain(&sentence);
    }
}

/// That what is from before the first record that was read is what a record says which carries the
/// state there, and what checks that; `None` where the log begins with nothing.
pub(crate) fn as_carried(report: &Report) -> Option<String> {
    let Reach { carried_by, begins, .. } = report.reach;
    let checks = match report.archives.of(begins) {
        _ if report.is_salvaged => FITS_NONE.to_string(),
        // The log goes on from another archive than from the one that is missing.
        Some(archive) => {
            format!("; `{} verify --archive DIR` checks it", program_on(Path::new(&**archive)))
        }
        None => "; `holdpoint verify --archive DIR` checks it".to_string(),
    };
    carried_by.map(|by| {
        format!("as stated by record {by}: what is before record {begins} was not read{checks}")
    })
}

/// Says from which record on there is no witness yet, the first one behind the newest witness,
/// where what was shown reaches as far. That is no fault.
pub(crate) fn no_witness(first: Option<u64>, newest: u64) {
    if let Some(first) = first.filter(|first| newest >= *first) {
        complain(&none_yet_told(first));
    }
}

/// The same with what it means, for whoever is told of it unasked.
pub(crate) fn none_yet_told(first: u64) -> String {
    format!(
        "{}: HEAD does not confirm the newest records yet, which is normal while a writer is at \
         work, or after one was killed",
        none_yet(first)
    )
}

/// That nothing from this record on has a witness yet.
pub(crate) fn none_yet(first: u64) -> String {
    format!("no witness yet from record {first}")
}

/// States the reach of a verb that shows a stream of values: as one line of JSON on stderr, so that
/// the stream holds nothing else.
pub(crate) fn state(reach: &Reach) {
    let line = ascii(&json!({ "reach": reach }).to_string());
    streams::tell(&line);
}
