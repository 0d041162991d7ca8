//! Statements of `/proc` about processes: their groups and their memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::child_calls::share_memory;
use crate::raw_file::{open_raw, read_to_end};

/// The kernel's mark on a process that was forked and has not yet executed a program.
const FORKED_WITHOUT_EXEC: u64 = 0x40;

/// The longest text that is read, in bytes: a list of a million children.
const TEXT_MAX: u64 = 8 << 20;

/// Number of times descendants are looked for at most until two looks in a row find the same.
const LOOKS_MAX: usize = 8;

/// A `/proc` that shows this process under the number by which it knows itself.
///
/// There is none on systems without `/proc`, nor inside a namespace of processes that sees the
/// `/proc` of another one: what it says there is about other processes.
///
/// Descendants are read from the lists of children that the kernel keeps for each thread. The
/// whole of `/proc` is walked only where the kernel was built without them.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessTable {
    lists_children: bool,
}

/// Processes to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// Those of a group, wherever they are.
    Group(Pid),
    /// Those of a group that descend from a process.
    GroupBelow {
        /// The group.
        group: Pid,
        /// The process.
        of: Pid,
    },
    /// Those that a process started, and those that these started, wherever they went.
    Descendants(Pid),
}

/// One process, as its `stat` file describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    parent: i32,
    pub(super) group: i32,
    /// Time at which it was started, in the kernel's ticks: with the number, it tells the process
    /// from every other.
    pub(super) started: u64,
    has_ended: bool,
    pub(super) is_stopped: bool,
    has_executed: bool,
    resident_bytes: u64,
    /// Processor time of its own.
    own: Ticks,
    /// Processor time of the processes that it waited for, and of those that they waited for.
    waited_for: Ticks,
}

/// Processor time, in the kernel's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) user: u64,
    pub(super) system: u64,
}

impl Ticks {
    const fn and(self, other: Self) -> Self {
        let user = self.user.saturating_add(other.user);
        Self { user, system: self.system.saturating_add(other.system) }
    }
}

/// Processes together: their number, their memory, their processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeUsage {
    /// Number of them that live.
    pub(super) processes: u64,
    /// Their resident memory, in bytes. A page that several of them share counts for each.
    pub(super) resident_bytes: u64,
    /// Processor time, theirs and of those that they waited for.
    pub(super) cpu: Ticks,
}

impl Process {
    /// Returns whether both are the same process.
    fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

impl ProcessTable {
    /// Looks for a usable `/proc`.
    pub(super) fn find() -> Option<Self> {
        let own = fs::read_link("/proc/self").ok()?;
        let expected = PathBuf::from(rustix::process::getpid().as_raw_nonzero().to_string());
        let own_thread = rustix::thread::gettid().as_raw_nonzero();
        let children = format!("/proc/self/task/{own_thread}/children");
        (own == expected).then(|| Self { lists_children: fs::metadata(children).is_ok() })
    }

    /// The processes among some that have not ended.
    pub(super) fn living(self, among: Among) -> Vec<Process> {
        match among {
            Among::Group(group) => self.living_members(group),
            Among::Descendants(of) => self.living_descendants(of),
            Among::GroupBelow { group, of } => {
                let mut found = self.living_descendants(of);
                found.retain(|process| process.group == group.as_raw_nonzero().get());
                found
            }
        }
    }

    /// The processes of a group that have not ended. Walks all of `/proc`: nothing lists them.
    pub(super) fn living_members(self, group: Pid) -> Vec<Process> {
        let group = group.as_raw_nonzero().get();
        let is_member = |process: &Process| process.group == group && !process.has_ended;
        self.all().filter(is_member).collect()
    }

    /// Returns what a process started and what that started, as far as it has not ended. Looks
    /// until it finds the same twice: one that lost its parent during a look can be missing from
    /// it.
    fn living_descendants(self, of: Pid) -> Vec<Process> {
        let mut found = self.glance(of);
        for _ in 0..LOOKS_MAX {
            let again = self.glance(of);
            let is_same = again.len() == found.len()
                && again.iter().zip(&found).all(|(one, other)| one.is(other));
            found = again;
            if is_same {
                break;
            }
        }
        found.retain(|process| !process.has_ended);
        found
    }

    /// Tells if descendants are found without a walk over all of `/proc`.
    pub(super) const fn lists_children(self) -> bool {
        self.lists_children
    }

    /// The descendants of a process as one look finds them, with the processor time of those that
    /// the process itself waited for. It is counted as well where it is one of those asked for.
    pub(super) fn tree_usage(self, of: Pid, counts_itself: bool) -> TreeUsage {
        let mut found = self.glance(of);
        let mut used = TreeUsage::default();
        match self.process(of.as_raw_nonzero().get()) {
            Some(root) if counts_itself => found.push(root),
            Some(root) => used.cpu = root.waited_for,
            None => {}
        }
        for process in found {
            used.cpu = used.cpu.and(process.own).and(process.waited_for);
            if process.has_ended {
                continue;
            }
            used.processes = used.processes.saturating_add(1);
            // Between `vfork` and `exec` the memory is the parent's.
            if process.has_executed || !share_memory(process.pid, process.parent) {
                used.resident_bytes = used.resident_bytes.saturating_add(process.resident_bytes);
            }
        }
        used
    }

    /// The descendants of a process as one look finds them, in the order of their numbers.
    fn glance(self, of: Pid) -> Vec<Process> {
        let of = of.as_raw_nonzero().get();
        let mut found = match self.lists_children {
            true => self.listed_descendants(of),
            false => self.walked_descendants(of),
        };
        found.sort_unstable_by_key(|process| process.pid);
        found
    }

    fn listed_descendants(self, of: i32) -> Vec<Process> {
        let (mut parents, mut seen, mut found) = (vec![of], BTreeSet::from([of]), Vec::new());
        while let Some(parent) = parents.pop() {
            // A number whose process has another parent by now may be a stranger's.
            let children = self.children(parent).into_iter().filter_map(|pid| self.process(pid));
            for child in children.filter(|child| child.parent == parent) {
                if seen.insert(child.pid) {
                    parents.push(child.pid);
                    found.push(child);
                }
            }
        }
        found
    }

    fn walked_descendants(self, of: i32) -> Vec<Process> {
        let mut by_parent: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
        self.all().for_each(|process| by_parent.entry(process.parent).or_default().push(process));
        let (mut parents, mut found) = (vec![of], Vec::new());
        // Each list of children is taken out, so that no process is met twice.
        while let Some(parent) = parents.pop() {
            let children = by_parent.remove(&parent).unwrap_or_default();
            parents.extend(children.iter().map(|child| child.pid));
            found.extend(children);
        }
        found
    }

    /// The direct children of this process. Empty where the kernel does not list them.
    pub(super) fn own_children(self) -> Vec<i32> {
        self.children(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// The direct children of all threads of a process, as the kernel lists them.
    fn children(self, of: i32) -> Vec<i32> {
        let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
        let lists = threads.filter_map(|it| text_of(it.path().join("children")));
        let pids = lists.flat_map(|list| {
            let pids = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<i32>>()
        });
        pids.collect()
    }

    /// Returns whether one process is a child of another.
    pub(super) fn is_child(self, pid: Pid, of: Pid) -> bool {
        let [pid, of] = [pid, of].map(|pid| pid.as_raw_nonzero().get());
        self.process(pid).is_some_and(|process| process.parent == of)
    }

    /// Returns whether a process is still the one that was seen.
    pub(super) fn is_still(self, seen: &Process) -> bool {
        self.process(seen.pid).is_some_and(|now| now.started == seen.started)
    }

    /// The name that a process gave itself or was given; any bytes.
    pub(super) fn name(self, process: &Process) -> Option<Vec<u8>> {
        let mut name = fs::read(format!("/proc/{}/comm", process.pid)).ok()?;
        name.pop_if(|last| *last == b'\n');
        Some(name)
    }

    /// The largest resident size that a process has had since it executed its program, in bytes.
    /// `None` before that, for it is still the memory of its parent; and after its end.
    pub(super) fn peak_resident_bytes(self, pid: Pid) -> Option<u64> {
        let pid = pid.as_raw_nonzero().get();
        let executed = self.process(pid).is_some_and(|process| process.has_executed);
        if !executed {
            return None;
        }
        kibibytes_after(&text_of(format!("/proc/{pid}/status"))?, "VmHWM:")
    }

    /// The largest resident size that this very process has had, in bytes.
    pub(super) fn own_peak_resident_bytes(self) -> Option<u64> {
        kibibytes_after(&text_of("/proc/self/status")?, "VmHWM:")
    }

    /// The memory that processes really hold: a page shared by n of them counts 1/n for each.
    /// This is slow for large processes.
    ///
    /// A process between `vfork` and `exec` still runs in its parent's memory and counts nothing.
    pub(super) fn shared_out_bytes(self, processes: &[Process]) -> u64 {
        let own_memory = processes
            .iter()
            .filter(|process| process.has_executed || !share_memory(process.pid, process.parent));
        own_memory.map(|process| self.share_of(process.pid)).sum()
    }

    /// Returns what one process holds now, which is nothing once it has ended. Where the kernel
    /// keeps the share to itself, the plain size stands for it.
    fn share_of(self, pid: i32) -> u64 {
        let rollup = text_of(format!("/proc/{pid}/smaps_rollup"));
        if let Some(share) = rollup.and_then(|text| kibibytes_after(&text, "Pss:")) {
            return share;
        }
        let living = self.process(pid).filter(|process| !process.has_ended);
        living.map_or(0, |process| process.resident_bytes)
    }

    fn all(self) -> impl Iterator<Item = Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(move |pid: i32| self.process(pid))
    }

    fn process(self, pid: i32) -> Option<Process> {
        parse_stat(pid, &text_of(format!("/proc/{pid}/stat"))?)
    }
}

/// A file of `/proc`, by few calls: the kernel makes up what it says when it is read. The name of a
/// program in it may be any bytes.
fn text_of(path: impl AsRef<Path>) -> Option<String> {
    let bytes = read_to_end(open_raw(path.as_ref(), OFlags::empty()).ok()?, TEXT_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the number of these that this process may not signal: they belong to another user.
pub(super) fn count_beyond_reach(processes: &[Process]) -> u32 {
    let count = processes.iter().filter(|process| is_beyond_reach(process)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns whether a process belongs to another user, so that this one may not signal it.
pub(super) fn is_beyond_reach(process: &Process) -> bool {
    let may_not = |pid: Pid| test_kill_process(pid) == Err(Errno::PERM);
    Pid::from_raw(process.pid).is_some_and(may_not)
}

/// The sum of what processes have resident. Pages that they share count once for each.
pub(super) fn resident_bytes(processes: &[Process]) -> u64 {
    processes.iter().map(|process| process.resident_bytes).sum()
}

/// Reads `/proc/<pid>/stat`: the fields after the parenthesis that closes the program's name,
/// which may itself hold spaces and parentheses.
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let flags: u64 = fields.nth(3)?.parse().ok()?;
    // Who cannot be counted is a process nevertheless.
    let mut number = || Some(fields.next()?.parse().unwrap_or(0));
    let [_, _, _, _, user, system, user_waited, system_waited] =
        [number()?, number()?, number()?, number()?, number()?, number()?, number()?, number()?];
    let started = fields.nth(4)?.parse().ok()?;
    let pages: u64 = fields.nth(1)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        group,
        started,
        has_ended: matches!(state, "Z" | "X" | "x"),
        is_stopped: matches!(state, "T" | "t"),
        has_executed: flags & FORKED_WITHOUT_EXEC == 0,
        resident_bytes: pages.saturating_mul(rustix::param::page_size() as u64),
        own: Ticks { user, system },
        waited_for: Ticks { user: user_waited, system: system_waited },
    })
}

/// The number of kibibytes in the line that begins with `key`, as bytes.
fn kibibytes_after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_fields_are_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "77 (a ) (b) S 5 42 42 0 -1 4194304 9 0 0 0 1 2 3 4 20 0 1 0 99 8192 3 184";
        let process = parse_stat(77, stat).expect("a whole line");
        let page = rustix::param::page_size() as u64;
        let expected = Process {
            pid: 77,
            parent: 5,
            group: 42,
            started: 99,
            has_ended: false,
            is_stopped: false,
            has_executed: true,
            resident_bytes: 3 * page,
            own: Ticks { user: 1, system: 2 },
            waited_for: Ticks { user: 3, system: 4 },
        };
        assert_eq!(process, expected);
    }

    #[test]
    fn a_forked_process_and_a_dead_one_are_told_apart() {
        let forked = "7 (x) R 5 42 42 0 -1 64 9 0 0 0 1 2 0 0 20 0 1 0 99 8192 3 184";
        let dead = "7 (x) Z 5 42 42 0 -1 0 9 0 0 0 1 2 0 0 20 0 1 0 99 0 0 184";
        assert!(!parse_stat(7, forked).expect("a whole line").has_executed);
        assert!(parse_stat(7, dead).expect("a whole line").has_ended);
    }

    #[test]
    fn cut_or_foreign_text_is_no_process() {
        assert_eq!(parse_stat(7, ""), None);
        assert_eq!(parse_stat(7, "7 (x) R 5"), None);
        assert_eq!(parse_stat(7, "7 (x) R a b c d e f g h i j k l m n o p q r s t u v w"), None);
    }

    #[test]
    fn sizes_are_read_in_bytes() {
        let text = "VmPeak:\t  900 kB\nVmHWM:\t  123 kB\n";
        assert_eq!(kibibytes_after(text, "VmHWM:"), Some(123 * 1024));
        assert_eq!(kibibytes_after(text, "Pss:"), None);
    }
}
