//! Heads that were kept outside of the log, read from files.

use crate::args::bounded_read::all_within;
use crate::ui::{Exit, Failure, path};
use holdpoint_replay::OutsideHead;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Most bytes of such a file: some ten thousand lines.
const FILE_BYTES_MAX: usize = 1_024 * 1_024;

/// The heads in these files.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<OutsideHead>, Failure> {
    let mut heads = Vec::new();
    for file in files {
        heads.extend(read_one(file)?);
    }
    Ok(heads)
}

fn read_one(file: &Path) -> Result<Vec<OutsideHead>, Failure> {
    let shown = path(file);
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read {shown}: {error}; name a file with --head FILE");
        Failure::new(Exit::FAILED, "io", message)
    };
    // A pipe or a device may never end, and one that nobody writes to is not even opened.
    if !file.metadata().map_err(unreadable)?.is_file() {
        let message = format!("{shown} is not a regular file: write the heads to one, and name it");
        return Err(Failure::new(Exit::USAGE, "no_head", message));
    }
    let read = File::open(file).and_then(|file| all_within(file, FILE_BYTES_MAX));
    let Some(bytes) = read.map_err(unreadable)? else {
        let message =
            format!("{shown}: more than {FILE_BYTES_MAX} bytes, so it is no file of heads");
        return Err(Failure::new(Exit::USAGE, "no_head", message));
    };
    OutsideHead::parse(&shown, &bytes)
        .map_err(|error| Failure::new(Exit::USAGE, "no_head", format!("{shown}: {error}")))
}
