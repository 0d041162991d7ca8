//! The examples, as the programs that their readers run.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "the helpers of a test may fail like it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An example, which cargo builds beside the tests, unless told which of them to build.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let missing = format!("cargo build -p holdpoint-engine --example {name}");
    assert!(program.exists(), "no {}: {missing}", program.display());
    program
}

/// What an example prints that is given this directory for its log.
pub fn printed(name: &str, directory: &Path) -> String {
    let mut command = Command::new(program(name));
    let output = command.arg(directory).stdin(Stdio::null()).output().unwrap();
    let (printed, said) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}: {said}", output.status);
    String::from_utf8(printed.clone()).unwrap()
}
