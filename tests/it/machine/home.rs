//! The home of root, another one in each test: what the program remembers for its user is kept
//! below the home that the user database names.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Root's home, as `tests/own_machine` has it in the user database.
const HOME: &str = "/etc/homes/root";

thread_local! {
    static OWN: TempDir = own();
}

/// The home of root in this test: everything that the test starts finds it empty at first.
pub(crate) fn home() -> PathBuf {
    OWN.with(|_| PathBuf::from(HOME))
}

/// Where the program keeps what it remembers for root in this test.
pub(crate) fn remembered() -> PathBuf {
    home().join(".local/state/holdpoint")
}

/// Another directory at the place of the home, for this thread and what it starts.
fn own() -> TempDir {
    let is_ours = std::env::var_os("HOLDPOINT_TEST_MACHINE").is_some() && Path::new(HOME).is_dir();
    assert!(
        is_ours,
        "run tests with cargo, in the repository: .cargo/config.toml gives them a home"
    );
    let own = TempDir::new().unwrap();
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount(Some(own.path()), HOME, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
    own
}
