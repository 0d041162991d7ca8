//! The home of root, another one in each test: what the program remembers for its user is kept
//! below the home that the user database names.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Root's home, as `tests/own_machine` has it in the user database.
const HOME: &str = "/etc/homes/root";
/// The machine's own configuration.
const MACHINE: &str = "/etc/holdpoint";

thread_local! {
    static OWN: Option<[TempDir; 2]> = own();
}

/// The home of root in this test: everything that the test starts finds it empty at first.
pub(crate) fn home() -> PathBuf {
    OWN.with(|_| PathBuf::from(HOME))
}

/// Where the program keeps what it remembers for root in this test.
pub(crate) fn remembered() -> PathBuf {
    home().join(".local/state/holdpoint")
}

/// Other directories at the places of the home and of the machine's configuration, for this thread
/// and what it starts.
fn own() -> Option<[TempDir; 2]> {
    let is_ours = std::env::var_os("HOLDPOINT_TEST_MACHINE").is_some() && Path::new(HOME).is_dir();
    assert!(
        is_ours,
        "run tests with cargo, in the repository: .cargo/config.toml gives them a home"
    );
    // A thread that a test starts is in its namespace already.
    let namespace = |whose: &str| std::fs::read_link(format!("/proc/{whose}/ns/mnt")).unwrap();
    if namespace("thread-self") != namespace("self") {
        return None;
    }
    let own = [HOME, MACHINE].map(|place| (place, TempDir::new().unwrap()));
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    Some(own.map(|(place, own)| {
        let mode = std::fs::Permissions::from_mode(if place == HOME { 0o700 } else { 0o755 });
        std::fs::set_permissions(own.path(), mode).unwrap();
        mount(Some(own.path()), place, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        own
    }))
}

/// Lets the user's own file say this, in this test.
pub(crate) fn configure(file: &str) {
    let folder = home().join(".config/holdpoint");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), file).unwrap();
}

/// Lets names count that nothing proves, in this test.
pub(crate) fn take_claims() {
    configure("[hold]\nauthentication = \"claimed\"\n");
}

/// Lets root name these logs as ones that answer, in this test.
pub(crate) fn trust(logs: &[&Path]) {
    home();
    let file = Path::new(MACHINE).join("config.toml");
    std::fs::write(file, format!("[logs]\ntrusted = {logs:?}\n")).unwrap();
}
