//! Noticing that a log grew, without burning a core: the kernel's own notice where there is one,
//! looking ten times a second elsewhere.

use holdpoint_log_format::names;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Interval at which a log is looked at where the kernel gives no notice.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest wait at a stretch: a clock that somebody sets is noticed within this time.
const STRETCH_MAX: Duration = Duration::from_secs(1);

/// Notices writes to a log, by any process. Made before the log is looked at for the first time,
/// it misses none: what is written after the look wakes the wait.
#[derive(Debug)]
pub struct Watch {
    /// `None`: the kernel gives no notice of this directory.
    notices: Option<OwnedFd>,
}

/// Events that can end a wait for a person: the log grew, a signal came, the engine was closed, the
/// time is up.
#[derive(Debug)]
pub struct Wake<'a> {
    pub(super) watch: &'a Watch,
    pub(super) signals: Option<BorrowedFd<'a>>,
    /// Can be read once the engine that asks is closed.
    pub(super) closed: Option<BorrowedFd<'a>>,
    pub(super) at_most: Duration,
}

impl Watch {
    /// Watches the log in a directory from now on.
    #[must_use]
    pub fn of_log(directory: &Path) -> Self {
        Self { notices: notices([directory]) }
    }

    /// Watches the logs in several directories from now on. Where the kernel gives no notice of one
    /// of them, nothing of that one ends a wait before its time.
    #[must_use]
    pub fn of_logs<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { notices: notices(directories) }
    }

    /// Waits until the log may have grown, at most this long. Whether it may have.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        Wake { watch: self, signals: None, closed: None, at_most }.wait(None);
        self.may_have_grown()
    }

    /// Waits until a log may have grown or until `own`, a descriptor of the caller, can be read; at
    /// most this long. Whether a log may have grown.
    #[must_use]
    pub fn wait_with(&self, own: BorrowedFd<'_>, at_most: Duration) -> bool {
        Wake { watch: self, signals: None, closed: None, at_most }.wait(Some(own));
        self.may_have_grown()
    }

    /// Returns whether the log may have grown since the last call. Always so where the kernel gives
    /// no notice.
    pub(super) fn may_have_grown(&self) -> bool {
        self.notices.as_ref().is_none_or(drain)
    }
}

impl Wake<'_> {
    /// Waits until something wakes, or until `own`, a descriptor of the caller, can be read.
    /// Whether `own` can be.
    pub fn wait(&self, own: Option<BorrowedFd<'_>>) -> bool {
        let notices = self.watch.notices.as_ref().map(AsFd::as_fd);
        let longest = if notices.is_some() { STRETCH_MAX } else { LOOK_EVERY };
        let timeout = timespec(self.at_most.min(longest));
        let watched = own.into_iter().chain(notices).chain(self.signals).chain(self.closed);
        let mut watched: Vec<_> =
            watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // An interrupted wait is over: whoever waits looks, and waits again.
        let _ = poll(&mut watched, Some(&timeout));
        let first = watched.first().map(PollFd::revents);
        own.is_some() && first.is_some_and(|events| !events.is_empty())
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: i64::from(duration.subsec_nanos()) }
}

/// Returns what tells of writes to any of these logs; `None` where the kernel tells of none of
/// them.
#[cfg(target_os = "linux")]
fn notices<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Option<OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let notices = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
    let wanted = WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::CREATE;
    let watches = directories.into_iter().map(|directory| directory.join(names::SEGMENTS));
    let told = watches.filter(|segments| add_watch(&notices, segments, wanted).is_ok()).count();
    (told > 0).then_some(notices)
}

#[cfg(not(target_os = "linux"))]
fn notices<'a>(_directories: impl IntoIterator<Item = &'a Path>) -> Option<OwnedFd> {
    None
}

/// Takes every notice; whether there was one.
fn drain(notices: &OwnedFd) -> bool {
    let mut buffer = [0_u8; 4096];
    let mut any = false;
    while rustix::io::read(notices, &mut buffer).is_ok_and(|length| length > 0) {
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_before_the_wait_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let segments = directory.path().join(names::SEGMENTS);
        std::fs::create_dir(&segments).unwrap();
        let watch = Watch::of_log(directory.path());
        std::fs::write(segments.join("1.seg"), b"grown").unwrap();
        assert!(watch.wait(Duration::from_secs(60)));
    }

    #[test]
    fn a_write_to_any_of_several_logs_ends_the_wait() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for directory in [&one, &other] {
            std::fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
        }
        let gone = Path::new("/no/such/directory");
        let watch = Watch::of_logs([one.path(), gone, other.path()]);
        std::fs::write(other.path().join(names::SEGMENTS).join("1.seg"), b"grown").unwrap();
        let (silent, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(watch.wait_with(silent.as_fd(), Duration::from_secs(60)));
    }

    #[test]
    fn where_the_kernel_gives_no_notice_the_log_is_looked_at_every_time() {
        let watch = Watch::of_log(Path::new("/no/such/directory"));
        assert!(watch.notices.is_none() && watch.wait(Duration::ZERO));
    }

    #[test]
    fn nothing_to_read_and_nothing_written_is_no_answer() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
        let watch = Watch::of_log(directory.path());
        let (silent, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let wake = Wake { watch: &watch, signals: None, closed: None, at_most: Duration::ZERO };
        assert!(!wake.wait(Some(silent.as_fd())) && !watch.may_have_grown());
    }
}
