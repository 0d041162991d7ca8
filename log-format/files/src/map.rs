//! The memory map: the one place with unsafe code.
//!
//! A mapping serves reads here and there in segments of this program's own logs. No reference to
//! mapped memory is ever made: one function copies a range out, and whoever reads checks the copy.
//! Nothing is written through a mapping: a store through a map dirties a whole large folio.
//!
//! # A file that shrinks
//!
//! Whoever touches a mapped page behind the end of its file is sent SIGBUS, which ends the process.
//! So nothing is mapped before the program, or whoever embeds this library, has asked for the
//! [`guard`]: a handler that puts zeros in the place of a mapping of ours and marks it, so that the
//! copy that was under way ends and is refused. Every other SIGBUS goes to the handler that was
//! there before. Where there is no guard, files are read with `pread`.
#![expect(
    unsafe_code,
    reason = "a memory map is unsafe by nature; the arguments are at the blocks"
)]

use crate::file_system::maps_show_changes;
use crate::storage::ReadFile;
use holdpoint_log_format::limits::SEGMENT_CAPACITY_MAX;
use libc::{c_int, c_void, siginfo_t};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence, fence};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{io, ptr};

/// More mappings than this are not made; the files are read then.
const MAPPINGS_MAX: usize = 1_024;

/// Every mapping that there is, for the handler: it can take no lock.
static SLOTS: [Slot; MAPPINGS_MAX] = [const { Slot::free() }; MAPPINGS_MAX];

/// Handler of SIGBUS before the guard.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Makes that a file which shrinks while it is mapped is an error and not the end of this process,
/// and so lets files be mapped. Installs a handler for SIGBUS in the whole process; a program does
/// that at its start, and an embedder where it knows of no other handler that is installed later
/// and does not hand on. Calling it again changes nothing. A thread that blocks SIGBUS must not
/// read what is mapped: the system ends a process that faults while it blocks the signal.
///
/// # Errors
/// The system refuses the handler. Files are then read, which is as right and less fast.
pub fn guard() -> io::Result<()> {
    static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_installed {
        return Ok(());
    }
    // Known before the handler can ask for it.
    let before = change_action(None)?;
    PREVIOUS.get_or_init(|| before);
    let mut action = before;
    action.sa_sigaction = handler_address();
    // The rest stays as it was, the blocked signals too: whom the handler hands on to finds that.
    action.sa_flags = before.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO | libc::SA_ONSTACK;
    change_action(Some(&action))?;
    *is_installed = true;
    Ok(())
}

/// Returns whether the guard's handler is in force: somebody may have installed another one since.
fn is_guarded() -> bool {
    change_action(None).is_ok_and(|now| now.sa_sigaction == handler_address())
}

fn handler_address() -> usize {
    on_bus_error as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize
}

/// Returns what handles SIGBUS, which is changed where that is asked for.
fn change_action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the new action is null or a live value, the old one a live, writable one, and neither
    // is kept. The only handler that is ever passed does what a handler may.
    let answer = unsafe {
        libc::sigaction(libc::SIGBUS, new.map_or(ptr::null(), ptr::from_ref), old.as_mut_ptr())
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: sigaction succeeded and so has filled the value in.
    Ok(unsafe { old.assume_init() })
}

/// The first page of a file by which processes wait for one another: who waits names a word of it,
/// and is woken by whoever names the same one. Nothing is read or written through it, so a file
/// that shrinks is no fault here: the system refuses to wait.
#[derive(Debug)]
pub struct WaitPage(MmapRaw);

impl WaitPage {
    /// Maps the page.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of(file: &File) -> io::Result<Self> {
        MmapOptions::new().len(UNIT).map_raw_read_only(file).map(Self)
    }

    /// Waits until somebody wakes one of `bits` of the word at `offset`, unless that is no longer
    /// `seen`, and for at most `within`. Gives false where the system refuses to wait.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn wait(&self, offset: usize, seen: u32, bits: u32, within: Duration) -> bool {
        // A time on the monotonic clock is what this operation takes.
        let until = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let nanoseconds = within.as_nanos().saturating_add(until.tv_nsec as u128);
        let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        let until = libc::timespec {
            tv_sec: until.tv_sec.saturating_add(seconds.try_into().unwrap_or(i64::MAX)) as _,
            tv_nsec: rest as _,
        };
        let operation = libc::FUTEX_WAIT_BITSET;
        self.call(offset, operation, seen, &raw const until, bits) == 0
            || [Some(libc::EAGAIN), Some(libc::EINTR), Some(libc::ETIMEDOUT)]
                .contains(&io::Error::last_os_error().raw_os_error())
    }

    /// This system has no such call.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn wait(&self, _: usize, _: u32, _: u32, _: Duration) -> bool {
        false
    }

    /// Wakes at most so many who wait for one of `bits` of the word at `offset`.
    #[cfg(target_os = "linux")]
    pub fn wake(&self, offset: usize, bits: u32, most: u32) {
        let most = most.min(i32::MAX as u32);
        self.call(offset, libc::FUTEX_WAKE_BITSET, most, ptr::null(), bits);
    }

    /// This system has no such call.
    #[cfg(not(target_os = "linux"))]
    pub fn wake(&self, _: usize, _: u32, _: u32) {}

    #[cfg(target_os = "linux")]
    fn call(
        &self,
        offset: usize,
        operation: c_int,
        value: u32,
        until: *const libc::timespec,
        bits: u32,
    ) -> libc::c_long {
        let word = self.0.as_ptr().wrapping_add(offset % UNIT / 4 * 4);
        let none = ptr::null::<u32>();
        // SAFETY: the word is aligned and lies within the mapping, which lives as long as `self`.
        // The system reads it, and answers where nothing is behind it; no memory is written. The
        // time is null or a live value, and is not kept.
        unsafe { libc::syscall(libc::SYS_futex, word, operation, value, until, none, bits) }
    }
}

/// A failure to write this file back that this descriptor has not been told of: of what was written
/// since it was opened, by anybody. Nothing is written and, but for the first page, nothing waited
/// for.
///
/// # Errors
/// The failure. What was written may not be on the disk.
#[cfg(target_os = "linux")]
pub fn check_written_back(file: &File) -> io::Result<()> {
    // SAFETY: the call takes numbers, and the descriptor is open.
    let answer =
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 1, libc::SYNC_FILE_RANGE_WAIT_BEFORE) };
    match answer {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // A file system, or a sandbox, without this call tells at the next sync alone.
            error if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            error if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
            error => Err(error),
        },
    }
}

/// This system tells one descriptor alone.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn check_written_back(_: &File) -> io::Result<()> {
    Ok(())
}

/// A file's bytes, mapped, as many as there were when it was mapped.
#[derive(Debug)]
pub struct Map {
    mapping: MmapRaw,
    slot: &'static Slot,
}

impl Map {
    /// Maps a segment's file. `None` where there is no [`guard`], where a map might not show what
    /// is written to the file, or where the system refuses: it is to be read then.
    pub(crate) fn of(file: &File) -> Option<Self> {
        if !is_guarded() || !maps_show_changes(file).ok()? {
            return None;
        }
        let length = file.metadata().ok()?.len().min(SEGMENT_CAPACITY_MAX);
        let length = usize::try_from(length).ok().filter(|length| *length > 0)?;
        let mapping = MmapOptions::new().len(length).map_raw_read_only(file).ok()?;
        let slot = Slot::take(mapping.as_ptr() as usize, mapping.len())?;
        Some(Self { mapping, slot })
    }

    /// Copies the bytes from `offset` on into `buffer`: the only place where mapped memory is read.
    ///
    /// Never inlined, so that nobody who looks at the copy is made to look at the map again.
    #[inline(never)]
    fn copy_to(&self, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len());
        if end.is_none_or(|end| end > self.mapping.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: the range lies within the mapping, which lives as long as `self` and is readable;
        // the buffer is private and so does not overlap it. Another process may write to the file
        // meanwhile: any bytes will do, for the caller checks the copy. Where the file is shorter
        // by now, the handler has zeros in the place of the whole mapping before this goes on.
        unsafe {
            let start = self.mapping.as_ptr().add(offset);
            ptr::copy_nonoverlapping(start, buffer.as_mut_ptr(), buffer.len());
        }
        // The handler runs in this thread, in the middle of the copy, or in another one that reads
        // the same map: the mark is looked at behind the last byte, by the processor too.
        compiler_fence(Ordering::SeqCst);
        fence(Ordering::Acquire);
        if self.is_broken() { Err(shorter()) } else { Ok(()) }
    }

    /// Returns whether it is all of a file that has so many bytes now, and may be read.
    pub(crate) fn is_of(&self, length: u64) -> bool {
        let is_all = self.mapping.len() as u64 == length.min(SEGMENT_CAPACITY_MAX);
        is_all && !self.is_broken() && is_guarded()
    }

    /// Returns whether the file was shorter than the mapping when it was read: nothing more is read
    /// of it.
    fn is_broken(&self) -> bool {
        self.slot.is_broken.load(Ordering::SeqCst)
    }
}

impl ReadFile for Map {
    fn length(&self) -> io::Result<u64> {
        Ok(self.mapping.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.mapping.len());
        let length = buffer.len().min(self.mapping.len() - offset);
        let part = buffer.get_mut(..length).unwrap_or_default();
        self.copy_to(offset, part)?;
        Ok(length)
    }
}

impl Drop for Map {
    /// Before the mapping goes, so that the handler never takes what comes there next for ours.
    fn drop(&mut self) {
        self.slot.give_back();
    }
}

fn shorter() -> io::Error {
    let message = "it became shorter, or unreadable, while it was mapped";
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// Place of a mapping. A thread that faults in one holds it, so that its slot does not change while
/// the handler looks at it.
#[derive(Debug)]
struct Slot {
    /// One number, so that the handler sees no half of another mapping: where it starts and how
    /// long it is, both in units of [`UNIT`]. 0: free.
    extent: AtomicU64,
    /// The handler has put zeros in its place.
    is_broken: AtomicBool,
}

/// Mappings start at multiples of this, on every system.
const UNIT: usize = 4_096;
/// Bits of an extent that say how long it is.
const LENGTH_BITS: u32 = 17;

const _: () = assert!(SEGMENT_CAPACITY_MAX / (UNIT as u64) < 1 << LENGTH_BITS);

impl Slot {
    const fn free() -> Self {
        Self { extent: AtomicU64::new(0), is_broken: AtomicBool::new(false) }
    }

    /// Takes a free slot for a mapping; `None` where there is none.
    fn take(start: usize, length: usize) -> Option<&'static Self> {
        let units = length.div_ceil(UNIT) as u64;
        let extent = ((start / UNIT) as u64).checked_mul(1 << LENGTH_BITS)? | units;
        let take = |slot: &&Slot| {
            slot.extent.compare_exchange(0, extent, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let slot = SLOTS.iter().find(take)?;
        slot.is_broken.store(false, Ordering::SeqCst);
        Some(slot)
    }

    fn give_back(&self) {
        self.extent.store(0, Ordering::SeqCst);
    }

    /// Puts zeros in the place of the mapping if an address lies in it.
    fn breaks_at(&self, address: usize) -> bool {
        let extent = self.extent.load(Ordering::SeqCst);
        let start = (extent >> LENGTH_BITS) as usize * UNIT;
        let length = (extent & ((1 << LENGTH_BITS) - 1)) as usize * UNIT;
        if address.checked_sub(start).is_none_or(|at| at >= length) {
            return false;
        }
        self.is_broken.store(true, Ordering::SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        let place = ptr::without_provenance_mut(start);
        // SAFETY: the range is a mapping of ours as a whole, which the thread that faulted holds
        // for as long as this takes. Nothing but copies reads it, and each of those looks at the
        // mark, which is set by now. On the systems that this is built for, `mmap` is a system call
        // and nothing more, and so may be called here.
        let placed = unsafe { libc::mmap(place, length, libc::PROT_READ, flags, -1, 0) };
        placed == place
    }
}

/// Handles SIGBUS. It may run in any thread at any instruction, in several at once, and calls only
/// what is async-signal-safe: atomics, `mmap`, `sigaction`, `raise`, and the handler before it.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a live value to a handler that was installed with SA_SIGINFO.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_fault = is_fault(code);
    // SAFETY: it is this thread's own number, which is there as long as the thread.
    let number = unsafe { *errno() };
    let is_ours = is_fault && SLOTS.iter().any(|slot| slot.breaks_at(address));
    // SAFETY: as above; whoever was interrupted finds it as it was.
    unsafe { *errno() = number };
    if !is_ours {
        hand_on(signal, info, context, is_fault);
    }
}

/// Returns whether the interrupted instruction is what cannot go on. It is not where somebody sent
/// the signal, nor where the system only tells of broken memory (`BUS_MCEERR_AO`, 5): then no
/// thread holds what lies at the address.
fn is_fault(code: c_int) -> bool {
    // BUS_ADRALN, BUS_ADRERR, BUS_OBJERR, Linux's BUS_MCEERR_AR, and SI_KERNEL.
    matches!(code, 1..=4 | 0x80)
}

/// Does what was done before the guard.
fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_fault: bool) {
    let Some(before) = PREVIOUS.get() else { return };
    let handler = before.sa_sigaction;
    // A fault cannot be ignored: the instruction is tried again, and ends the process.
    let is_ended = handler == libc::SIG_DFL || (handler == libc::SIG_IGN && is_fault);
    if is_ended || before.sa_flags & libc::SA_RESETHAND != 0 {
        let _ = change_action(Some(&libc::sigaction { sa_sigaction: libc::SIG_DFL, ..*before }));
    }
    match handler {
        libc::SIG_IGN => {}
        libc::SIG_DFL if is_fault => {}
        // SAFETY: it takes a number. The signal comes when this handler has returned.
        libc::SIG_DFL => unsafe {
            libc::raise(signal);
        },
        // SAFETY: it is the address of a handler that the system held for this signal, of this
        // form.
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            let call: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            call(signal, info, context);
        },
        // SAFETY: as above, of the form without information.
        handler => unsafe {
            let call: extern "C" fn(c_int) = std::mem::transmute(handler);
            call(signal);
        },
    }
}

/// Returns where this thread keeps the number of its last error.
///
/// # Safety
/// The address is this thread's own and must not be handed to another.
unsafe fn errno() -> *mut c_int {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes nothing and gives an address.
    return unsafe { libc::__errno_location() };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: it takes nothing and gives an address.
    return unsafe { libc::__error() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, ExitStatus};
    use std::sync::{Barrier, MutexGuard};
    use std::{env, thread};

    const PAGES: usize = 64;
    const FILLED: u8 = 7;

    /// Mappings are those of the process: one test at a time has some.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn filled() -> File {
        // Memory, where there is such a directory: files of an overlay are not mapped.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_path_buf() } else { env::temp_dir() };
        let file = tempfile::tempfile_in(place).unwrap();
        file.write_all_at(&vec![FILLED; PAGES * UNIT], 0).unwrap();
        file
    }

    fn mapped(file: &File) -> Map {
        guard().unwrap();
        Map::of(file).expect("it can be mapped")
    }

    fn byte_at(map: &Map, page: usize) -> io::Result<u8> {
        let mut byte = [0];
        let read = map.read_at((page * UNIT) as u64, &mut byte)?;
        assert_eq!(read, 1);
        Ok(byte[0])
    }

    #[test]
    fn what_is_written_later_is_read_and_nothing_behind_the_end_is() {
        let _alone = alone();
        let file = filled();
        let map = mapped(&file);
        let end = (PAGES * UNIT) as u64;
        let mut bytes = [0; 9];
        assert_eq!(
            (map.read_at(end - 3, &mut bytes).unwrap(), bytes[..4].to_vec()),
            (3, vec![7, 7, 7, 0])
        );
        for beyond in [end, end + 1, u64::MAX] {
            assert_eq!(map.read_at(beyond, &mut bytes).unwrap(), 0);
        }
        file.write_all_at(b"new", 5_000).unwrap();
        file.write_all_at(b"behind", end).unwrap();
        assert_eq!(map.read_at(5_000, &mut bytes).unwrap(), 9);
        assert_eq!((&bytes[..4], map.length().unwrap()), (&b"new\x07"[..], end));
        assert!(map.is_of(end) && !map.is_of(end + 6));
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_of_its_own_map_for_good_and_of_no_other() {
        let _alone = alone();
        let (file, other) = (filled(), filled());
        let (map, untouched) = (mapped(&file), mapped(&other));
        assert_eq!(byte_at(&map, PAGES - 1).unwrap(), FILLED);
        file.set_len(3 * UNIT as u64).unwrap();
        assert_eq!(byte_at(&map, 1).unwrap(), FILLED, "that part is still there");
        for page in [PAGES - 1, 1, 3] {
            assert_eq!(byte_at(&map, page).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
        file.set_len((PAGES * UNIT) as u64).unwrap();
        assert!(byte_at(&map, 1).is_err() && !map.is_of((PAGES * UNIT) as u64));
        assert_eq!(byte_at(&untouched, PAGES - 1).unwrap(), FILLED);
        assert_eq!(byte_at(&mapped(&file), 1).unwrap(), FILLED);
    }

    #[test]
    fn threads_that_read_what_is_cut_again_and_again_get_what_was_there_or_an_error() {
        const ROUNDS: usize = 200;
        const THREADS: usize = 4;
        let _alone = alone();
        let file = filled();
        for round in 0..ROUNDS {
            let map = mapped(&file);
            let begin = Barrier::new(THREADS + 1);
            thread::scope(|scope| {
                for at in 0..THREADS {
                    let (map, begin) = (&map, &begin);
                    scope.spawn(move || {
                        let mut bytes = vec![0; PAGES / 2 * UNIT];
                        begin.wait();
                        let read = map.read_at((at * 3 * UNIT) as u64, &mut bytes);
                        assert!(read.is_err() || bytes.iter().all(|it| [0, FILLED].contains(it)));
                    });
                }
                begin.wait();
                file.set_len((round % PAGES * UNIT) as u64).unwrap();
            });
            assert!(byte_at(&map, PAGES - 1).is_err());
            file.write_all_at(&vec![FILLED; PAGES * UNIT], 0).unwrap();
        }
    }

    #[test]
    fn no_more_is_mapped_than_the_handler_can_know_and_each_place_is_given_back() {
        let _alone = alone();
        guard().unwrap();
        let file = filled();
        let all: Vec<Map> = std::iter::from_fn(|| Map::of(&file)).collect();
        assert_eq!(all.len(), MAPPINGS_MAX);
        file.set_len(0).unwrap();
        assert!(all.iter().all(|map| byte_at(map, 9).is_err()));
        drop(all);
        assert_eq!(byte_at(&mapped(&filled()), 9).unwrap(), FILLED);
    }

    /// What a process of its own does, by the name in its environment.
    const WAY: &str = "HOLDPOINT_TEST_BUS_ERROR";
    const IS_GUARDED: &str = "HOLDPOINT_TEST_GUARDED";
    const HANDLED: i32 = 42;

    extern "C" fn end(_: c_int) {
        // SAFETY: it takes a number, and may be called where a signal is handled.
        unsafe { libc::_exit(HANDLED) };
    }

    fn in_a_process(way: &str, is_guarded: bool) -> ExitStatus {
        let mut command = Command::new(env::current_exe().unwrap());
        let name =
            "map::tests::a_fault_that_is_not_ours_ends_a_process_as_it_does_without_the_guard";
        command.args(["--exact", name]).env(WAY, way);
        if is_guarded {
            command.env(IS_GUARDED, "");
        }
        command.output().unwrap().status
    }

    fn die(way: &str) {
        if way.starts_with("handled") {
            let mut action = change_action(None).unwrap();
            action.sa_sigaction = end as extern "C" fn(c_int) as usize;
            action.sa_flags = 0;
            change_action(Some(&action)).unwrap();
        }
        if way.starts_with("default") || way.starts_with("ignored") {
            let mut action = change_action(None).unwrap();
            action.sa_sigaction =
                if way.starts_with("default") { libc::SIG_DFL } else { libc::SIG_IGN };
            change_action(Some(&action)).unwrap();
        }
        let file = filled();
        if env::var_os(IS_GUARDED).is_some() {
            let map = mapped(&file);
            file.set_len(0).unwrap();
            assert!(byte_at(&map, 0).is_err(), "one of ours is no end");
        } else {
            assert!(Map::of(&file).is_none(), "nothing is mapped without the guard");
        }
        if way.ends_with("sent") {
            // SAFETY: it takes a number.
            unsafe { libc::raise(libc::SIGBUS) };
            return;
        }
        let foreign = filled();
        let mapping = MmapOptions::new().len(UNIT).map_raw_read_only(&foreign).unwrap();
        foreign.set_len(0).unwrap();
        // SAFETY: the page is mapped; that its file has no bytes any more is what is tried.
        unsafe { mapping.as_ptr().read_volatile() };
    }

    #[test]
    fn a_fault_that_is_not_ours_ends_a_process_as_it_does_without_the_guard() {
        if let Ok(way) = env::var(WAY) {
            return die(&way);
        }
        let killed = |status: ExitStatus| (status.code(), status.signal());
        let ways = [
            ("fault", (None, Some(libc::SIGBUS))),
            ("default fault", (None, Some(libc::SIGBUS))),
            ("ignored fault", (None, Some(libc::SIGBUS))),
            ("handled fault", (Some(HANDLED), None)),
            ("default sent", (None, Some(libc::SIGBUS))),
            ("ignored sent", (Some(0), None)),
            ("handled sent", (Some(HANDLED), None)),
        ];
        for (way, due) in ways {
            assert_eq!(killed(in_a_process(way, false)), due, "{way}");
            assert_eq!(killed(in_a_process(way, true)), due, "{way}, with the guard");
        }
    }
}
