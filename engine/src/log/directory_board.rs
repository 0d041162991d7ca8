//! LOCK of a real directory, for whoever does not hold it.

use super::disk::LockName;
use super::storage::Board;
use holdpoint_log_files::map::WaitPage;
use holdpoint_log_files::{DirectoryStorage, ReadFile};
use holdpoint_log_format::board::Ticket;
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use holdpoint_log_format::names;
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

/// Time that to sleep where the system cannot wait for a word of a file.
const NAP: Duration = Duration::from_millis(1);

/// LOCK, open and not held through this.
#[derive(Debug)]
pub(super) struct DirectoryBoard {
    file: File,
    named: LockName,
    /// `None` where the file cannot be mapped. Most who write wait for nobody, and map nothing.
    page: OnceLock<Option<WaitPage>>,
}

impl DirectoryBoard {
    pub(super) fn new(file: File, log: &DirectoryStorage) -> io::Result<Self> {
        let named = LockName::new(&file, log, names::LOCK)?;
        Ok(Self { file, named, page: OnceLock::new() })
    }

    fn page(&self) -> Option<&WaitPage> {
        self.page.get_or_init(|| WaitPage::of(&self.file).ok()).as_ref()
    }
}

impl Board for DirectoryBoard {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; LOCK_FILE_LENGTH];
        let read = ReadFile::read_at(&self.file, 0, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset as u64)
    }

    fn has_its_name(&self) -> io::Result<bool> {
        self.named.has_its_name()
    }

    fn wait(&self, offset: usize, seen: u32, bits: u32, within: Duration) {
        let has_waited = self.page().is_some_and(|page| page.wait(offset, seen, bits, within));
        if !has_waited {
            std::thread::sleep(NAP.min(within));
        }
    }

    fn wake(&self, offset: usize, bits: u32, most: u32) {
        if let Some(page) = self.page() {
            page.wake(offset, bits, most);
        }
    }

    fn ticket(&self) -> Ticket {
        let pid = std::process::id();
        Ticket { number: since_boot(), pid, start: own_start(pid) }
    }

    fn is_there(&self, ticket: &Ticket) -> bool {
        start_of(ticket.pid).is_some_and(|start| start == ticket.start)
    }
}

/// Nanoseconds since boot: every process of the machine sees the same.
fn since_boot() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let (seconds, rest) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Returns when this process began, 0 where nobody says: asked once, for every turn needs it.
fn own_start(pid: u32) -> u64 {
    static KNOWN: Mutex<Option<(u32, u64)>> = Mutex::new(None);
    let mut known = KNOWN.lock();
    match *known {
        // A fork of this process has another number.
        Some((of, start)) if of == pid => start,
        _ => {
            let start = start_of(pid);
            *known = start.map(|start| (pid, start));
            start.unwrap_or_default()
        }
    }
}

/// Returns when a process that has not ended began, in the kernel's ticks; `None` where there is
/// none, or nobody says.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold any bytes.
    let behind_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(stat.get(behind_name + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    if has_ended { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::log::{LockFile, Storage};
    use holdpoint_log_format::board::{SYNC_WORD_AT, word};
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn a_ticket_is_of_a_process_that_is_there_and_of_no_later_one_with_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let board = DirectoryStorage::new(directory.path()).board().unwrap().unwrap();
        let own = board.ticket();
        assert!(own.start > 0 && board.is_there(&own));
        assert!(!board.is_there(&Ticket { start: own.start + 1, ..own }));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!board.is_there(&Ticket { pid, ..own }));
        assert!(board.ticket().number > own.number);
    }

    #[test]
    fn who_waits_for_a_word_is_woken_by_another_handle_and_goes_on_by_itself_where_nobody_wakes() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        storage.try_lock().unwrap().unwrap().write(&[0; 64]).unwrap();
        let boards = [(); 2].map(|()| storage.board().unwrap().unwrap());
        let [waits, wakes] = &boards;
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| waits.wait(SYNC_WORD_AT, 0, 1 << 3, Duration::from_secs(60)));
            while began.elapsed() < Duration::from_secs(30) {
                wakes.wake(SYNC_WORD_AT, 1 << 4, u32::MAX);
                wakes.wake(SYNC_WORD_AT, 1 << 3, u32::MAX);
                std::thread::yield_now();
                wakes.write_at(SYNC_WORD_AT, &[1, 0, 0, 0]).unwrap();
                if began.elapsed() > Duration::from_millis(200) {
                    break;
                }
            }
        });
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert_eq!(word(&waits.read().unwrap(), SYNC_WORD_AT), 1);
        // The word is another one by now, and an empty file has none.
        waits.wait(SYNC_WORD_AT, 0, 1, Duration::from_secs(60));
        std::fs::write(directory.path().join("LOCK"), "").unwrap();
        waits.wait(SYNC_WORD_AT, 0, 1, Duration::from_secs(60));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }
}
