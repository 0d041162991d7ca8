//! Counting the syncs that a store really makes, from outside, with `strace`.

use crate::child::Errand;
use crate::error::{Doing, MeasureError};
use crate::figure::{Figure, Kind, Role};
use crate::plan::Plan;
use crate::store::{Candidate, Mode};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commits of the shorter run. The longer one makes twice as many, and the difference is what the
/// commits cost without opening and closing.
const COMMITS: u64 = 40;
/// Fewer syncs than this for each commit are too few.
const SYNCS_EACH_LEAST: f64 = 0.95;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncCount {
    /// `fsync`, `fdatasync` and synchronous `msync`.
    pub syncs: u64,
    /// A file was opened for synchronous writing: its writes are syncs of their own.
    pub has_synchronous_file: bool,
}

/// Syncs for each commit, by figure and candidate, or why they could not be counted.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<(Kind, String), Result<PerCommit, String>>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct PerCommit {
    syncs: f64,
    has_synchronous_file: bool,
}

/// Counts what each candidate does in the durable figures.
#[must_use]
pub fn count(plan: &Plan, stores: &[Candidate], typed: &[Candidate]) -> Counts {
    let mut counts = Counts::default();
    for kind in [Kind::DurableOne, Kind::CommitOfMany, Kind::TypedDurable] {
        let candidates = if kind == Kind::TypedDurable { typed } else { stores };
        for candidate in candidates {
            let counted = per_commit(plan, kind, candidate).map_err(|error| error.to_string());
            counts.0.insert((kind, candidate.name.to_string()), counted);
        }
    }
    counts
}

impl Counts {
    /// Says of each peer of a durable figure how many syncs it makes, and counts none that
    /// acknowledges without one.
    pub fn tell(&self, figure: &mut Figure) {
        // Writers at once share syncs; whether one waits for its own is seen when it is alone.
        let counted = match figure.kind {
            Kind::DurableEight | Kind::DurableSixtyFour => Kind::DurableOne,
            kind => kind,
        };
        for contender in &mut figure.contenders {
            let Role::Peer(facts) = &mut contender.role else { continue };
            match self.0.get(&(counted, contender.name.clone())) {
                Some(Ok(each)) => {
                    facts.syncs_each = Some(each.syncs);
                    facts.not_counted = each.too_few();
                }
                Some(Err(reason)) => {
                    facts.not_counted = Some(format!("its syncs could not be counted: {reason}"));
                }
                None => {}
            }
        }
    }
}

impl PerCommit {
    fn too_few(self) -> Option<String> {
        let is_enough = self.has_synchronous_file || self.syncs >= SYNCS_EACH_LEAST;
        (!is_enough).then(|| format!("acknowledges without a sync ({:.2} each)", self.syncs))
    }
}

fn per_commit(plan: &Plan, kind: Kind, who: &Candidate) -> Result<PerCommit, MeasureError> {
    let records_each = if kind == Kind::CommitOfMany { 64 } else { 1 };
    let few = watch(plan, who, COMMITS, records_each)?;
    let many = watch(plan, who, 2 * COMMITS, records_each)?;
    let more = many.syncs.saturating_sub(few.syncs);
    let has_synchronous_file = many.has_synchronous_file;
    Ok(PerCommit { syncs: more as f64 / COMMITS as f64, has_synchronous_file })
}

/// A child that appends, and is watched.
fn watch(
    plan: &Plan,
    candidate: &Candidate,
    commits: u64,
    records_each: u64,
) -> Result<SyncCount, MeasureError> {
    let program = plan.child.as_ref().ok_or(MeasureError::NotOffered("needs a second process"))?;
    let at = tempfile::tempdir_in(&plan.directory).doing("make a directory")?;
    let errand = Errand {
        candidate: candidate.name.to_string(),
        mode: Mode::Durable,
        payload: 256,
        commits,
        records_each,
        crashes: false,
    };
    let trace = at.path().join("trace");
    let child = Command::new("strace")
        .args(["-f", "-e", "trace=fsync,fdatasync,msync,sync,syncfs,open,openat", "-o"])
        .arg(&trace)
        .arg(program)
        .args(errand.arguments())
        .arg(at.path().join("store"))
        .stdout(Stdio::null())
        .output()
        .doing("start strace")?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr)).doing("watch a child");
    }
    seen_in(&trace)
}

fn seen_in(trace: &Path) -> Result<SyncCount, MeasureError> {
    Ok(parse(&std::fs::read_to_string(trace).doing("read what strace saw")?))
}

/// A call that others interrupt is on two lines, of which the first one counts.
fn parse(trace: &str) -> SyncCount {
    let calls =
        || trace.lines().filter_map(|line| line.split_once(' ').map(|(_, call)| call.trim()));
    let is_sync = |call: &&str| {
        ["fsync(", "fdatasync(", "sync(", "syncfs("].iter().any(|name| call.starts_with(name))
            || (call.starts_with("msync(") && call.contains("MS_SYNC"))
    };
    let opens_synchronous = |call: &str| {
        call.starts_with("open") && (call.contains("O_DSYNC") || call.contains("O_SYNC"))
    };
    SyncCount {
        syncs: calls().filter(is_sync).count() as u64,
        has_synchronous_file: calls().any(opens_synchronous),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_counted_once_and_asynchronous_ones_never() {
        let trace = "11 openat(AT_FDCWD, \"log\", O_RDWR|O_CREAT, 0600) = 3\n\
                     11 fdatasync(3) = 0\n\
                     12 fsync(4 <unfinished ...>\n\
                     11 msync(0x7f, 4096, MS_ASYNC) = 0\n\
                     12 <... fsync resumed>) = 0\n\
                     11 msync(0x7f, 4096, MS_SYNC) = 0\n";
        assert_eq!(parse(trace), SyncCount { syncs: 3, has_synchronous_file: false });
        let synchronous = "1 openat(AT_FDCWD, \"meta\", O_RDWR|O_DSYNC) = 5\n";
        assert!(parse(synchronous).has_synchronous_file);
    }

    #[test]
    fn who_syncs_less_than_once_is_not_counted() {
        let each = |syncs, has_synchronous_file| PerCommit { syncs, has_synchronous_file };
        assert_eq!(each(1.0, false).too_few(), None);
        assert_eq!(each(0.0, true).too_few(), None);
        assert!(each(0.5, false).too_few().unwrap().contains("0.50"));
    }
}
