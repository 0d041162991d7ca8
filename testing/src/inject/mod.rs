//! Storage errors for a real program, from outside: the kernel carries out all of its system calls
//! but one, which fails with an error that no disk gave.
//!
//! The program waits with each call that could concern a file until this process has answered it
//! (seccomp's user notification), which needs no privilege. What a call concerns is told by the
//! path in its arguments, or by the file behind its descriptor.

mod listener;
mod steps;

use listener::Waiting;
pub use rustix::io::Errno;
pub use steps::{Answer, Step, run_stepwise};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::ffi::{OsStr, c_long};
use std::fs::{File, read_link};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// What a program that never ends is killed after: calls that could concern a file.
const CALLS_MAX: usize = 100_000;

/// And how long it may wait for anything else between two of them. None does but one that hangs.
const SILENCE_MAX: Timespec = Timespec { tv_sec: 120, tv_nsec: 0 };

/// No path is longer, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// The calls that wait. A program is started with those of its own kind of machine only.
const WATCHED: [(c_long, Kind); 9] = [
    (libc::SYS_openat, Kind::Open),
    (libc::SYS_read, Kind::Read),
    (libc::SYS_pread64, Kind::Read),
    (libc::SYS_mmap, Kind::Map),
    (libc::SYS_statx, Kind::Stat),
    (libc::SYS_newfstatat, Kind::Stat),
    (libc::SYS_fstat, Kind::Stat),
    (libc::SYS_getdents64, Kind::List),
    (libc::SYS_flock, Kind::Lock),
];

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Open,
    Read,
    Map,
    Stat,
    List,
    Lock,
}

impl Kind {
    /// What such a call may fail with on a disk that fails, or where the machine has too little.
    pub const fn errors(self) -> &'static [Errno] {
        match self {
            Self::Open => &[Errno::IO, Errno::MFILE, Errno::ACCESS, Errno::NOMEM],
            Self::Stat => &[Errno::IO, Errno::ACCESS, Errno::NOMEM],
            Self::Map => &[Errno::NOMEM, Errno::ACCESS],
            Self::Lock => &[Errno::NOLCK],
            Self::Read | Self::List => &[Errno::IO, Errno::NOMEM],
        }
    }
}

/// A call that concerns something in the watched directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub kind: Kind,
    /// Relative to the directory; empty for the directory itself.
    pub path: String,
    /// Which of the calls of this kind with this path it is, from 0. Of threads that read several
    /// files at once each has a number of its own this way.
    pub number: usize,
}

/// A program that has ended.
pub struct Ended {
    pub output: Output,
    /// What it did to the directory, in order.
    pub calls: Vec<Call>,
}

/// Why the kernel refuses this here; `None` where it does not.
pub fn refusal() -> Option<io::Error> {
    run(Command::new("true"), Path::new("/"), None).err()
}

/// Runs a program to its end; of its calls that concern `directory` one may fail.
///
/// # Errors
/// What starting it came to. [`refusal`] tells whether the kernel allows it at all.
pub fn run(
    command: Command,
    directory: &Path,
    failing: Option<(&Call, Errno)>,
) -> io::Result<Ended> {
    let error = |call: &Call| failing.filter(|(failing, _)| *failing == call);
    run_beside(command, directory, &mut |call| error(call).map(|(_, error)| error))
}

/// Runs a program to its end; each of its calls that concern `directory` is told before the kernel
/// carries it out, and fails where an error is given. What is done meanwhile is done before it.
///
/// # Errors
/// As [`run`].
pub fn run_beside(
    mut command: Command,
    directory: &Path,
    before: &mut dyn FnMut(&Call) -> Option<Errno>,
) -> io::Result<Ended> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let (ours, theirs) = UnixStream::pair()?;
    listener::let_wait(&mut command, &WATCHED.map(|(number, _)| number), theirs);
    let mut child = command.spawn()?;
    let listener = listener::listener_from(&ours)?;
    listener::answer_on_one_processor(listener.as_fd());
    let directory = directory.canonicalize()?;
    let mut watch = Watch { directory, before, seen: BTreeMap::new(), calls: Vec::new() };
    watch.until_ended(&mut child, &listener)?;
    // Whoever is left of it waits no longer.
    drop(listener);
    let status = child.wait()?;
    let output = Output { status, stdout: whole(stdout)?, stderr: whole(stderr)? };
    Ok(Ended { output, calls: watch.calls })
}

fn whole(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a program does to a directory.
struct Watch<'a> {
    directory: PathBuf,
    /// Is told of each, and says what it fails with.
    before: &'a mut dyn FnMut(&Call) -> Option<Errno>,
    /// How often each was done.
    seen: BTreeMap<(Kind, String), usize>,
    calls: Vec<Call>,
}

impl Watch<'_> {
    /// Answers every call until the program has ended.
    fn until_ended(&mut self, child: &mut Child, listener: &OwnedFd) -> io::Result<()> {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let process = pidfd_open(id.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?;
        for _ in 0..CALLS_MAX {
            match what_is_next(listener, &process)? {
                Next::Call => {}
                Next::End => return Ok(()),
                Next::Nothing => break,
            }
            if let Some(waiting) = listener::next(listener.as_fd())? {
                let error = self.error_for(&waiting);
                listener::answer(listener.as_fd(), &waiting, error)?;
            }
        }
        child.kill()
    }

    /// What a call is to fail with.
    fn error_for(&mut self, waiting: &Waiting) -> Option<Errno> {
        let call = self.call_of(waiting)?;
        let error = (self.before)(&call);
        self.calls.push(call);
        error
    }

    /// The call, where it concerns the directory.
    fn call_of(&mut self, waiting: &Waiting) -> Option<Call> {
        let (_, kind) = WATCHED.into_iter().find(|(number, _)| *number == waiting.number)?;
        let concerned = concerned(waiting)?;
        let inside = concerned.strip_prefix(&self.directory).ok()?;
        let path = inside.to_string_lossy().into_owned();
        let seen = self.seen.entry((kind, path.clone())).or_default();
        let number = *seen;
        *seen += 1;
        Some(Call { kind, path, number })
    }
}

/// What a program does next.
enum Next {
    /// A call waits.
    Call,
    /// It has ended.
    End,
    /// It does nothing that could be seen.
    Nothing,
}

fn what_is_next(listener: &OwnedFd, process: &OwnedFd) -> io::Result<Next> {
    let mut both = [PollFd::new(listener, PollFlags::IN), PollFd::new(process, PollFlags::IN)];
    let ready = retry_on_intr(|| poll(&mut both, Some(&SILENCE_MAX)))?;
    let [of_listener, _] = both;
    Ok(match ready {
        0 => Next::Nothing,
        _ if of_listener.revents().contains(PollFlags::IN) => Next::Call,
        _ => Next::End,
    })
}

/// The file or directory that a call is about.
fn concerned(waiting: &Waiting) -> Option<PathBuf> {
    let [first, second, _, _, fifth, _] = waiting.arguments;
    match waiting.number {
        libc::SYS_openat | libc::SYS_statx | libc::SYS_newfstatat => {
            let named = path_at(waiting.thread, second)?;
            let at = if named.is_absolute() { None } else { descriptor(waiting.thread, first) };
            Some(at.unwrap_or_default().join(named).components().collect())
        }
        libc::SYS_mmap => descriptor(waiting.thread, fifth),
        _ => descriptor(waiting.thread, first),
    }
}

/// What a descriptor of a thread stands for, or its working directory; `None` where nothing has a
/// name.
fn descriptor(thread: u32, argument: u64) -> Option<PathBuf> {
    // The kernel looks at the lower half.
    let bytes = argument.to_le_bytes();
    let number = i32::from_le_bytes(*bytes.first_chunk()?);
    match number {
        libc::AT_FDCWD => read_link(format!("/proc/{thread}/cwd")).ok(),
        _ => read_link(format!("/proc/{thread}/fd/{number}")).ok(),
    }
}

/// The path at an address of a thread; an empty one where there is no address.
fn path_at(thread: u32, address: u64) -> Option<PathBuf> {
    if address == 0 {
        return Some(PathBuf::new());
    }
    let mut bytes = vec![0; PATH_BYTES_MAX];
    let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
    let read = memory.read_at(&mut bytes, address).ok()?;
    let path = bytes.get(..read)?.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}
