//! The open descriptors of this process, and which are of terminals.

#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, fstat, major};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::termios::tcgetattr;

/// Calls for every number that may be an open descriptor. Takes nothing from the heap itself.
pub(super) fn each_descriptor(mut visit: impl FnMut(i32)) {
    if list_descriptors(&mut visit).is_none() {
        // Nothing lists them: every number that one may have.
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        (0..=i32::try_from(most).unwrap_or(i32::MAX).min(1 << 20)).for_each(visit);
    }
}

#[cfg(target_os = "linux")]
fn list_descriptors(visit: &mut impl FnMut(i32)) -> Option<()> {
    use rustix::fs::{Mode, OFlags, RawDir, open};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = open(c"/proc/self/fd", flags, Mode::empty()).ok()?;
    let mut space = [MaybeUninit::uninit(); 2048];
    let mut listed = RawDir::new(listing, &mut space);
    while let Some(entry) = listed.next() {
        let entry = entry.ok()?;
        let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        number.into_iter().for_each(&mut *visit);
    }
    Some(())
}

#[cfg(not(target_os = "linux"))]
fn list_descriptors(_: &mut impl FnMut(i32)) -> Option<()> {
    None
}

/// Returns whether a descriptor is of a terminal: of its program's side too, of one that was hung
/// up, and of one that is open as a path alone.
pub(crate) fn is_terminal(descriptor: BorrowedFd<'_>) -> bool {
    /// The first of the numbers of pseudo-terminals, and the last.
    const PSEUDO_TERMINALS: std::ops::RangeInclusive<u32> = 136..=143;
    let Ok(found) = fstat(descriptor) else { return false };
    if FileType::from_raw_mode(found.st_mode) != FileType::CharacterDevice {
        return false;
    }
    match tcgetattr(descriptor) {
        Ok(_) | Err(Errno::IO | Errno::NXIO) => true,
        // Consoles and serial lines, and what stands for one's own terminal.
        Err(Errno::BADF) => {
            let kind = major(found.st_rdev);
            matches!(kind, 4 | 5) || PSEUDO_TERMINALS.contains(&kind)
        }
        Err(_) => false,
    }
}
