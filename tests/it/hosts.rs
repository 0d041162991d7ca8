//! Real agent hosts with the settings that `docs/agents.md` prints, against a model on
//! loopback. `tests/hosts/hosts.py` drives them and says what each case is.

use crate::program::skip;
use std::path::PathBuf;
use std::process::Command;

/// Where the hosts are: for each a folder of its name, into which npm installed it.
const HOSTS: &str = "HOLDPOINT_AGENT_HOSTS";

#[test]
#[ignore = "runs agent hosts, where HOLDPOINT_AGENT_HOSTS says that they are, for minutes"]
fn a_call_that_nobody_approved_has_no_effect_in_any_host_and_an_approved_one_has_one() {
    let Some(hosts) = std::env::var_os(HOSTS).map(PathBuf::from).filter(|it| it.is_dir()) else {
        return skip("agent hosts: HOLDPOINT_AGENT_HOSTS names no folder");
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/hosts.py");
    let mut command = Command::new("python3");
    command.arg(script).args(["--program", env!("CARGO_BIN_EXE_holdpoint"), "--hosts"]).arg(hosts);
    assert!(command.status().unwrap().success(), "a case is not as it is expected, see above");
}
