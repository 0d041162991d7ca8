//! Watching how much memory the command holds.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::process_table::{Among, ProcessTable, resident_bytes};

/// Interval at which a command with a memory limit is looked at.
const LIMIT_INTERVAL: Duration = Duration::from_millis(20);
/// Looking may take at most one part in this many of the time, however many processes there are.
const LOOKING_SHARE: u32 = 10;
/// Time after which a command is looked at first, and without a limit for the second time; then
/// twice as late each time.
const PEAK_INTERVAL_MIN: Duration = Duration::from_millis(1);
/// The longest time between two looks at a command without a limit.
const PEAK_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// The kernel's counters of resident pages lag behind by up to this much.
const COUNTER_SLACK_BYTES: u64 = 1024 * 1024;

/// Samples the memory of a running command.
#[derive(Debug)]
pub(super) struct MemoryWatch {
    table: Option<ProcessTable>,
    limit: Option<u64>,
    /// The peak of this process when the command was started out of it.
    own_peak: Option<u64>,
    seen: Option<u64>,
    interval: Duration,
    next: Instant,
}

impl MemoryWatch {
    /// To be called before the command is started, because it notes the size of this process.
    pub(super) fn new(table: Option<ProcessTable>, limit: Option<u64>) -> Self {
        Self {
            table,
            limit,
            own_peak: table.and_then(ProcessTable::own_peak_resident_bytes),
            seen: None,
            interval: PEAK_INTERVAL_MIN,
            next: Instant::now() + PEAK_INTERVAL_MIN,
        }
    }

    /// Returns when the next look is due; never where there is nothing to look at.
    pub(super) fn due(&self) -> Option<Instant> {
        self.table.map(|_| self.next)
    }

    /// Takes the peak of another process, out of which the command was started.
    pub(super) fn started_by(&mut self, peak: Option<u64>) {
        self.own_peak = peak.or(self.own_peak);
    }

    /// Looks if that is due. Returns the size seen when it is above the limit.
    pub(super) fn look(&mut self, leader: Pid, among: Among, now: Instant) -> Option<u64> {
        let table = self.table.filter(|_| now >= self.next)?;
        let above = match self.limit {
            Some(limit) => self.look_at(table, leader, among, limit),
            None => None,
        };
        self.note(table.peak_resident_bytes(leader));
        self.plan(now);
        above
    }

    /// The peak that is known once the kernel's own figure is in.
    ///
    /// The kernel starts its figure from the memory of the process that forked: it is about the
    /// command only when it is above our own peak.
    pub(super) fn peak(&self, kernel_figure: u64) -> Option<u64> {
        let floor = self.own_peak.map_or(0, |own| own.saturating_add(COUNTER_SLACK_BYTES));
        let told = (kernel_figure > floor).then_some(kernel_figure);
        told.max(self.seen)
    }

    /// The sum over the processes, and where that is too much what they really hold: a forked
    /// process shares most of its memory with its parent.
    fn look_at(
        &mut self,
        table: ProcessTable,
        leader: Pid,
        among: Among,
        limit: u64,
    ) -> Option<u64> {
        let members = table.living(among);
        let sum = resident_bytes(&members);
        let held = if sum > limit { table.shared_out_bytes(&members) } else { sum };
        // Until the leader runs its own program its memory is ours.
        table.peak_resident_bytes(leader)?;
        self.note(Some(held));
        (held > limit).then_some(held)
    }

    fn note(&mut self, size: Option<u64>) {
        self.seen = self.seen.max(size);
    }

    fn plan(&mut self, began: Instant) {
        let now = Instant::now();
        let pause = match self.limit {
            Some(_) => LIMIT_INTERVAL.max(now.saturating_duration_since(began) * LOOKING_SHARE),
            None => self.interval,
        };
        self.interval = self.interval.saturating_mul(2).min(PEAK_INTERVAL_MAX);
        self.next = now + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(own_peak: Option<u64>, seen: Option<u64>) -> MemoryWatch {
        MemoryWatch { own_peak, seen, ..MemoryWatch::new(None, None) }
    }

    #[test]
    fn the_kernels_figure_counts_only_above_the_peak_of_this_process() {
        let own = 8 << 20;
        assert_eq!(watch(Some(own), None).peak(own), None);
        assert_eq!(watch(Some(own), Some(5)).peak(own), Some(5));
        assert_eq!(watch(Some(own), Some(5)).peak(2 * own), Some(2 * own));
        assert_eq!(watch(None, None).peak(own), Some(own));
    }

    #[test]
    fn a_sum_over_the_processes_above_the_kernels_figure_stands() {
        assert_eq!(watch(Some(0), Some(100 << 20)).peak(50 << 20), Some(100 << 20));
    }
}
