//! File systems on which a log is not written: locks there may not exclude, syncs may not hold.

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

/// The kind of file system at `path`, or at its nearest existing parent, when it is one of those.
#[cfg(target_os = "linux")]
pub(super) fn unreliable_kind(path: &Path) -> io::Result<Option<&'static str>> {
    let nearest = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
    let status = rustix::fs::statfs(nearest)?;
    #[expect(
        clippy::cast_sign_loss,
        reason = "the kernel's magic numbers are 32 bits, sign or not"
    )]
    let magic = (status.f_type as u64) & 0xffff_ffff;
    Ok(UNRELIABLE.iter().find(|(number, _)| *number == magic).map(|(_, kind)| *kind))
}

/// Other systems name file systems in other ways; the log is written where the user puts it.
#[cfg(not(target_os = "linux"))]
pub(super) fn unreliable_kind(_path: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}
