//! Directories that are no sound log, before the real program: what `verify` says, that whoever
//! would write is refused with the file and what to do, that copies and salvage never touch what
//! they read, and that whatever is refused stays byte for byte as it was.

use crate::program::{Place, json, skip, status, text};
use crate::real_support::{SmallDisk, fill, segments, shape_of};
use holdpoint_log_format::{ChainPosition, Head, LogId, SegmentHeader};
use holdpoint_testing::log::image::Image;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// ---- What logs are made from -------------------------------------------------------------------

/// A log of three segments at two moments, and another log.
struct Sample {
    earlier: Image,
    later: Image,
    other: Image,
    segments: Vec<PathBuf>,
}

impl Sample {
    fn new() -> Self {
        let place = Place::new();
        fill(&place.log, 30, 10_000);
        let earlier = Image::of(&place.log);
        fill(&place.log, 5, 1_000);
        let (later, elsewhere) = (Image::of(&place.log), Place::new());
        fill(&elsewhere.log, 32, 10_000);
        let segments = earlier.segments();
        assert_eq!((segments.len(), later.segments().len()), (3, 3));
        Self { earlier, later, other: Image::of(&elsewhere.log), segments }
    }

    /// The `number`th segment, from 0.
    fn segment(&self, number: usize) -> &Path {
        &self.segments[number]
    }
}

/// Changes the header of a segment, with a checksum that holds.
fn with_header(image: &mut Image, path: &Path, change: impl FnOnce(&mut SegmentHeader)) {
    let bytes = image.file(path);
    let mut header = SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    change(&mut header);
    bytes[..4_096].copy_from_slice(&header.encode());
}

fn moved(image: &mut Image, from: &Path, to: &str) {
    let bytes = image.0.remove(from).unwrap();
    image.0.insert(to.into(), bytes);
}

// ---- The table ---------------------------------------------------------------------------------

/// What becomes of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// `verify` exits 6 and says `corrupt`, and nobody may write.
    Corrupt,
    /// `verify` exits 6 and says `short of HEAD`, and nobody may write.
    ShortOfHead,
    /// As corrupt, and whoever insists may go on without HEAD.
    NoWitness,
    /// `verify` says so too, and nobody gets as far as the log.
    NoLock,
    /// Sound: `verify` exits 0 with this verdict, and the log goes on.
    Sound(&'static str),
}

struct Case {
    what: &'static str,
    /// Changes the files.
    image: fn(&Sample, &mut Image),
    /// Changes what is no plain file, once the files are there.
    place: fn(&Sample, &Path),
    end: End,
    /// In what `verify` says.
    found: &'static [&'static str],
}

const AS_IT_IS: fn(&Sample, &Path) = |_, _| {};
const WHOLE: fn(&Sample, &mut Image) = |_, _| {};
const INTACT: End = End::Sound("intact");

fn files(
    what: &'static str,
    image: fn(&Sample, &mut Image),
    end: End,
    found: &'static [&'static str],
) -> Case {
    Case { what, image, place: AS_IT_IS, end, found }
}

fn places(
    what: &'static str,
    place: fn(&Sample, &Path),
    end: End,
    found: &'static [&'static str],
) -> Case {
    Case { what, image: WHOLE, place, end, found }
}

fn cases_of_head() -> Vec<Case> {
    use End::{Corrupt, NoWitness};
    vec![
        files("no HEAD", |_, image| image.remove("HEAD"), NoWitness, &["HEAD is missing"]),
        files(
            "HEAD is garbage",
            |_, image| image.file("HEAD").fill(0x5a),
            NoWitness,
            &["HEAD, byte 0"],
        ),
        files("HEAD is empty", |_, image| image.file("HEAD").clear(), NoWitness, &["HEAD"]),
        files("HEAD is cut", |_, image| image.file("HEAD").truncate(151), NoWitness, &["HEAD"]),
        files(
            "an older HEAD",
            |sample, image| image.file("HEAD").clone_from(&sample.earlier.0[Path::new("HEAD")]),
            End::Sound("intact, tail unproven"),
            &[],
        ),
        files(
            "a HEAD newer than the log",
            |sample, image| {
                let newer = image.file("HEAD").clone();
                *image = sample.earlier.clone();
                *image.file("HEAD") = newer;
            },
            End::ShortOfHead,
            &["records 31 to 35, which are not here"],
        ),
        files(
            "HEAD of another log",
            |sample, image| image.file("HEAD").clone_from(&sample.other.0[Path::new("HEAD")]),
            Corrupt,
            &["belongs to log"],
        ),
        files(
            "a HEAD that says the log begins later",
            |_, image| {
                let head = Head::decode(image.file("HEAD")).unwrap();
                let anchor_sequence = 7;
                *image.file("HEAD") = Head { anchor_sequence, ..head }.encode().to_vec();
            },
            Corrupt,
            &["the first segment begins at 1"],
        ),
        places(
            "HEAD is a link to a good one",
            |_, path| {
                std::fs::rename(path.join("HEAD"), path.join("segments/real")).unwrap();
                symlink("segments/real", path.join("HEAD")).unwrap();
            },
            Corrupt,
            &["HEAD", "not a regular file"],
        ),
        places(
            "HEAD is a directory",
            |_, path| {
                std::fs::remove_file(path.join("HEAD")).unwrap();
                std::fs::create_dir(path.join("HEAD")).unwrap();
            },
            Corrupt,
            &["HEAD", "not a regular file"],
        ),
    ]
}

fn cases_of_missing_segments() -> Vec<Case> {
    use End::Corrupt;
    vec![
        files(
            "the first segment is missing",
            |sample, image| image.remove(sample.segment(0).to_str().unwrap()),
            Corrupt,
            &["the first segment begins at"],
        ),
        files(
            "a segment in the middle is missing",
            |sample, image| image.remove(sample.segment(1).to_str().unwrap()),
            Corrupt,
            &["comes next, and this one begins at"],
        ),
        files(
            "the last segment is missing",
            |sample, image| image.remove(sample.segment(2).to_str().unwrap()),
            End::ShortOfHead,
            &[", which are not here"],
        ),
    ]
}

fn cases_of_strange_segments() -> Vec<Case> {
    use End::Corrupt;
    vec![
        files(
            "a segment is there twice",
            |sample, image| {
                let bytes = image.file(sample.segment(1)).clone();
                image.0.insert("segments/00000000000000000999.seg".into(), bytes);
            },
            Corrupt,
            &["00000000000000000999.seg", "its header says"],
        ),
        files(
            "a segment has another name",
            |sample, image| moved(image, sample.segment(1), "segments/00000000000000000008.seg"),
            Corrupt,
            &["00000000000000000008.seg", "its header says"],
        ),
        files(
            "two segments have each other's names",
            |sample, image| {
                let [one, two] = [1, 2].map(|number| image.file(sample.segment(number)).clone());
                *image.file(sample.segment(1)) = two;
                *image.file(sample.segment(2)) = one;
            },
            Corrupt,
            &["its header says"],
        ),
        files(
            "a segment of another log",
            |sample, image| {
                let foreign = sample.other.0[sample.segment(1)].clone();
                *image.file(sample.segment(1)) = foreign;
            },
            Corrupt,
            &["belongs to log"],
        ),
        files(
            "a segment that names another first sequence",
            |sample, image| {
                with_header(image, sample.segment(2), |header| header.previous.sequence += 1);
            },
            Corrupt,
            &["its header says"],
        ),
        files(
            "a segment that follows from another record",
            |sample, image| {
                let stranger = ChainPosition::genesis(LogId([9; 16])).link;
                with_header(image, sample.segment(2), |header| header.previous.link = stranger);
            },
            Corrupt,
            &[".seg, byte"],
        ),
    ]
}

fn cases_of_lengths() -> Vec<Case> {
    use End::Corrupt;
    vec![
        files(
            "the last segment is longer than it says",
            |sample, image| image.file(sample.segment(2)).extend([0; 4_096]),
            Corrupt,
            &["its header says"],
        ),
        files(
            "the last segment is shorter than it says",
            |sample, image| image.file(sample.segment(2)).truncate(262_144 - 4_096),
            Corrupt,
            &["its header says"],
        ),
        files(
            "a sealed segment is longer than it says",
            |sample, image| image.file(sample.segment(0)).extend([0; 4_096]),
            Corrupt,
            &["its header says"],
        ),
        files(
            "a sealed segment is shorter than it says",
            |sample, image| image.file(sample.segment(0)).truncate(61_440),
            Corrupt,
            &["00000000000000000001.seg"],
        ),
        files(
            "a segment is empty",
            |sample, image| image.file(sample.segment(1)).clear(),
            Corrupt,
            &[".seg, byte 0"],
        ),
        files(
            "an empty segment behind the last, as an interrupted roll leaves it",
            |_, image| drop(image.0.insert("segments/00000000000000000036.seg".into(), Vec::new())),
            INTACT,
            &[],
        ),
    ]
}

fn cases_of_sparse_files_and_names() -> Vec<Case> {
    use End::Corrupt;
    vec![
        places(
            "the last segment is a terabyte of nothing longer",
            |sample, path| stretch(&path.join(sample.segment(2)), 1 << 40),
            Corrupt,
            &["1099511627776 bytes"],
        ),
        places(
            "records became a hole",
            |sample, path| {
                let path = path.join(sample.segment(2));
                let length = path.metadata().unwrap().len();
                stretch(&path, 4_096);
                stretch(&path, length);
            },
            End::ShortOfHead,
            &[", which are not here"],
        ),
        files(
            "names that are no segment's",
            |sample, image| {
                let bytes = image.file(sample.segment(0)).clone();
                for name in
                    ["1.seg", "000000000000000000001.seg", "notes", "00000000000000000099.sig"]
                {
                    image.0.insert(Path::new("segments").join(name), bytes.clone());
                }
            },
            INTACT,
            &[],
        ),
    ]
}

fn cases_of_kinds() -> Vec<Case> {
    use End::Corrupt;
    vec![
        places(
            "a segment is a link to itself elsewhere",
            |sample, path| {
                let away = path.with_extension("away");
                std::fs::rename(path.join(sample.segment(1)), &away).unwrap();
                symlink(&away, path.join(sample.segment(1))).unwrap();
            },
            Corrupt,
            &["not a regular file"],
        ),
        places(
            "a segment is a directory",
            |sample, path| {
                std::fs::remove_file(path.join(sample.segment(1))).unwrap();
                std::fs::create_dir(path.join(sample.segment(1))).unwrap();
            },
            Corrupt,
            &["not a regular file"],
        ),
        places(
            "a segment is a pipe",
            |sample, path| {
                std::fs::remove_file(path.join(sample.segment(2))).unwrap();
                let made = Command::new("mkfifo").arg(path.join(sample.segment(2))).status();
                assert!(made.unwrap().success());
            },
            Corrupt,
            &["not a regular file"],
        ),
        places(
            "the segments are behind a link",
            |_, path| {
                let away = path.with_extension("away");
                std::fs::rename(path.join("segments"), &away).unwrap();
                symlink(&away, path.join("segments")).unwrap();
            },
            Corrupt,
            &["segments"],
        ),
        places(
            "LOCK is a link",
            |_, path| {
                std::fs::rename(path.join("LOCK"), path.with_extension("away")).unwrap();
                symlink(path.with_extension("away"), path.join("LOCK")).unwrap();
            },
            End::NoLock,
            &["LOCK", "not a regular file"],
        ),
        places(
            "LOCK is a directory",
            |_, path| {
                std::fs::remove_file(path.join("LOCK")).unwrap();
                std::fs::create_dir(path.join("LOCK")).unwrap();
            },
            End::NoLock,
            &["LOCK", "not a regular file"],
        ),
    ]
}

/// Makes a file this long, without writing to it.
fn stretch(path: &Path, length: u64) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

// ---- What is promised --------------------------------------------------------------------------

/// What every verb makes of one directory.
struct Spoilt<'a> {
    place: Place,
    case: &'a Case,
}

impl<'a> Spoilt<'a> {
    fn new(sample: &Sample, case: &'a Case) -> Self {
        let place = Place::new();
        let mut image = sample.later.clone();
        (case.image)(sample, &mut image);
        image.restore(&place.log);
        (case.place)(sample, &place.log);
        Self { place, case }
    }

    /// Runs a verb that must not change anything of the log.
    fn untouched(&self, arguments: &[&str]) -> Output {
        let before = shape_of(&self.place.log);
        let mut command = self.place.command(arguments);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let what = self.case.what;
        assert_eq!(shape_of(&self.place.log), before, "{what}: {arguments:?} changed it");
        output
    }

    fn assert_verify(&self) {
        let (what, end) = (self.case.what, self.case.end);
        let report = self.untouched(&["verify", "--json"]);
        let (code, verdict) = match end {
            End::Sound(verdict) => (0, verdict),
            End::ShortOfHead => (6, "short of HEAD"),
            End::Corrupt | End::NoWitness | End::NoLock => (6, "corrupt"),
        };
        let shown = self.untouched(&["verify"]);
        let said = text(&shown.stdout) + text(&shown.stderr).as_str();
        assert_eq!(status(&report), code, "{what}: {said}");
        assert_eq!(json(&report)["verdict"], verdict, "{what}: {said}");
        for words in self.case.found {
            assert!(said.contains(words), "{what}: {words:?} is not in {said}");
        }
    }

    fn assert_no_writer_gets_in(&self) {
        let code = if self.case.end == End::NoLock { 1 } else { 6 };
        for (arguments, code) in [(&["run", "--", "true"][..], 125), (&["apply"], code)] {
            let output = self.untouched(arguments);
            let (what, said) = (self.case.what, text(&output.stderr));
            assert_eq!(status(&output), code, "{what}: {said}");
            assert!(said.contains(self.place.log.to_str().unwrap()), "{what}: {said}");
            let to_do = match self.case.end {
                End::NoWitness if code == 125 => "--without-head",
                End::NoLock => "LOCK: it is not a regular file",
                _ => " verify`",
            };
            assert!(said.contains(to_do), "{what}: {said}");
        }
    }

    fn assert_copy(&self) {
        let (what, log) = (self.case.what, self.place.log.to_str().unwrap());
        let copied = self.untouched(&["copy", log, "copy"]);
        let said = text(&copied.stderr);
        if let End::Sound(_) = self.case.end {
            assert_eq!(status(&copied), 0, "{what}: {said}");
            return self.assert_verifies("copy");
        }
        assert_eq!(status(&copied), 6, "{what}: {said}");
        let to_do = match self.case.end {
            End::ShortOfHead => " continue ",
            _ => "holdpoint copy --salvage",
        };
        assert!(said.contains(to_do), "{what}: {said}");
        assert!(!self.place.directory.path().join("copy").exists(), "{what}");
    }

    /// What is salvaged is a log that verifies; where nothing can be, that is said.
    fn assert_salvage(&self) {
        let (what, log) = (self.case.what, self.place.log.to_str().unwrap());
        let salvaged = self.untouched(&["copy", "--salvage", log, "salvaged"]);
        let said = text(&salvaged.stderr);
        assert!([0, 1, 3].contains(&status(&salvaged)), "{what}: {said}");
        match status(&salvaged) {
            0 => self.assert_verifies("salvaged"),
            _ => assert!(said.contains(log), "{what}: {said}"),
        }
    }

    fn assert_verifies(&self, name: &str) {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let verify = verify.current_dir(self.place.directory.path());
        let output = verify.args(["--log", name, "verify"]).output().unwrap();
        assert_eq!(status(&output), 0, "{}: {}", self.case.what, text(&output.stdout));
    }

    fn assert_goes_on(&self) {
        let output = self.place.run(&["true"]);
        assert_eq!(status(&output), 0, "{}: {}", self.case.what, text(&output.stderr));
        self.place.verified();
    }
}

fn assert_all(cases: &[Case]) {
    let sample = Sample::new();
    for case in cases {
        let spoilt = Spoilt::new(&sample, case);
        spoilt.assert_verify();
        spoilt.assert_copy();
        spoilt.assert_salvage();
        match case.end {
            End::Sound(_) => spoilt.assert_goes_on(),
            End::Corrupt | End::ShortOfHead | End::NoWitness | End::NoLock => {
                spoilt.assert_no_writer_gets_in();
            }
        }
    }
}

#[test]
fn table_every_kind_of_bad_head_is_named_and_left_as_it_is() {
    assert_all(&cases_of_head());
}

#[test]
fn table_every_wrong_set_of_segments_is_named_and_left_as_it_is() {
    assert_all(&cases_of_missing_segments());
    assert_all(&cases_of_strange_segments());
}

#[test]
fn table_every_wrong_length_is_named_and_left_as_it_is() {
    assert_all(&cases_of_lengths());
    assert_all(&cases_of_sparse_files_and_names());
}

#[test]
fn table_whatever_is_no_regular_file_is_named_and_left_as_it_is() {
    assert_all(&cases_of_kinds());
}

// ---- Very many segments, and file systems that cannot be written -------------------------------

#[test]
fn a_log_of_a_thousand_segments_is_verified_copied_and_goes_on() {
    let place = Place::new();
    segments::write_many(&place.log, 1_000);
    let before = shape_of(&place.log);
    let report = place.verified();
    assert_eq!(report["head"]["sequence"], 1_000, "{report:#}");
    let log = place.log.to_str().unwrap();
    let copied = place.holdpoint(&["copy", log, "copy", "--json"]);
    assert_eq!(status(&copied), 0, "{}", text(&copied.stderr));
    assert_eq!(json(&copied)["records"], 1_000);
    assert_eq!(shape_of(&place.log), before);
    assert_eq!(status(&place.run(&["true"])), 0);
    place.verified();
    std::fs::remove_file(place.log.join("segments/00000000000000000500.seg")).unwrap();
    let output = place.holdpoint(&["verify"]);
    assert_eq!(status(&output), 6);
    assert!(text(&output.stdout).contains("00000000000000000501.seg"), "{}", text(&output.stdout));
    assert_eq!(status(&place.run(&["true"])), 0, "opening reads the newest records alone");
}

/// Verbs that only read.
const READING: [&[&str]; 5] =
    [&["verify"], &["replay"], &["log"], &["log", "--stat"], &["decision", "list"]];

#[test]
fn on_a_read_only_file_system_readers_work_and_writers_are_refused() {
    let Some(disk) = SmallDisk::mount("4m") else {
        return skip("a read-only file system: none can be mounted here");
    };
    let place = Place { log: disk.path.join("log"), ..Place::new() };
    fill(&place.log, 20, 1_000);
    disk.remount("ro");
    let before = shape_of(&disk.path);
    for verb in READING {
        let output = place.holdpoint(verb);
        assert_eq!(status(&output), 0, "{verb:?}: {}", text(&output.stderr));
    }
    let log = place.log.to_str().unwrap();
    for (verb, made) in [(&["copy"][..], "copied"), (&["copy", "--salvage"], "salvaged")] {
        let output = place.holdpoint(&[verb, &[log, made]].concat());
        assert_eq!(status(&output), 0, "{verb:?}: {}", text(&output.stderr));
    }
    for (verb, code) in [(&["run", "--", "true"][..], 125), (&["apply"], 1)] {
        let mut command = place.command(verb);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(status(&output), code, "{said}");
        assert!(said.contains(log) && said.contains("Read-only file system"), "{said}");
    }
    let beside = disk.path.join("new");
    let refused = Place { log: beside.clone(), ..Place::new() }.run(&["true"]);
    assert_eq!(status(&refused), 125);
    assert!(text(&refused.stderr).contains(beside.to_str().unwrap()));
    assert_eq!(shape_of(&disk.path), before);
}
