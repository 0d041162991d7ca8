//! `holdpoint run` where no log can be written: exit 125 with the path and what to do, the command
//! not started, and not one byte of the place changed.

use crate::machine::remembered;
use crate::program::{Place, contents, json, skip, status, text};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership};
use holdpoint_engine::shell::EngineOptions;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::hand_made as support;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Runs `touch WITNESS` and asserts that it did not start, and that all of this was said.
fn assert_refused(place: &Place, log: &Path, said: &[&str]) {
    let witness = place.directory.path().join("witness");
    for json in [false, true] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.arg("--log").arg(log).args(json.then_some("--json"));
        command.args(["run", "--lock-wait", "50ms", "--", "touch"]).arg(&witness);
        let output = command.env_remove("HOLDPOINT_LOG").output().unwrap();
        assert_not_started(&output, said);
        assert!(!witness.exists());
        if json {
            let message = self::json(&output)["error"]["message"].clone();
            assert!(text(&output.stderr).contains(message.as_str().unwrap()));
        } else {
            assert_eq!(output.stdout, b"");
        }
    }
}

fn assert_not_started(output: &Output, said: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(status(output), 125, "{stderr}");
    for words in said.iter().chain(&["the command was not started"]) {
        assert!(stderr.contains(words), "{words:?} is not in: {stderr}");
    }
}

/// The same, and the bytes of the log's directory are what they were.
fn assert_refused_untouched(place: &Place, said: &[&str]) {
    let before = contents(&place.log);
    let shown = place.log.display().to_string();
    assert_refused(place, &place.log, &[&[shown.as_str()], said].concat());
    assert_eq!(contents(&place.log), before);
}

/// A log with one run on it.
fn recorded() -> Place {
    let place = Place::new();
    assert_eq!(status(&place.shell("echo out")), 0);
    place
}

fn segment(place: &Place) -> PathBuf {
    place.log.join("segments/00000000000000000001.seg")
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(&place.log).unwrap();
    std::fs::write(place.log.join("thesis.txt"), "years of work").unwrap();
    assert_refused_untouched(&place, &["holds other files", "name an empty directory"]);
}

#[test]
fn a_file_where_a_directory_should_be_is_left_alone() {
    let place = Place::new();
    std::fs::write(&place.log, "not a log").unwrap();
    assert_refused(&place, &place.log, &["is not a directory", "name a directory"]);
    assert_eq!(std::fs::read(&place.log).unwrap(), b"not a log");
    let below = place.log.join("below");
    assert_refused(&place, &below, &[&below.display().to_string(), "check the path"]);
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let place = recorded();
    let link = place.directory.path().join("link");
    symlink(&place.log, &link).unwrap();
    let before = contents(&place.log);
    assert_refused(&place, &link, &["is a symbolic link", "name the directory"]);
    assert_eq!(contents(&place.log), before);
}

#[test]
fn a_segment_that_is_a_symbolic_link_is_not_followed() {
    let place = recorded();
    let elsewhere = place.directory.path().join("elsewhere");
    std::fs::rename(segment(&place), &elsewhere).unwrap();
    symlink(&elsewhere, segment(&place)).unwrap();
    assert_refused_untouched(&place, &[]);
}

#[test]
fn a_newer_format_names_the_program_that_can_read_it() {
    let place = recorded();
    support::make_newer(&place.log.join("HEAD"));
    assert_refused_untouched(&place, &["HEAD", "version 2", "holdpoint"]);
}

#[test]
fn a_wrong_magic_and_a_cut_header_are_damage_that_is_located() {
    let place = recorded();
    support::flip(&segment(&place), 0);
    assert_refused_untouched(&place, &["is damaged, and nothing was written: ", " verify`"]);
    let place = recorded();
    let file = std::fs::File::options().write(true).open(segment(&place)).unwrap();
    file.set_len(100).unwrap();
    drop(file);
    assert_refused_untouched(&place, &["is damaged, and nothing was written: ", " verify`"]);
}

#[test]
fn a_damaged_record_is_refused_and_verify_names_the_place() {
    let place = recorded();
    support::flip(&segment(&place), support::FIRST_RECORD + 70);
    let before = recorded_bytes(&place);
    assert_refused(&place, &place.log, &["byte 4096, sequence 1", " verify`"]);
    assert_eq!(recorded_bytes(&place), before);
    let output = place.holdpoint(&["verify", "--json"]);
    let finding = json(&output)["findings"][0].clone();
    assert_eq!(status(&output), 6);
    for key in ["segment", "offset", "sequence", "expected", "found"] {
        assert!(!finding[key].is_null(), "{key}: {finding}");
    }
}

/// All but LOCK, which says who looked last.
fn recorded_bytes(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    contents(&place.log).into_iter().filter(|(path, _)| !path.ends_with("LOCK")).collect()
}

#[test]
fn a_log_that_another_process_holds_is_waited_for_and_then_its_holder_named() {
    let place = recorded();
    let log = Options::default().ownership(Ownership::Exclusive);
    let options = EngineOptions::simulated().log(log);
    let holder = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let named = format!("locked by process {}", std::process::id());
    assert_refused_untouched(&place, &[&named, "waited"]);
    holder.close().unwrap();
    assert_eq!(status(&place.shell("true")), 0);
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    let place = Place::new();
    std::fs::create_dir(&place.log).unwrap();
    std::fs::set_permissions(&place.log, PermissionsExt::from_mode(0o555)).unwrap();
    let Some(mut command) = as_another_user(&place) else {
        return skip("a directory without write permission: this user cannot become another one");
    };
    command.arg("--log").arg(&place.log).args(["run", "--", "true"]);
    let shown = place.log.display().to_string();
    assert_not_started(&command.output().unwrap(), &[&shown, "check the path"]);
    assert_eq!(contents(&place.log).len(), 0);
}

/// The program as a user to whom permissions apply. Nobody may need to read where it was built, so
/// a copy is run.
fn as_another_user(place: &Place) -> Option<Command> {
    const NOBODY: u32 = 65_534;
    let program = place.directory.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_holdpoint"), &program).unwrap();
    std::fs::set_permissions(place.directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let command = || {
        let mut command = Command::new(&program);
        if rustix::process::getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let tried = command().arg("--version").output();
    tried.is_ok_and(|output| output.status.success()).then(command)
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_not_a_death() {
    let place = Place::new();
    let limited = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_holdpoint")]).arg(&place.log);
        command.output().unwrap()
    };
    let script = "ulimit -f 8; exec \"$1\" --log \"$2\" run -- touch \"$2.witness\"";
    let shown = place.log.display().to_string();
    assert_not_started(&limited(script), &[&shown, "no space"]);
    assert!(!place.directory.path().join("log.witness").exists());
    assert_eq!(status(&place.shell("true")), 0, "what was begun is finished");
    place.verified();
}

#[test]
fn a_limit_on_open_files_is_told_as_that_and_as_nothing_else() {
    let place = Place::new();
    // What other tests have open meanwhile is inherited, and would count.
    let close = "for fd in /proc/self/fd/*; do fd=${fd##*/}; \
                 if [ $fd -gt 2 ]; then eval \"exec $fd>&-\"; fi; done";
    let run = "exec \"$1\" --log \"$2\" run -- touch \"$2.witness\"";
    let limited = |most: u64| {
        let script = format!("{close}; ulimit -n {most}; {run}");
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_holdpoint")]).arg(&place.log);
        command.output().unwrap()
    };
    // With fewer not even the program is loaded, and that is not for it to tell.
    let least = (3..12).find(|most| status(&limited(*most)) != 127);
    let least = least.unwrap_or_else(|| panic!("{:?}", limited(11)));
    for most in least..least + 4 {
        let output = limited(most);
        assert_not_started(&output, &["Too many open files"]);
        let said = text(&output.stderr);
        assert!(!said.contains("is in a user namespace that"), "{most}: {said}");
        assert!(!place.directory.path().join("log.witness").exists());
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_log_stays_intact() {
    let Some(disk) = SmallDisk::mount("480k") else {
        return skip("a full disk: no small file system can be mounted here");
    };
    let place = Place { log: disk.path.join("log"), ..Place::new() };
    let run = || place.shell("head -c 3000 /dev/zero");
    let full = (0..100).map(|_| run()).find(|output| status(output) != 0);
    let full = full.expect("480 KiB do not hold 100 runs");
    let said = text(&full.stderr);
    assert_eq!(status(&full), 125, "{said}");
    assert!(said.contains("no space") && said.contains(&place.log.display().to_string()), "{said}");
    place.verified();
    let before = contents(&place.log.join("segments"));
    assert_eq!(status(&run()), 125);
    assert_eq!(contents(&place.log.join("segments")), before);
    place.verified();
}

#[test]
fn a_disk_too_small_for_any_log_is_an_error() {
    let Some(disk) = SmallDisk::mount("48k") else {
        return skip("a disk too small for a log: no small file system can be mounted here");
    };
    let place = Place { log: disk.path.join("log"), ..Place::new() };
    let shown = place.log.display().to_string();
    assert_refused(&place, &place.log, &[&shown, "no space", "65536 bytes"]);
}

/// A machine whose users stand in no list of `/etc/passwd`, as a directory service keeps them: its
/// `/etc`, and the policy of one of them.
fn served_machine() -> TempDir {
    let etc = TempDir::new().unwrap();
    std::fs::set_permissions(etc.path(), Permissions::from_mode(0o755)).unwrap();
    let path = |name: &str| etc.path().join(name);
    let _ = std::fs::copy("/etc/ld.so.cache", path("ld.so.cache"));
    std::fs::write(path("nsswitch.conf"), "passwd: files systemd\n").unwrap();
    std::fs::write(path("passwd"), "root:x:0:0::/root:/bin/sh\n").unwrap();
    std::fs::create_dir_all(path("userdb")).unwrap();
    let dora = r#"{"userName":"dora","uid":4003,"gid":4003,"homeDirectory":"/etc/homes/dora",
        "shell":"/bin/sh","disposition":"regular"}"#;
    std::fs::write(path("userdb/dora.user"), dora).unwrap();
    symlink("dora.user", path("userdb/4003.user")).unwrap();
    std::fs::create_dir_all(path("homes/dora/.config/holdpoint")).unwrap();
    let policy = "[hold]\ndefault = \"after\"\n";
    std::fs::write(path("homes/dora/.config/holdpoint/config.toml"), policy).unwrap();
    let all = Command::new("chown").args(["-R", "4003:4003"]).arg(path("homes")).status();
    assert!(all.is_ok_and(|status| status.success()));
    etc
}

/// On that machine, as that user.
fn as_dora(etc: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\""]).arg(etc.path());
    command.args(["setpriv", "--reuid=4003", "--regid=4003", "--clear-groups"]).args(words);
    command.env_remove("XDG_CONFIG_HOME").env_remove("HOLDPOINT_CONFIG");
    command.stdin(Stdio::null());
    command
}

#[test]
fn the_home_is_the_one_that_the_user_database_names_wherever_it_keeps_its_users() {
    if !Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|it| it.success()) {
        return skip("another /etc needs a mount namespace, and so root");
    }
    let etc = served_machine();
    let known = as_dora(&etc, &["getent", "passwd", "4003"]).output().unwrap();
    if !text(&known.stdout).contains("/etc/homes/dora") {
        return skip("users outside of /etc/passwd need libnss_systemd");
    }
    let place = Place::new();
    std::fs::set_permissions(place.directory.path(), Permissions::from_mode(0o777)).unwrap();
    let run = place.command(&["run", "--hold", "never", "--", "touch", "witness"]);
    let words: Vec<&str> = std::iter::once(run.get_program())
        .chain(run.get_args())
        .map(|word| word.to_str().unwrap())
        .collect();
    let refused = || {
        let mut command = as_dora(&etc, &words);
        command.current_dir(place.directory.path()).output().unwrap()
    };
    assert_not_started(&refused(), &["/etc/homes/dora/.config/holdpoint/config.toml"]);
    // Nobody knows where it is: that is not "there is none".
    std::fs::write(etc.path().join("nsswitch.conf"), "passwd: files\n").unwrap();
    let passwd = etc.path().join("passwd");
    std::fs::set_permissions(&passwd, Permissions::from_mode(0o0)).unwrap();
    assert_not_started(&refused(), &["the user database does not answer"]);
    assert!(!place.directory.path().join("witness").exists());
}

/// A file system in memory, unmounted when the test is over.
struct SmallDisk {
    path: PathBuf,
    _directory: TempDir,
}

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self { path, _directory: directory })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).output();
    }
}

#[test]
fn a_network_or_user_space_file_system_is_refused_before_anything_is_written() {
    let Some(directory) = unreliable_directory() else {
        return skip("network and FUSE file systems: none is mounted here that can be written");
    };
    let log = directory.path().join("log");
    assert_refused(&Place::new(), &log, &["file system", "local disk"]);
    assert!(!log.exists());
}

/// A directory on a file system that is no local disk, where one is mounted and may be written.
fn unreliable_directory() -> Option<TempDir> {
    const KINDS: [&str; 5] = ["nfs", "nfs4", "cifs", "9p", "fuse"];
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        let is_one = KINDS.iter().any(|known| kind.split('.').next() == Some(known));
        is_one.then(|| tempfile::tempdir_in(path).ok()).flatten()
    })
}

/// Nothing tells then that the newest record found was the newest one.
#[test]
fn without_head_and_lock_nothing_starts_before_a_person_sets_a_policy() {
    let place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    for options in [&["--without-head"][..], &[]] {
        let refused = place.run_with(options, &["true"]);
        let said = text(&refused.stderr);
        assert_eq!(status(&refused), 125, "{said}");
        assert!(said.contains("policy set`"), "{said}");
        assert_eq!(said.contains("HEAD was missing"), !options.is_empty(), "{said}");
    }
    for kind in ["log.head_missing_accepted", "log.policy_unknown"] {
        let shown = place.holdpoint(&["log", &format!("kind={kind}")]);
        assert_eq!(text(&shown.stdout).lines().count(), 1, "{kind}");
    }
    place.verified();
}

/// Its key is gone as well where the approval was spent in what is lost.
#[test]
fn an_approval_before_a_loss_is_refused_for_that_and_not_for_its_key() {
    let place = Place::new();
    let run = |words: &[&str]| {
        let mut command = place.command(words);
        command.output().unwrap()
    };
    let asked = run(&["run", "--hold", "before", "--no-wait", "--", "true"]);
    let id = text(&asked.stdout).trim().to_string();
    let approve = ["decision", "respond", &id, "--option", "approve"];
    assert_eq!(status(&place.holdpoint(&approve)), 0);
    std::fs::remove_dir_all(remembered().join("keys")).unwrap();
    let spend = ["--json", "run", "--approval", &id, "--", "true"];
    assert_eq!(json(&run(&spend))["error"]["code"], "APPROVAL_KEY_MISSING");
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    let spend = ["--json", "run", "--without-head", "--approval", &id, "--", "true"];
    let refused = run(&spend);
    assert_eq!(status(&refused), 125, "{}", text(&refused.stderr));
    assert_eq!(json(&refused)["error"]["code"], "APPROVAL_BEFORE_LOSS");
}

#[test]
fn a_log_without_head_is_written_only_on_request_and_that_is_recorded() {
    let place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    assert_refused_untouched(&place, &["HEAD is missing", "--without-head"]);
    assert_eq!(status(&place.run_with(&["--without-head"], &["true"])), 0);
    let accepted = place.holdpoint(&["log", "kind=log.head_missing_accepted"]);
    assert_eq!(text(&accepted.stdout).lines().count(), 1);
    place.verified();
}

#[test]
fn what_is_said_of_a_question_is_refused_where_nobody_is_asked() {
    let place = Place::new();
    for option in [
        "--approvers=root",
        "--to=root",
        "--expires=1h",
        "--quorum=2",
        "--expires=before=1h",
        "--bind=file=nosuch",
    ] {
        let output = place.holdpoint(&["run", option, "--", "touch", "witness"]);
        let (name, _) = option.split_once('=').unwrap();
        assert_not_started(&output, &[name, "nobody is asked", "--hold before"]);
    }
    for option in ["--expires=before=1h", "--bind=file=nosuch"] {
        let held = ["run", "--no-wait", "--hold", "on-failure"];
        let output = place.holdpoint(&[&held[..], &[option, "--", "touch", "witness"]].concat());
        assert_not_started(&output, &["no question is asked before the start", "--hold always"]);
    }
    assert!(!place.directory.path().join("witness").exists());
    // What is done with a question is no word on whether there is one.
    assert_eq!(status(&place.holdpoint(&["run", "--no-wait", "--", "true"])), 0);
}
