//! Which log is meant where none is named, what making one makes, and where there is none.

use crate::program::{command_in, contents, error_of, json, skip, status, text};
use serde_json::json;
use std::fs::{Permissions, create_dir, create_dir_all, read, read_dir, set_permissions, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The program, run in a directory.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    command_in(directory, arguments).output().unwrap()
}

/// A directory of this user, and the path that the system knows it by.
fn place() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

/// A directory in another, with those between.
fn inside(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    create_dir_all(&path).unwrap();
    path
}

/// How many records the log that is found from here has; `None` where none is found.
fn records(directory: &Path) -> Option<u64> {
    let output = run(directory, &["log", "--stat", "--json"]);
    match status(&output) {
        0 => json(&output)["records"].as_u64(),
        exit => {
            assert_eq!((exit, &json(&output)["error"]["code"]), (3, &json!("nothing_here")));
            None
        }
    }
}

fn done(output: &Output) -> String {
    assert_eq!(status(output), 0, "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Another user than the one who runs the tests; `None` where files cannot be given away.
fn give_away(path: &Path) -> Option<()> {
    let owner = path.metadata().unwrap().uid();
    chown(path, Some(if owner == 4_321 { 4_322 } else { 4_321 }), None).ok()
}

#[test]
fn the_nearest_log_above_is_found_and_a_nearer_one_goes_before_it() {
    let (_kept, top) = place();
    let (middle, deep) = (inside(&top, "a"), inside(&top, "a/b/c"));
    assert_eq!(records(&deep), None);
    done(&run(&top, &["run", "--hold", "never", "--", "true"]));
    let of_top = records(&top);
    assert!(of_top > Some(0) && records(&deep) == of_top && records(&middle) == of_top);
    done(&run(&deep, &["run", "--hold", "never", "--", "true"]));
    assert!(!deep.join(".holdpoint").exists(), "the one above is written");
    assert!(records(&top) > of_top);
    done(&run(&middle, &["init"]));
    assert_eq!((records(&deep), records(&middle)), (Some(0), Some(0)));
    assert!(records(&top) > of_top);
    done(&run(&deep, &["run", "--hold", "never", "--", "true"]));
    assert!(records(&middle) > Some(0) && !deep.join(".holdpoint").exists());
}

#[test]
fn an_empty_directory_of_the_name_is_the_nearest_and_is_not_looked_past() {
    let (_kept, top) = place();
    let deep = inside(&top, "a/b");
    done(&run(&top, &["init"]));
    create_dir(top.join("a/.holdpoint")).unwrap();
    assert_eq!(records(&deep), None);
    done(&run(&deep, &["run", "--hold", "never", "--", "true"]));
    assert!(records(&deep) > Some(0) && records(&top) == Some(0));
}

#[test]
fn a_link_and_a_file_of_the_name_are_refused_and_not_looked_past() {
    let (_kept, top) = place();
    done(&run(&top, &["init"]));
    let linked = inside(&top, "linked/deep");
    symlink(top.join(".holdpoint"), top.join("linked/.holdpoint")).unwrap();
    let file = inside(&top, "file/deep");
    write(top.join("file/.holdpoint"), "mine").unwrap();
    for (directory, code) in [(&linked, "symbolic_link"), (&file, "not_a_directory")] {
        for directory in [directory.as_path(), directory.parent().unwrap()] {
            let output = run(directory, &["decision", "list", "--kind", "hold", "--json"]);
            assert_eq!((status(&output), &error_of(&output)["code"]), (1, &json!(code)));
            let output = run(directory, &["run", "--hold", "never", "--", "touch", "started"]);
            assert_eq!(status(&output), 125, "{code}: {}", text(&output.stderr));
            assert!(!directory.join("started").exists());
        }
    }
    assert_eq!(records(&top), Some(0));
}

#[test]
fn what_is_named_is_not_looked_for() {
    let (_kept, top) = place();
    let deep = inside(&top, "a");
    done(&run(&top, &["init"]));
    let by_option = run(&deep, &["--log", ".holdpoint", "log", "--stat"]);
    assert_eq!(status(&by_option), 3);
    let mut by_environment = command_in(&deep, &["log", "--stat"]);
    assert_eq!(status(&by_environment.env("HOLDPOINT_LOG", "other").output().unwrap()), 3);
    let mut outranked = command_in(&deep, &["--log", "../.holdpoint", "log", "--stat"]);
    assert_eq!(status(&outranked.env("HOLDPOINT_LOG", "other").output().unwrap()), 0);
}

#[test]
fn the_search_ends_below_a_directory_of_another_user() {
    let (_kept, top) = place();
    let (theirs, ours) = (inside(&top, "theirs"), inside(&top, "theirs/ours/deep"));
    done(&run(&top, &["init"]));
    done(&run(&theirs, &["init"]));
    assert_eq!(records(&ours), Some(0), "as long as all is ours");
    let Some(()) = give_away(&theirs) else {
        return skip("another owner's directory above: this user cannot give files away");
    };
    assert_eq!(records(&ours), None, "neither theirs nor what is above it");
    assert_eq!(records(&theirs), Some(0), "in the working directory itself it is meant");
    done(&run(&ours, &["run", "--hold", "never", "--", "true"]));
    assert!(ours.join(".holdpoint").is_dir() && records(&theirs) == Some(0));
    let elsewhere = inside(&theirs, "theirs as well");
    give_away(&elsewhere).unwrap();
    assert_eq!(records(&elsewhere), None, "nothing is looked for above another's directory");
}

#[test]
fn a_log_above_that_another_user_made_is_refused_until_it_is_named() {
    let (_kept, top) = place();
    let deep = inside(&top, "a");
    let log = top.join(".holdpoint");
    done(&run(&top, &["init"]));
    let Some(()) = give_away(&log) else {
        return skip("another owner's log above: this user cannot give files away");
    };
    let list = run(&deep, &["decision", "list", "--json"]);
    let code = &error_of(&list)["code"];
    assert_eq!((status(&list), code), (1, &json!("log_of_another_user")));
    let output = run(&deep, &["run", "--hold", "never", "--", "touch", "started"]);
    assert_eq!(status(&output), 125);
    assert!(text(&output.stderr).contains("was not started") && !deep.join("started").exists());
    let output = run(&deep, &["hook", "pre-tool-use"]);
    assert_eq!(status(&output), 2);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(status(&run(&deep, &["hook", "stop"])), 0);
    let applied = run(&deep, &["apply"]);
    assert_eq!((status(&applied), text(&applied.stdout)), (1, String::new()));
    done(&run(&deep, &["completions", "bash"]));
    done(&run(&deep, &["--log", log.to_str().unwrap(), "log", "--stat"]));
    done(&run(&deep, &["init"]));
    assert_eq!(records(&deep), Some(0), "the advice of the refusal holds");
}

#[test]
fn the_search_ends_below_another_file_system() {
    let (_kept, top) = place();
    done(&run(&top, &["init"]));
    let mount = inside(&top, "mount");
    let mounted = |verb: &str, words: &[&str]| {
        let output = Command::new(verb).args(words).output();
        output.is_ok_and(|output| output.status.success())
    };
    let target = mount.to_str().unwrap();
    if !mounted("mount", &["-t", "tmpfs", "tmpfs", target]) {
        return skip("another file system above: this user cannot mount one");
    }
    let deep = inside(&mount, "deep");
    let found = (records(&deep), records(&mount));
    let ran = run(&deep, &["run", "--hold", "never", "--", "true"]);
    let made = deep.join(".holdpoint").is_dir();
    assert!(mounted("umount", &[target]));
    assert_eq!((found, status(&ran), made), ((None, None), 0, true));
    assert_eq!(records(&top), Some(0));
}

#[test]
fn advice_calls_the_program_so_that_it_finds_the_same_log() {
    let (_kept, top) = place();
    let deep = inside(&top, "a");
    let asked = |directory: &Path, words: &[&str]| {
        let create = ["decision", "create", "--prompt", "Go?", "--option", "a:Yes"];
        let output = run(directory, &[words, &create].concat());
        format!("{}{}", done(&output), text(&output.stderr))
    };
    asked(&top, &[]);
    for told in [asked(&top, &[]), asked(&deep, &[])] {
        assert!(told.contains("holdpoint decision respond"), "{told}");
    }
    // A nearer log that is named and is found here as well, and one that only naming it finds.
    let nearer = asked(&deep, &["--log", ".holdpoint"]);
    assert!(nearer.contains("holdpoint decision respond"), "{nearer}");
    let above = asked(&deep, &["--log", "../.holdpoint"]);
    assert!(above.contains("holdpoint --log ../.holdpoint decision respond"), "{above}");
}

#[test]
fn init_makes_a_log_once_and_leaves_alone_what_is_there() {
    let (_kept, top) = place();
    let deep = inside(&top, "a");
    done(&run(&top, &["init"]));
    let told = json(&run(&deep, &["init", "--json"]));
    let expected = deep.join(".holdpoint");
    assert_eq!(told, json!({ "log": expected.to_str(), "made": true }), "here, not above");
    done(&run(&deep, &["run", "--hold", "never", "--", "true"]));
    let before = contents(&deep);
    let again = run(&deep, &["init", "--json"]);
    assert_eq!((status(&again), &json(&again)["made"]), (0, &json!(false)));
    assert!(done(&run(&deep, &["init"])).contains("already"));
    assert_eq!(contents(&deep), before);
    for words in [&["init", "x/y"][..], &["--log", "z", "init"], &["--log", "no", "init", "w"]] {
        done(&run(&deep, words));
    }
    assert!(["x/y/HEAD", "z/HEAD", "w/HEAD"].iter().all(|file| deep.join(file).is_file()));
    assert!(!deep.join("no").exists());
}

#[test]
fn init_touches_no_directory_of_other_files_no_link_and_no_damaged_log() {
    let (_kept, top) = place();
    inside(&top, "foreign");
    write(top.join("foreign/notes"), "mine").unwrap();
    write(top.join("file"), "mine").unwrap();
    create_dir(top.join("elsewhere")).unwrap();
    symlink(top.join("elsewhere"), top.join("link")).unwrap();
    done(&run(&top, &["init", "damaged"]));
    write(top.join("damaged/HEAD"), "not a HEAD").unwrap();
    let before = contents(&top);
    for (name, exit) in [("foreign", 1), ("file", 1), ("link", 1), ("damaged", 6)] {
        let output = run(&top, &["init", name]);
        assert_eq!((status(&output), text(&output.stdout)), (exit, String::new()), "{name}");
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(contents(&top), before);
    assert_eq!(read_dir(top.join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_new_log_a_copy_and_an_archive_are_kept_out_of_a_work_tree() {
    let (_kept, top) = place();
    let git = |words: &[&str]| Command::new("git").args(words).current_dir(&top).output();
    let has_git = git(&["init", "-q"]).is_ok_and(|output| output.status.success());
    done(&run(&top, &["run", "--hold", "never", "--", "true"]));
    done(&run(&top, &["copy", ".holdpoint", "copy"]));
    done(&run(&top, &["copy", "--salvage", ".holdpoint", "salvaged"]));
    for log in [".holdpoint", "copy", "salvaged"] {
        let file = top.join(log).join(".gitignore");
        assert_eq!(text(&read(&file).unwrap()), "*\n", "{log}");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{log}");
        done(&run(&top, &["--log", log, "verify"]));
    }
    if !has_git {
        return skip("a log in a work tree: there is no git");
    }
    let seen = git(&["status", "--porcelain", "--untracked-files=all"]).unwrap();
    assert_eq!(text(&seen.stdout), "");
}

#[test]
fn what_a_log_says_to_git_is_needed_by_nobody_and_may_be_changed() {
    let (_kept, top) = place();
    let file = top.join(".holdpoint/.gitignore");
    create_dir(top.join(".holdpoint")).unwrap();
    write(&file, "cut/\n").unwrap();
    set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let ran = || done(&run(&top, &["run", "--hold", "never", "--", "true"]));
    ran();
    assert_eq!(text(&read(&file).unwrap()), "cut/\n", "what was there stays");
    std::fs::remove_file(&file).unwrap();
    ran();
    done(&run(&top, &["verify"]));
    assert!(!file.exists(), "and what was taken away is not made again");
    create_dir(&file).unwrap();
    ran();
    done(&run(&top, &["verify"]));
}

/// What is left where a log was removed by a shell, whose `*` leaves out names with a dot.
#[test]
fn a_directory_with_nothing_but_what_a_log_says_to_git_is_empty() {
    let (_kept, top) = place();
    done(&run(&top, &["run", "--hold", "never", "--", "true"]));
    for name in ["copy", "salvaged", "log"] {
        create_dir(top.join(name)).unwrap();
        write(top.join(name).join(".gitignore"), "*\n").unwrap();
        assert_eq!(status(&run(&top, &["--log", name, "verify"])), 3, "{name}");
    }
    done(&run(&top, &["copy", ".holdpoint", "copy"]));
    done(&run(&top, &["copy", "--salvage", ".holdpoint", "salvaged"]));
    done(&run(&top, &["init", "log"]));
    for name in ["copy", "salvaged", "log"] {
        done(&run(&top, &["--log", name, "verify"]));
    }
    create_dir(top.join("theirs")).unwrap();
    write(top.join("theirs/.gitignore"), "*.o\n").unwrap();
    assert_eq!(status(&run(&top, &["copy", ".holdpoint", "theirs"])), 5);
}

#[test]
fn a_variable_that_is_set_and_empty_is_named() {
    let (_kept, path) = place();
    for (variable, what) in [("HOLDPOINT_LOG", "a directory"), ("HOLDPOINT_CONFIG", "a file")] {
        let with = |arguments: &[&str]| {
            let mut command = command_in(&path, arguments);
            command.env(variable, "").output().unwrap()
        };
        let expected = format!("{variable} is set and empty: set it to {what}, or unset it");
        let output = with(&["log", "--stat"]);
        assert_eq!(text(&output.stderr), format!("holdpoint: {expected}\n"));
        assert_eq!((status(&output), &*output.stdout), (2, &b""[..]));
        let told = with(&["decision", "list", "--json"]);
        assert_eq!(error_of(&told)["message"], expected.as_str());
    }
}

/// What an advice tells to type is what a shell takes, whatever the log's directory is called.
#[test]
fn advice_about_a_log_of_an_odd_name_is_a_command_that_a_shell_takes() {
    let (directory, place) = place();
    let own = Path::new(env!("CARGO_BIN_EXE_holdpoint")).parent().unwrap();
    let paths = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    for name in ["a\u{a0}b", "\u{3000}", "\u{2003}x y", "\u{9b}2J", "it's \\ \u{2800}", "\u{85}\n"]
    {
        let log = place.join(name);
        let options = ["--log", log.to_str().unwrap()];
        assert_eq!(status(&run(&place, &[&options[..], &["init"]].concat())), 0, "{name:?}");
        let failing = ["run", "--hold", "before", "--no-wait", "--", "true"];
        let asked = run(&place, &[&options[..], &failing].concat());
        let (id, said) = (text(&asked.stdout), text(&asked.stderr));
        assert_eq!(status(&asked), 122, "{said}");
        // The advice is about this log: what is said to be typed finds the question.
        let advised = said.split("\n  ").nth(1).unwrap();
        let advised = advised.split(" approve ").next().unwrap();
        let line = format!("{advised} decision show {}", id.trim());
        for locale in ["C", "C.UTF-8"] {
            let mut shell = Command::new("bash");
            shell.args(["-c", &line]).env("LC_ALL", locale).env("PATH", &paths);
            shell.current_dir(directory.path());
            let Ok(shown) = shell.output() else {
                return skip("there is no bash");
            };
            assert_eq!(status(&shown), 0, "{line}: {}", text(&shown.stderr));
            assert!(text(&shown.stdout).contains(id.trim()), "{line}");
        }
    }
}
