//! The system calls of seccomp's user notification that have no safe wrapper.
//!
//! This is the only file of the crate that holds unsafe code.
#![expect(unsafe_code, reason = "seccomp and its ioctls through libc, and code behind a fork")]

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::ffi::c_long;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of Linux 6.6, which the crate does not name.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// A system call that was not carried out yet: its thread waits for an answer.
pub(super) struct Waiting {
    id: u64,
    pub(super) thread: u32,
    pub(super) number: c_long,
    pub(super) arguments: [u64; 6],
}

/// Lets a program be started that waits with each call of these numbers until it is answered.
/// What answers is sent to the other end of the socket before the program begins.
pub(super) fn let_wait(command: &mut Command, numbers: &[c_long], socket: UnixStream) {
    let filter = filter(numbers);
    let hand_over = move || {
        rustix::thread::set_no_new_privs(true)?;
        send(socket.as_fd(), listen(&filter)?.as_fd())
    };
    // SAFETY: between fork and exec only what is async-signal-safe may be called. This makes three
    // system calls with what is on the stack or was made before, and allocates nothing.
    unsafe { command.pre_exec(hand_over) };
}

/// Puts the filter on this thread, and on what it starts.
fn listen(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let length = u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the pointer is to a live value of the type that this operation reads, which points
    // to as many instructions as it says. The kernel changes and keeps neither.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    match i32::try_from(listener) {
        // SAFETY: the call succeeded, and so has given a new descriptor that nobody else owns.
        Ok(listener @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(listener) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls of these numbers wait, all others go on.
fn filter(numbers: &[c_long]) -> Vec<libc::sock_filter> {
    let number_at = u32::try_from(offset_of!(libc::seccomp_data, nr)).unwrap();
    let mut filter = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number_at, 0)];
    for (number, left) in numbers.iter().zip((1..=numbers.len()).rev()) {
        let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(instruction(code, u32::try_from(*number).unwrap(), left));
    }
    for answer in [libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_USER_NOTIF] {
        filter.push(instruction(libc::BPF_RET | libc::BPF_K, answer, 0));
    }
    filter
}

/// One that leaves out so many of the next where what it compares is equal.
fn instruction(code: u32, k: u32, skipped: usize) -> libc::sock_filter {
    let (code, jt) = (u16::try_from(code).unwrap(), u8::try_from(skipped).unwrap());
    libc::sock_filter { code, jt, jf: 0, k }
}

fn send(socket: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let listeners = [listener];
    control.push(SendAncillaryMessage::ScmRights(&listeners));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// What was sent to this end of the socket.
pub(super) fn listener_from(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    descriptors.flatten().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Lets whoever waits and whoever answers take turns on one processor, which takes a fraction of
/// the time. A kernel that does not know how to goes on as it did.
pub(super) fn answer_on_one_processor(listener: BorrowedFd<'_>) {
    let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS;
    // SAFETY: this request takes a number and no pointer.
    unsafe { libc::ioctl(listener.as_raw_fd(), request, SYNC_WAKE_UP) };
}

/// The next call that waits. `None` where its thread is gone meanwhile.
pub(super) fn next(listener: BorrowedFd<'_>) -> io::Result<Option<Waiting>> {
    let mut found = MaybeUninit::<libc::seccomp_notif>::zeroed();
    let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the pointer is to a live, writable value of zeroes, as the kernel demands it. The
    // request's number holds the value's size, so that a kernel of another size refuses it.
    if unsafe { libc::ioctl(listener.as_raw_fd(), request, found.as_mut_ptr()) } != 0 {
        return unless_gone(io::Error::last_os_error()).map(|()| None);
    }
    // SAFETY: it is made of plain integers, for which the zeroes it was created with are valid;
    // the kernel has only replaced them.
    let found = unsafe { found.assume_init() };
    let (number, arguments) = (found.data.nr.into(), found.data.args);
    Ok(Some(Waiting { id: found.id, thread: found.pid, number, arguments }))
}

/// Lets a call go on, or fail with an error instead.
pub(super) fn answer(
    listener: BorrowedFd<'_>,
    waiting: &Waiting,
    error: Option<Errno>,
) -> io::Result<()> {
    let flags = match error {
        Some(_) => 0,
        None => u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap(),
    };
    let error = error.map_or(0, |error| -error.raw_os_error());
    let mut answer = libc::seccomp_notif_resp { id: waiting.id, val: 0, error, flags };
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
    // SAFETY: the pointer is to a live, writable value of the type that this request takes, which
    // is not kept.
    match unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut answer) } {
        0 => Ok(()),
        _ => unless_gone(io::Error::last_os_error()),
    }
}

/// A thread that was ended while it waited is no error.
fn unless_gone(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::INTR) => Ok(()),
        _ => Err(error),
    }
}
