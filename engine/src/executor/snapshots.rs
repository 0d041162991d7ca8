//! Snapshots of the processes of a command while it runs: after 1, 2, 4, ... seconds, and then once
//! a minute.
//!
//! A look reads the kernel's lists of children from the command's guard downwards, or from the
//! command itself where it has none, and never all of `/proc`.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::process_table::{Among, ProcessTable};

/// The last of the seconds that double.
const LAST_DOUBLED: u64 = 32;
/// Behind it, so often.
const MINUTE: u64 = 60;
/// Behind so many minutes the time between two snapshots doubles: their number is bounded.
const MINUTES: u64 = 1024;

/// Most snapshots of one command, however long it runs.
pub(crate) const SNAPSHOTS_MAX: usize = 1_078;

/// The processes of a command at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessSnapshot {
    /// Time: UTC, in nanoseconds.
    pub(crate) wall_ns: u64,
    /// Time that the command had run.
    pub(crate) ran: Duration,
    /// Number of them that lived.
    pub(crate) processes: u64,
    /// Their resident memory, in bytes.
    pub(crate) resident_bytes: u64,
    /// Processor time in programs.
    pub(crate) user_cpu: Duration,
    /// Processor time in the system.
    pub(crate) system_cpu: Duration,
}

/// Looks at the processes of a running command when that is due.
#[derive(Debug)]
pub(super) struct SnapshotWatch {
    table: ProcessTable,
    began: Instant,
    /// So long after the beginning, in seconds.
    next: u64,
}

impl SnapshotWatch {
    /// Watches a command that was let go then; `None` where only a walk over `/proc` would find its
    /// processes.
    pub(super) fn of(table: Option<ProcessTable>, began: Instant) -> Option<Self> {
        let table = table.filter(|table| table.lists_children())?;
        Some(Self { table, began, next: 1 })
    }

    /// Returns when the next look is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.began.checked_add(Duration::from_secs(self.next))
    }

    /// Looks if that is due. What was due while this process was stopped is not made up for.
    pub(super) fn look(
        &mut self,
        (leader, among): (Pid, Among),
        now: Instant,
        wall_ns: impl FnOnce() -> u64,
    ) -> Option<ProcessSnapshot> {
        let ran = now.saturating_duration_since(self.began);
        if ran.as_secs() < self.next {
            return None;
        }
        while self.next <= ran.as_secs() {
            self.next = behind(self.next);
        }
        let used = match among {
            Among::Descendants(of) => self.table.tree_usage(of, false),
            Among::Group(_) | Among::GroupBelow { .. } => self.table.tree_usage(leader, true),
        };
        (used.processes > 0).then(|| ProcessSnapshot {
            wall_ns: wall_ns(),
            ran,
            processes: used.processes,
            resident_bytes: used.resident_bytes,
            user_cpu: of_ticks(used.cpu.user),
            system_cpu: of_ticks(used.cpu.system),
        })
    }
}

/// The second of the snapshot behind that of a second.
const fn behind(second: u64) -> u64 {
    match second {
        LAST_DOUBLED => MINUTE,
        0..LAST_DOUBLED => second * 2,
        _ if second < MINUTES * MINUTE => second + MINUTE,
        _ => second.saturating_mul(2),
    }
}

fn of_ticks(ticks: u64) -> Duration {
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    let rest = (ticks % a_second).saturating_mul(1_000_000_000) / a_second;
    Duration::from_secs(ticks / a_second).saturating_add(Duration::from_nanos(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(1), |second| Some(behind(*second)))
    }

    #[test]
    fn snapshots_are_due_at_doubling_seconds_and_then_once_a_minute() {
        let first: Vec<u64> = seconds().take(10).collect();
        assert_eq!(first, [1, 2, 4, 8, 16, 32, 60, 120, 180, 240]);
    }

    #[test]
    fn their_number_is_bounded() {
        let count = seconds().take_while(|second| *second < u64::MAX).count();
        assert_eq!(count, SNAPSHOTS_MAX);
    }

    #[test]
    fn what_was_due_while_nobody_looked_is_not_made_up_for() {
        let Some(table) = ProcessTable::find() else { return };
        let began = Instant::now();
        let Some(mut watch) = SnapshotWatch::of(Some(table), began) else { return };
        let own = rustix::process::getpid();
        let mut look = |seconds| {
            let now = began + Duration::from_secs(seconds);
            watch.look((own, Among::Group(own)), now, || 7)
        };
        assert_eq!(look(0), None);
        let snapshot = look(5).expect("three are due, and one is taken");
        assert!(snapshot.processes >= 1 && snapshot.resident_bytes > 0, "{snapshot:?}");
        assert_eq!(look(7), None);
        assert!(look(8).is_some());
    }
}
