//! What a command prints to harm whoever records it: endless empty lines, one line without an end,
//! escape sequences, images of records. The memory of the recorder is bounded, what was kept is
//! stated with its gaps, and the log verifies.

use crate::program::{Place, json, status, text};
use holdpoint_testing::part::times;
use serde_json::Value;
use std::process::{Output, Stdio};

/// The bound of the recorder's memory.
const MEMORY_MAX: u64 = 64 << 20;

/// The default of `run --max-output`.
const KEPT_MAX: u64 = 16 << 20;

/// What became of a command: how `run` ended, the most memory that it had, and the id of the run.
struct Printed {
    place: Place,
    peak_bytes: u64,
    id: String,
}

/// Runs a script whose output goes to a reader that counts it.
fn printed(script: &str) -> Printed {
    let place = Place::with_log();
    let mut command = place.command(&["run", "--hold", "never", "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recorder = command.spawn().unwrap();
    let mut peak_bytes = 0;
    // The peak is of the whole life: the last one that is seen is nearly the last one there was.
    let ended = loop {
        peak_bytes = peak(recorder.id()).unwrap_or(peak_bytes);
        if let Some(ended) = recorder.try_wait().unwrap() {
            break ended;
        }
        std::thread::yield_now();
    };
    assert!(ended.success(), "{ended}");
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    Printed { place, peak_bytes, id }
}

/// The most memory that a process had so far.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

impl Printed {
    fn output(&self) -> Output {
        self.place.holdpoint(&["output", &self.id, "--stream", "stdout"])
    }

    fn stated(&self) -> Value {
        json(&self.place.holdpoint(&["output", &self.id, "--json"]))
    }

    /// Memory stayed bounded, and the log verifies.
    fn assert_bounded(&self) {
        let peak = self.peak_bytes;
        assert!(peak > 0 && peak < MEMORY_MAX, "{peak} bytes of memory");
        self.place.verified();
    }
}

#[test]
fn ten_million_empty_lines_are_kept_as_they_came_in_bounded_memory() {
    let lines = 10_000_000 * times();
    let printed = printed(&format!("yes '' | head -n {lines}"));
    printed.assert_bounded();
    let output = printed.output();
    if lines <= KEPT_MAX {
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        assert_eq!(output.stdout.len() as u64, lines);
    }
    assert!(output.stdout.iter().all(|byte| *byte == b'\n'));
}

#[test]
fn one_line_of_256_mib_is_kept_to_the_bound_and_its_gaps_are_stated() {
    let length = (256 << 20) * times().min(16);
    let printed = printed(&format!("head -c {length} /dev/zero | tr '\\0' a"));
    printed.assert_bounded();
    let output = printed.output();
    assert_eq!(status(&output), 3, "not all of it is there: {}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("bytes are missing here"), "{said}");
    let kept = output.stdout.len() as u64;
    assert!((KEPT_MAX..length / 4).contains(&kept), "{kept} bytes kept");
    assert!(output.stdout.iter().all(|byte| *byte == b'a'));
    let stated = printed.stated();
    assert!(stated.to_string().contains(&length.to_string()), "{stated:#}");
}

#[test]
fn escape_sequences_without_end_are_kept_as_bytes_and_shown_as_none() {
    let script = r#"yes "$(printf '\033[31m\033]0;x\007\033[2J\033P')" | head -c 20000000"#;
    let printed = printed(script);
    printed.assert_bounded();
    let kept = printed.output().stdout;
    assert!(kept.len() as u64 >= KEPT_MAX, "{}", kept.len());
    assert!(kept.starts_with(b"\x1b[31m\x1b]0;x\x07\x1b[2J\x1bP\n"), "{:?}", &kept[..40]);
    for shown in [&["show", printed.id.as_str()][..], &["log"], &["runs"]] {
        let output = printed.place.holdpoint(shown);
        let has_escape = [&output.stdout, &output.stderr].iter().any(|it| it.contains(&0x1b));
        assert!(!has_escape, "{shown:?}");
    }
}

#[test]
fn images_of_records_in_what_is_printed_are_no_records() {
    let other = Place::with_log();
    other.run(&["true"]);
    let segment = other.log.join("segments").join("00000000000000000001.seg");
    let image = std::fs::read(&segment).unwrap();
    // The other log's records, whole, in every piece.
    let script = format!("for i in $(seq 1 40); do cat '{}'; done", segment.display());
    let printed = printed(&script);
    printed.assert_bounded();
    let kept = printed.output().stdout;
    assert!(kept.chunks(image.len()).all(|it| it == image) && kept.len() == 40 * image.len());
    // Nothing of it is among the records, in a salvage neither.
    let records = printed.place.verified()["records"].as_u64().unwrap();
    let log = printed.place.log.to_str().unwrap();
    let salvaged =
        json(&printed.place.holdpoint(&["--json", "copy", "--salvage", log, "salvaged"]));
    assert_eq!(salvaged["salvaged"]["records_kept"].as_u64(), Some(records), "{salvaged:#}");
}
