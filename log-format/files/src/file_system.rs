//! File systems on which a log is not written, for locks there may not exclude and syncs may not
//! hold, and those on which nothing is mapped, for files may change without a map's showing it.

use std::fs::File;
use std::io;
use std::path::Path;

/// Magic numbers of network and user-space file systems, from the Linux headers.
#[cfg(target_os = "linux")]
const UNRELIABLE: [(u64, &str); 15] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x786f_4256, "VirtualBox shared folder"),
];

/// A map of a file in a lower layer shows nothing of what is written to it once it is copied up.
#[cfg(target_os = "linux")]
const OVERLAYFS: u64 = 0x794c_7630;

/// The kind of file system at `path`, or at its nearest existing parent, when it is one of those.
///
/// # Errors
/// What the system says.
#[cfg(target_os = "linux")]
pub fn unreliable_kind(path: &Path) -> io::Result<Option<&'static str>> {
    let nearest = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
    Ok(kind_of(magic_in(&rustix::fs::statfs(nearest)?)))
}

/// Returns whether a map of the file shows what is written to it later.
#[cfg(target_os = "linux")]
pub(crate) fn maps_show_changes(file: &File) -> io::Result<bool> {
    let magic = magic_in(&rustix::fs::fstatfs(file)?);
    Ok(magic != OVERLAYFS && kind_of(magic).is_none())
}

#[cfg(target_os = "linux")]
#[expect(clippy::cast_sign_loss, reason = "the kernel's magic numbers are 32 bits, sign or not")]
fn magic_in(status: &rustix::fs::StatFs) -> u64 {
    (status.f_type as u64) & 0xffff_ffff
}

#[cfg(target_os = "linux")]
fn kind_of(magic: u64) -> Option<&'static str> {
    UNRELIABLE.iter().find(|(number, _)| *number == magic).map(|(_, kind)| *kind)
}

/// Other systems name file systems in other ways; the log is written where the user puts it.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn unreliable_kind(_path: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

/// Local file systems do.
#[cfg(not(target_os = "linux"))]
pub(crate) fn maps_show_changes(_file: &File) -> io::Result<bool> {
    Ok(true)
}
