//! The few system calls that have no safe wrapper, nearly all of them about child processes and
//! signals.
//!
//! This is the only file of the crate that holds unsafe code.
#![expect(
    unsafe_code,
    reason = "wait4, waitid, fork, close, sigaction, raise, mmap, madvise, kcmp, leases, \
              sync_file_range, what a child does before it executes, and the execution of an open \
              file through libc"
)]

use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(target_os = "linux")]
use std::sync::{OnceLock, atomic::AtomicU64};

use rustix::fs::{fstat, stat};
use rustix::io::{FdFlags, fcntl_getfd};
#[cfg(target_os = "linux")]
use rustix::process::getpid;
use rustix::process::{Pid, ioctl_tiocsctty, setsid};

use super::again::again;
use super::descriptors::{each_descriptor, is_terminal};
use super::opened::{FileState, SHELL};
use super::signal_state::SignalState;
use super::usage::Usage;

/// The status of a child whose gate closed before it was to execute: nobody sees it but its guard.
#[cfg(target_os = "linux")]
const EXIT_NOT_STARTED: i32 = 125;

/// Action of this process when a signal arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// The system's default action.
    Default,
    /// Nothing, and the children that we start inherit this.
    Ignored,
    /// A function of this process is called.
    Handled,
}

/// Reaps a child that has ended, or waits until it has.
pub(super) fn wait_with_usage(child: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let pid = child.as_raw_nonzero().get();
    again(|| {
        // SAFETY: both pointers are to live, writable values of the types that wait4 fills in;
        // it keeps neither after it returns.
        let waited = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        if waited == pid { Ok(()) } else { Err(io::Error::last_os_error()) }
    })?;
    // SAFETY: rusage is made of plain integers, for which the zeroes it was created with are valid;
    // wait4 has only replaced them.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), Usage::from(&usage)))
}

/// A child of this process that has ended and is not reaped yet, if there is one. Does not wait and
/// does not reap. An error is `ECHILD` when this process has no child at all.
#[cfg(target_os = "linux")]
pub(super) fn ended_child() -> io::Result<Option<Pid>> {
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    again(|| {
        // SAFETY: the pointer is to a live, writable value of the type that waitid fills in, which
        // it does not keep.
        match unsafe { libc::waitid(libc::P_ALL, 0, found.as_mut_ptr(), options) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })?;
    // SAFETY: the zeroes that it was created with are valid for its integers, and waitid has only
    // replaced them.
    let found = unsafe { found.assume_init() };
    // SAFETY: waitid succeeded, and then this field is the number of a child, or still zero.
    Ok(Pid::from_raw(unsafe { found.si_pid() }))
}

/// Closes every descriptor that this process inherited and would pass on, other than the standard
/// ones.
#[cfg(target_os = "linux")]
pub(super) fn close_inherited() -> io::Result<()> {
    let listed = std::fs::read_dir("/proc/self/fd")?;
    let open = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    for descriptor in open.collect::<Vec<i32>>() {
        // SAFETY: this asks for a number and changes nothing, whatever the descriptor is.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        if descriptor > libc::STDERR_FILENO && flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: every descriptor that a value of this program owns is closed by an exec, as
            // std and rustix make them. This one is not, so it came with the start of the process,
            // and nothing here knows of it.
            unsafe { libc::close(descriptor) };
        }
    }
    Ok(())
}

/// Asks what happens in this process when a signal arrives. Changes nothing.
pub(super) fn disposition(signal: i32) -> io::Result<Disposition> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action makes this a query; the other pointer is to a live, writable
    // value of the type that sigaction fills in, and is not kept.
    let answer = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: sigaction succeeded and so has filled the value in; the zeroes before that are
    // valid for its fields as well (a null restorer is None).
    let action = unsafe { action.assume_init() };
    Ok(match action.sa_sigaction {
        libc::SIG_DFL => Disposition::Default,
        libc::SIG_IGN => Disposition::Ignored,
        _ => Disposition::Handled,
    })
}

/// Lets a command's child lead a session of its own before it executes, and keeps every descriptor
/// of a terminal from what it executes. Its standard input becomes the terminal of that session
/// where `has_terminal` says so; otherwise the session has none.
pub(super) fn separate_from_terminals(command: &mut Command, has_terminal: bool) {
    // SAFETY: the closure runs between fork and exec. It makes system calls alone, takes no lock,
    // and nothing from the heap.
    unsafe { command.pre_exec(move || lead_session(has_terminal)) };
}

/// Lets this process lead a session of its own, as [`separate_from_terminals`] says.
pub(super) fn lead_session(has_terminal: bool) -> io::Result<()> {
    setsid()?;
    if has_terminal {
        ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    each_descriptor(|descriptor| {
        if is_inherited_terminal(descriptor) {
            // SAFETY: no value of this program owns what an exec passes on.
            unsafe { libc::close(descriptor) };
        }
    });
    Ok(())
}

/// Forks this process where it has one thread; `None` in the child.
#[cfg(target_os = "linux")]
pub(super) fn fork_alone() -> io::Result<Option<Pid>> {
    // The directory has a name for itself, one in its parent, and one for each thread.
    if stat("/proc/self/task")?.st_nlink != 3 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: no thread that is not in the child holds anything there: it may do what this may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

/// Ends this process, a child of a fork, and runs nothing of its parent's.
#[cfg(target_os = "linux")]
pub(super) fn end_at_once() -> ! {
    // SAFETY: it ends this process.
    unsafe { libc::_exit(EXIT_NOT_STARTED) }
}

/// Writes over the place where the kernel says that the arguments of this process stand.
#[cfg(target_os = "linux")]
pub(super) fn write_over_arguments(place: usize, bytes: impl Iterator<Item = u8>) {
    for (at, byte) in bytes.enumerate() {
        // SAFETY: they may be written to, the environment with ends of texts stands behind them,
        // and nobody holds a reference to them: the standard library gives copies.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(place + at).write_volatile(byte) };
    }
}

/// Lets a command's child begin with these signals ignored and blocked, and no others.
pub(super) fn hand_on_signals(command: &mut Command, signals: SignalState) {
    let hand_on = move || {
        let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is alive, and sigemptyset fills it in; no call keeps a pointer.
        unsafe {
            libc::sigemptyset(blocked.as_mut_ptr());
            for signal in SignalState::NUMBERS {
                let is_in = |set: u64| set & SignalState::bit(signal) != 0;
                set_ignored(signal, is_in(signals.ignored));
                if is_in(signals.blocked) {
                    libc::sigaddset(blocked.as_mut_ptr(), signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls alone, takes no lock,
    // and nothing from the heap.
    unsafe { command.pre_exec(hand_on) };
}

/// Lets a signal do nothing, or what it does by default. Those of the C library's own too, which
/// its calls leave alone: whatever was started by `posix_spawn` has them ignored.
fn set_ignored(signal: i32, is_ignored: bool) {
    let handler = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: the kernel reads an action of its own form, whose first word is the handler, and
    // whose others are zeroes; it is no longer than this, and is not kept.
    #[cfg(target_os = "linux")]
    unsafe {
        let action: [usize; 20] = std::array::from_fn(|word| if word == 0 { handler } else { 0 });
        let former = ptr::null_mut::<usize>();
        libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), former, size_of::<u64>());
    }
    // SAFETY: the call takes two numbers.
    #[cfg(not(target_os = "linux"))]
    unsafe {
        libc::signal(signal, handler);
    }
}

/// Lets a command's child wait before it executes: it writes its number to `ready`, and goes on
/// once a byte comes out of `gate`. It ends with [`EXIT_NOT_STARTED`] where the gate closes.
/// `opener` is the number of the other end of the gate, of which the child has a copy.
///
/// Of the hooks of a command this is the last before the one that executes.
#[cfg(target_os = "linux")]
pub(super) fn wait_at_gate(command: &mut Command, ready: OwnedFd, gate: OwnedFd, opener: i32) {
    let wait = move || {
        // SAFETY: the child's own copy, which would keep the gate from closing. The value that owns
        // the number is in the parent.
        unsafe { libc::close(opener) };
        let pid = getpid().as_raw_nonzero().get().to_ne_bytes();
        again(|| Ok(rustix::io::write(&ready, &pid)?))?;
        match again(|| Ok(rustix::io::read(&gate, &mut [0; 1])?)) {
            Ok(1) => Ok(()),
            _ => end_at_once(),
        }
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls alone, takes no lock,
    // and nothing from the heap.
    unsafe { command.pre_exec(wait) };
}

/// The descriptors of terminals that a child would get from this process, other than the standard
/// ones.
pub(super) fn inherited_terminals() -> Vec<i32> {
    let mut found = Vec::new();
    each_descriptor(|descriptor| {
        if is_inherited_terminal(descriptor) {
            found.push(descriptor);
        }
    });
    found.sort_unstable();
    found
}

/// Returns whether a descriptor outlives an exec, is none of the standard ones, and is of a
/// terminal.
fn is_inherited_terminal(number: i32) -> bool {
    if number <= libc::STDERR_FILENO {
        return false;
    }
    // SAFETY: it is used for questions alone, and one that is not open is answered `EBADF`.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_getfd(descriptor).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
        && is_terminal(descriptor)
}

/// True if a stop was asked for since somebody looked.
static STOP_ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_stop(_: libc::c_int) {
    STOP_ASKED.store(true, Ordering::SeqCst);
}

/// While this exists, SIGTSTP (Ctrl-Z at a terminal) stops nothing by itself, but is kept for
/// whoever holds this. A wait for events is interrupted by it.
#[derive(Debug)]
pub(crate) struct StopRequests {
    before: libc::sigaction,
}

impl StopRequests {
    /// Begins to keep them. `None` where the signal does something else than stop this process:
    /// it is ignored, or somebody handles it, as another one of these does.
    pub(crate) fn heed() -> Option<Self> {
        if disposition(libc::SIGTSTP).ok()? != Disposition::Default {
            return None;
        }
        STOP_ASKED.store(false, Ordering::SeqCst);
        let handler: extern "C" fn(libc::c_int) = note_stop;
        let mut ours = MaybeUninit::<libc::sigaction>::zeroed();
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zeroes are a valid action, into which sigemptyset and the assignments write; both
        // pointers are to live values that sigaction does not keep; and the handler stores one
        // atomic number, which it may at any time.
        unsafe {
            let action = ours.assume_init_mut();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGTSTP, ours.as_ptr(), before.as_mut_ptr()) != 0 {
                return None;
            }
            Some(Self { before: before.assume_init() })
        }
    }

    /// Returns whether one came since the last call.
    pub(crate) fn take(&self) -> bool {
        STOP_ASKED.swap(false, Ordering::SeqCst)
    }

    /// Stops this process, as the signal does where nobody keeps it: not at all where nobody could
    /// continue it. Comes back once it was continued, keeping them again.
    pub(crate) fn stop(self) -> Option<Self> {
        drop(self);
        // SAFETY: the call takes a number. The action of the signal is the system's own again.
        unsafe { libc::raise(libc::SIGTSTP) };
        Self::heed()
    }
}

impl Drop for StopRequests {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a live action that sigaction itself gave, and is not kept.
        unsafe { libc::sigaction(libc::SIGTSTP, &raw const self.before, ptr::null_mut()) };
    }
}

/// A number that this process has and none of those that it was forked from, to be had without a
/// system call: it stands in memory that the kernel empties in every forked child, whoever forked
/// it. `None` where the kernel has no such memory.
#[cfg(target_os = "linux")]
pub(crate) fn process_mark() -> Option<u64> {
    static MARK: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    // A child goes on counting where its parent was when it was forked.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mark = (*MARK.get_or_init(emptied_in_children))?;
    let found = mark.load(Ordering::Relaxed);
    if found != 0 {
        return Some(found);
    }
    let drawn = NEXT.fetch_add(1, Ordering::Relaxed);
    let set = mark.compare_exchange(0, drawn, Ordering::Relaxed, Ordering::Relaxed);
    Some(set.map_or_else(|another_threads| another_threads, |_| drawn))
}

/// A number that is 0 in every forked child until that sets it.
#[cfg(target_os = "linux")]
fn emptied_in_children() -> Option<&'static AtomicU64> {
    const LENGTH: usize = size_of::<AtomicU64>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping wherever the kernel has room, which overlaps nothing.
    let page = unsafe { libc::mmap(ptr::null_mut(), LENGTH, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the page was mapped just now, is nobody else's, and holds zeros alone.
    if unsafe { libc::madvise(page, LENGTH, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: nothing refers to the page.
        unsafe { libc::munmap(page, LENGTH) };
        return None;
    }
    // SAFETY: a page is aligned for every number, holds zeros, is never unmapped, and is touched
    // through this reference alone.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

/// A number of this process alone: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn process_mark() -> Option<u64> {
    None
}

/// Returns whether two processes share one address space, as they do between `vfork` and `exec`.
/// `false` where the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn share_memory(one: i32, other: i32) -> bool {
    /// `KCMP_VM` of the kernel's interface.
    const SAME_ADDRESS_SPACE: libc::c_long = 1;
    const UNUSED: libc::c_long = 0;
    let (one, other) = (libc::c_long::from(one), libc::c_long::from(other));
    // SAFETY: for this comparison kcmp reads its integer arguments alone and writes nothing.
    let answer =
        unsafe { libc::syscall(libc::SYS_kcmp, one, other, SAME_ADDRESS_SPACE, UNUSED, UNUSED) };
    answer == 0
}

/// Returns whether two processes share one address space: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn share_memory(_: i32, _: i32) -> bool {
    false
}

/// The number of this process's user namespace, asked of the kernel. `None` where it is too old to
/// say (before Linux 6.11).
#[cfg(target_os = "linux")]
pub(crate) fn user_namespace_number() -> Option<u64> {
    use rustix::fd::FromRawFd;
    use rustix::process::{PidfdFlags, pidfd_open};

    /// `PIDFD_GET_USER_NAMESPACE` of the kernel's interface.
    const GET_USER_NAMESPACE: libc::Ioctl = 0xFF09;
    let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    // SAFETY: this request takes no argument and writes nothing; the descriptor is open.
    let namespace = unsafe { libc::ioctl(own.as_raw_fd(), GET_USER_NAMESPACE, 0) };
    if namespace < 0 {
        return None;
    }
    // SAFETY: the kernel has just given this descriptor, and nobody else has it.
    let namespace = unsafe { OwnedFd::from_raw_fd(namespace) };
    rustix::fs::fstat(&namespace).ok().map(|stat| stat.st_ino)
}

/// The number of this process's user namespace: this system has none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn user_namespace_number() -> Option<u64> {
    None
}

/// Program that a child is to become: an open file, where it and others are as they were.
pub(super) struct Image {
    /// None of the standard descriptors, which the child replaces.
    pub(super) program: OwnedFd,
    /// For systems that execute by path alone.
    pub(super) path: CString,
    pub(super) state: FileState,
    pub(super) others: Vec<(CString, FileState)>,
    pub(super) words: Words,
    pub(super) variables: Words,
}

/// Texts as the system takes them: pointers to each, and a null behind the last.
pub(super) struct Words(Vec<*const c_char>);

// SAFETY: every pointer is to memory that this value alone owns, and that nobody changes.
unsafe impl Send for Words {}
// SAFETY: as above; a shared reference gives reading alone.
unsafe impl Sync for Words {}

impl Words {
    pub(super) fn new(texts: Vec<CString>) -> Self {
        let texts = texts.into_iter().map(|text| text.into_raw().cast_const());
        Self(texts.chain([ptr::null()]).collect())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        for text in self.0.drain(..).filter(|text| !text.is_null()) {
            // SAFETY: the pointer came from `CString::into_raw`, and is given back this once.
            drop(unsafe { CString::from_raw(text.cast_mut()) });
        }
    }
}

/// Lets a command's child become this instead of the program that the command names. What differs
/// by then is `ESTALE`, and nothing is executed.
pub(super) fn execute_instead(command: &mut Command, image: Image) {
    // SAFETY: the closure runs between fork and exec. It makes system calls alone, on memory that
    // was prepared before, takes no lock, and nothing from the heap.
    unsafe { command.pre_exec(move || Err(image.replace_process())) };
}

/// Lets a command's child execute this very path, and the shell where the system does not know what
/// the file is: as `execvp` does, but without its search.
pub(super) fn execute_path(
    command: &mut Command,
    path: CString,
    [words, of_shell]: [Words; 2],
    variables: Words,
) {
    let execute = move || {
        let execute = |path: &CStr, words: &Words| {
            // SAFETY: the path is a text with its end, both lists end with a null, and every
            // pointer in them is to such a text; all of it is alive, and execve changes nothing.
            unsafe { libc::execve(path.as_ptr(), words.0.as_ptr(), variables.0.as_ptr()) };
            io::Error::last_os_error()
        };
        let error = execute(&path, &words);
        Err(if is_unknown(&error) { execute(SHELL, &of_shell) } else { error })
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls alone, on memory that
    // was prepared before, and takes nothing from the heap.
    unsafe { command.pre_exec(execute) };
}

/// Returns whether the system does not know how to execute a file.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOEXEC)
}

impl Image {
    /// Does not come back, unless with the reason.
    fn replace_process(&self) -> io::Error {
        let is_unchanged = fstat(&self.program).is_ok_and(|it| FileState::of(&it) == self.state)
            && self.others.iter().all(|(path, state)| stands(path, *state));
        if !is_unchanged {
            return io::Error::from_raw_os_error(libc::ESTALE);
        }
        #[cfg(target_os = "linux")]
        if let Some(error) = self.execute_descriptor() {
            return error;
        }
        if !stands(&self.path, self.state) {
            return io::Error::from_raw_os_error(libc::ESTALE);
        }
        let (words, variables) = (self.words.0.as_ptr(), self.variables.0.as_ptr());
        // SAFETY: the path is a text with its end, both lists end with a null, and every pointer in
        // them is to such a text; all of it is alive, and execve changes nothing.
        unsafe { libc::execve(self.path.as_ptr(), words, variables) };
        io::Error::last_os_error()
    }

    /// `None` where the system does not know how, or executes the file through another program that
    /// has to find it by its path.
    #[cfg(target_os = "linux")]
    fn execute_descriptor(&self) -> Option<io::Error> {
        let (words, variables) = (self.words.0.as_ptr(), self.variables.0.as_ptr());
        let (program, nothing) = (self.program.as_raw_fd(), c"".as_ptr());
        let itself = libc::AT_EMPTY_PATH;
        // SAFETY: the empty path is a text with its end, both lists end with a null, and every
        // pointer in them is to such a text; all of it is alive, and execveat changes nothing.
        unsafe { libc::syscall(libc::SYS_execveat, program, nothing, words, variables, itself) };
        let error = io::Error::last_os_error();
        let goes_by_path = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOSYS));
        (!goes_by_path).then_some(error)
    }
}

/// Returns whether a path still leads to a file as it was.
fn stands(path: &CStr, state: FileState) -> bool {
    stat(path).is_ok_and(|it| FileState::of(&it) == state)
}

/// Lets whoever opens a file for writing wait until it is closed here, where this user may ask for
/// that. Who waits is told to this process by a signal that does nothing.
#[cfg(target_os = "linux")]
pub(super) fn keep_writers_away(file: &File) {
    /// `F_SETSIG` of the kernel's interface.
    const SET_SIGNAL: libc::c_int = 10;
    // SAFETY: both requests take a number, and the descriptor is open. Without the first one the
    // signal would be SIGIO, which ends a process; SIGURG is ignored where nobody handles it.
    unsafe {
        if libc::fcntl(file.as_raw_fd(), SET_SIGNAL, libc::SIGURG) == 0 {
            libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK);
        }
    }
}

/// Nobody can be kept away on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn keep_writers_away(_: &File) {}

/// Lets the system begin to write a range of a file to the disk, where it can: nothing is waited
/// for, and nothing is promised. A sync that follows tells of what failed: only waiting takes an
/// error off a file.
#[cfg(target_os = "linux")]
pub(crate) fn begin_write_out(file: &File, offset: u64, length: u64) {
    let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) else { return };
    // SAFETY: the call takes numbers, and the descriptor is open.
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE);
    }
}

/// This system has no such call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn begin_write_out(_: &File, _: u64, _: u64) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_another_mark_than_its_parent_also_where_the_c_library_did_not_fork_it() {
        let marks = || (process_mark(), process_mark());
        let ours = marks();
        assert!(ours.0.is_some() && ours.0 == ours.1, "{ours:?}");
        // SAFETY: without flags this is a fork. The child reads atomic numbers, and ends by
        // `_exit` without running anything else of this process.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            let theirs = marks();
            let is_another = theirs.0.is_some() && theirs.0 == theirs.1 && theirs.0 != ours.0;
            // SAFETY: it ends the process and nothing else.
            unsafe { libc::_exit(i32::from(!is_another)) };
        }
        let child = Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
        assert!(wait_with_usage(child).unwrap().0.success());
        assert_eq!(marks(), ours);
    }
}
