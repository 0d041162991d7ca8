//! What a message advises about records that lie in archives: each command that it names is carried
//! out here, and does what the message says.

use crate::archive_support::{Sample, beside};
use crate::program::text;
use std::path::PathBuf;

/// A log behind two archives, the last records in the older and the newer one, and the newer one.
fn behind_two() -> (Sample, [u64; 2], PathBuf) {
    let (sample, older) = Sample::archived();
    sample.grow();
    let second = beside(&sample.place, "second");
    let newer = sample.archive_to(&second);
    (sample, [older, newer], second)
}

#[test]
fn a_range_before_the_log_is_told_with_its_first_record_and_where_the_range_is() {
    let (sample, [older, newer], second) = behind_two();
    let (begins, first) = (newer + 1, sample.archive.display());
    let begins = format!("it begins with record {begins}; ");
    let in_first = format!("records 1 to {older} are in the archive {first} (`--log` shows it)");
    let in_second = format!(
        "records {} to {newer} are in the archive {} (`--log` shows it)",
        older + 1,
        second.display()
    );
    let both = format!("{in_first}; {in_second}");
    for (range, asked, there) in [
        ("1..5".to_string(), "records 1 to 5".to_string(), &in_first),
        ("..5".to_string(), "record 5".to_string(), &in_first),
        (format!("{newer}"), format!("record {newer}"), &in_second),
        (
            format!("{newer}..{}", newer + 1),
            format!("records {newer} to {}", newer + 1),
            &in_second,
        ),
        (format!("5..{newer}"), format!("records 5 to {newer}"), &both),
    ] {
        let told = format!("does not hold {asked}: {begins}{there}\n");
        sample.expect("before", &format!("verify --range {range}"), 3, &told);
    }
    sample.expect("as told", "verify --range 1..5 --log archive", 0, "");
    sample.expect("as told", &format!("verify --range {newer} --log second"), 0, "");
    let output = sample.expect("behind", "verify --range 999999", 3, "and reaches record");
    assert!(!text(&output.stderr).contains("archive"), "{}", text(&output.stderr));
    std::fs::remove_dir_all(&second).unwrap();
    let told = format!("{begins}records 1 to {newer} are in the archive {}, ", second.display());
    sample.expect("gone", "verify --range 1..5", 3, &told);
}
