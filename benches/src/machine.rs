//! Machine that was measured on.

use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Facts that a reader has to know of the machine; empty where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Number of its cores that this process may use.
    pub cores: usize,
    /// It has the SHA-256 instructions.
    pub has_sha: bool,
    /// It has AVX-512.
    pub has_avx512: bool,
    /// The kernel's release.
    pub kernel: String,
    /// The file system of the directory that was measured in.
    pub file_system: String,
    /// The block device below it.
    pub device: String,
}

impl Machine {
    /// This machine, and what a directory lies on.
    #[must_use]
    pub fn of(directory: &Path) -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpu, "flags");
        let has = |flag: &str| flags.split(' ').any(|name| name == flag);
        let (file_system, device) = mounted(directory);
        Self {
            cpu: field(&cpu, "model name").to_string(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            has_sha: has("sha_ni"),
            has_avx512: has("avx512f") && has("avx512bw"),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            file_system,
            device,
        }
    }
}

/// The first field of a name in `/proc/cpuinfo`.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let value = |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    };
    text.lines().find_map(value).unwrap_or_default()
}

/// Type and source of the mount that a directory lies on.
fn mounted(directory: &Path) -> (String, String) {
    let device = std::fs::metadata(directory).map_or(0, |about| about.dev());
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mount_of(&mounts, &number).unwrap_or_default()
}

fn mount_of(mounts: &str, number: &str) -> Option<(String, String)> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(number))?;
    let mut behind = line.split_once(" - ")?.1.split(' ');
    Some((behind.next()?.to_string(), behind.next()?.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_its_device() {
        let mounts = "22 1 0:20 / /proc rw - proc proc rw\n\
                      30 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n";
        let found = mount_of(mounts, "254:0");
        assert_eq!(found, Some(("ext4".to_string(), "/dev/vda".to_string())));
        assert_eq!(mount_of(mounts, "8:1"), None);
    }

    #[test]
    fn a_field_is_the_first_of_its_name() {
        let text = "processor\t: 0\nmodel name\t: A CPU\nmodel name\t: Another\n";
        assert_eq!(field(text, "model name"), "A CPU");
        assert_eq!(field(text, "flags"), "");
    }
}
