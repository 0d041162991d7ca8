//! The processes of an attempt while it ran, by the snapshots that its recorder took.

use holdpoint_domain::evidence_capture::ResourceSnapshot;
use holdpoint_domain::governed::ExecutionLoop;

/// The processes of an attempt over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageStretch {
    /// Length that the command had run at its end, in nanoseconds.
    pub until_ns: u64,
    /// The most processes in it.
    pub processes: u64,
    /// The most resident memory, in bytes.
    pub resident_bytes: u64,
    /// Processor time in it, in hundredths of the time that it lasted.
    pub processor: u64,
}

/// The snapshots of an attempt as so many stretches at most, each up to the last of one snapshot or
/// of several.
#[must_use]
pub fn stretches(entity: &ExecutionLoop, attempt: u8, most: usize) -> Vec<UsageStretch> {
    let snapshots: Vec<&ResourceSnapshot> = entity.snapshots(attempt).collect();
    let of_each = snapshots.len().div_ceil(most.max(1)).max(1);
    let (mut ran, mut used) = (0, 0);
    let stretch = |group: &[&ResourceSnapshot]| {
        let last = group.last()?;
        let cpu = last.user_cpu_ns.saturating_add(last.system_cpu_ns);
        let lasted = last.ran_ns.saturating_sub(ran).max(1);
        // What ended, and was waited for by nobody, is counted no more.
        let spent = u128::from(cpu.saturating_sub(used)) * 100 / u128::from(lasted);
        (ran, used) = (last.ran_ns, cpu);
        Some(UsageStretch {
            until_ns: last.ran_ns,
            processes: group.iter().map(|it| it.processes).max().unwrap_or(0),
            resident_bytes: group.iter().map(|it| it.resident_bytes).max().unwrap_or(0),
            processor: u64::try_from(spent).unwrap_or(u64::MAX),
        })
    };
    snapshots.chunks(of_each).filter_map(stretch).collect()
}
