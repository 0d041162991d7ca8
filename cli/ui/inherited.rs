//! What this process was started with, as it was before `main`: the standard library opens what was
//! closed, and ignores SIGPIPE, before anything of ours runs.
//!
//! This is the only file of the crate that holds unsafe code.
#![expect(unsafe_code, reason = "what is called before `main`, sigaction, and the environment")]

use holdpoint_engine::executor::{SignalState, Variable};
use std::ffi::{CStr, OsStr};
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "linux")]
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);
static IS_STDERR_CLOSED: AtomicBool = AtomicBool::new(false);
static IGNORED: AtomicU64 = AtomicU64::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);

// SAFETY: the section is a list of functions without arguments that the start of the process
// calls, and this is one. It asks the kernel for numbers and uses nothing that `main` prepares.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    use rustix::io::{Errno, fcntl_getfd};
    let is_closed = |stream| matches!(fcntl_getfd(stream), Err(Errno::BADF));
    IS_STDOUT_CLOSED.store(is_closed(rustix::stdio::stdout()), Ordering::Relaxed);
    IS_STDERR_CLOSED.store(is_closed(rustix::stdio::stderr()), Ordering::Relaxed);
    for signal in SignalState::NUMBERS.filter(|signal| is_ignored(*signal)) {
        IGNORED.fetch_or(SignalState::bit(signal), Ordering::Relaxed);
    }
    for signal in blocked() {
        BLOCKED.fetch_or(SignalState::bit(signal), Ordering::Relaxed);
    }
}

/// Asked of the kernel itself: the C library says nothing of the signals of its own.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let mut action = [0_usize; 20];
    // SAFETY: without a new action this is a question; the kernel's form of an action is no longer
    // than this, which is alive and not kept. Its first word is the handler.
    let answer = unsafe {
        let (new, size) = (ptr::null::<usize>(), size_of::<u64>());
        libc::syscall(libc::SYS_rt_sigaction, signal, new, action.as_mut_ptr(), size)
    };
    answer == 0 && action.first() == Some(&libc::SIG_IGN)
}

#[cfg(target_os = "linux")]
fn blocked() -> impl Iterator<Item = i32> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: without a new set this is a question; zeroes are a valid set, which is alive and not
    // kept.
    let set = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
        set.assume_init()
    };
    // SAFETY: the set is alive, and a number that is none is answered with an error.
    SignalState::NUMBERS
        .filter(move |signal| unsafe { libc::sigismember(&raw const set, *signal) } == 1)
}

/// Whether standard output was closed.
pub(crate) fn is_stdout_closed() -> bool {
    IS_STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether standard error was closed.
pub(crate) fn is_stderr_closed() -> bool {
    IS_STDERR_CLOSED.load(Ordering::Relaxed)
}

/// What signals did to this process.
pub(crate) fn signals() -> SignalState {
    let (ignored, blocked) = (IGNORED.load(Ordering::Relaxed), BLOCKED.load(Ordering::Relaxed));
    SignalState { ignored, blocked }
}

/// Lets this process wait for its children, whoever started it: where SIGCHLD is ignored, nobody
/// can say how one ended.
pub(crate) fn expect_children() {
    // SAFETY: the call takes two numbers, and nothing of this process handles the signal yet.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// The environment of this process, entry by entry, in order.
pub(crate) fn environment() -> Vec<Variable> {
    let mut entries = Vec::new();
    // SAFETY: nothing in this program changes its environment, so the list and its texts are those
    // that the system made: each pointer is to a text with its end, and a null is behind the last.
    unsafe {
        let mut next: *mut *mut libc::c_char = environ;
        while !next.is_null() && !(*next).is_null() {
            let entry = OsStr::from_bytes(CStr::from_ptr(*next).to_bytes());
            entries.push(Variable::of_entry(entry.to_os_string()));
            next = next.add(1);
        }
    }
    entries
}

unsafe extern "C" {
    /// Of the C library.
    static environ: *mut *mut libc::c_char;
}
