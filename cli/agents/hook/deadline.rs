//! The time within which a hook answers, whatever it is doing: waiting for a lock, a disk, a person
//! or another program. Most hosts let a tool run when its hook takes longer than they allow.
//!
//! It is measured from the start of the process. A thread of its own gives the answer when the time
//! is over, and ends the process: as after a crash, the log holds whole turns only.

use super::answer::Answer;
use crate::args::host::Host;
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::low_level::exit;
use std::fs::read_to_string;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Builder, park, sleep};
use std::time::{Duration, Instant};

/// The usual deadline: the shortest limit that a host documents is 30 seconds.
pub(super) const USUAL: Duration = Duration::from_secs(25);
/// The longest deadline.
pub(super) const LONGEST: Duration = Duration::from_secs(60 * 60);

/// How long an answer that is being written already may take beyond the deadline.
pub(super) const WRITING: Duration = Duration::from_secs(1);

/// What of a call is known so far.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// It is being put on record under this id.
    Asking(String),
    /// A person is asked.
    Asked(String),
    /// An approval is being spent.
    Spending(String),
}

/// What the thread that watches has to know.
#[derive(Debug, Default)]
struct Progress {
    host: Option<Host>,
    question: Option<Question>,
}

static PROGRESS: Mutex<Progress> = Mutex::new(Progress { host: None, question: None });
/// Whether one of the two threads answers by now.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);
/// The deadline that is watched.
static DEADLINE: OnceLock<Duration> = OnceLock::new();
/// When this process began, as far as that is known.
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// Watches over this process from now on: at the deadline `failed` is the answer.
pub(super) fn watch(deadline: Duration, failed: fn(&str) -> Answer) -> io::Result<()> {
    begun();
    let deadline = *DEADLINE.get_or_init(|| deadline);
    let work = move || {
        while !left(deadline).is_zero() {
            sleep(left(deadline));
        }
        if !is_first() {
            sleep(WRITING);
        }
        exit(failed(&late(deadline)).deliver_late());
    };
    Builder::new().name("deadline".to_string()).spawn(work).map(drop)
}

/// Takes it upon this thread to answer; does not come back where the other one does already.
pub(super) fn answer() {
    while !is_first() {
        park();
    }
}

fn is_first() -> bool {
    !IS_ANSWERED.swap(true, Ordering::SeqCst)
}

/// What is left until the deadline.
pub(super) fn left(deadline: Duration) -> Duration {
    deadline.saturating_sub(begun().elapsed())
}

/// What is left until the deadline that is watched; the usual one where none is.
pub(super) fn left_of_all() -> Duration {
    left(DEADLINE.get().copied().unwrap_or(USUAL))
}

/// The host that was recognised.
pub(super) fn host() -> Option<Host> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).host
}

/// Whose call it is, from now on.
pub(super) fn is_of(host: Host) {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).host = Some(host);
}

/// How far the call got.
pub(super) fn is_at(question: Question) {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).question = Some(question);
}

/// Why there is no better answer than that the time is over.
fn late(deadline: Duration) -> String {
    let question = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).question.clone();
    let within = humantime::format_duration(deadline);
    let known = match question {
        None => "it is not known whether a question is on record".to_string(),
        Some(Question::Asking(id)) => {
            format!("decision {id} may be on record by now, and then a person is asked")
        }
        Some(Question::Asked(id)) => format!("pending, decision {id}: a person is asked"),
        Some(Question::Spending(id)) => format!(
            "the approval {id} may be spent by this all the same, and then a person is asked again"
        ),
    };
    format!(
        "no answer within {within} (--deadline): {known}; make exactly this call again later, and \
         the same question counts"
    )
}

/// When this process began: as the system knows it, else when this was asked first.
fn begun() -> Instant {
    *BEGUN.get_or_init(|| {
        let now = Instant::now();
        age().and_then(|age| now.checked_sub(age)).unwrap_or(now)
    })
}

/// How long this process has been there.
fn age() -> Option<Duration> {
    let stat = read_to_string("/proc/self/stat").ok()?;
    // Behind the name of the program, which may hold anything, follow fields that do not.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let since_boot = clock_gettime(ClockId::Boottime);
    let since_boot = Duration::new(
        u64::try_from(since_boot.tv_sec).ok()?,
        u32::try_from(since_boot.tv_nsec).ok()?,
    );
    let milliseconds = ticks.checked_mul(1000)?.checked_div(clock_ticks_per_second())?;
    (ticks > 0).then(|| since_boot.saturating_sub(Duration::from_millis(milliseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_process_is_known() {
        let age = age().unwrap();
        assert!(age < Duration::from_secs(24 * 60 * 60), "{age:?}");
        assert!(left(Duration::ZERO).is_zero() && left(LONGEST) <= LONGEST);
    }
}
