//! The files that words of a command name are bound by content, and what is not bound is said on
//! the first screen.

use crate::program::{Place, json, status, text};
use crate::run_before::{answer, await_question, command, file, refused, run};
use crate::terminal::Terminal;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Asks whether `true` may start with these words, with nobody waiting; the id of the question.
fn ask(place: &Place, options: &[&str], words: &[&str]) -> String {
    let before = ["run", "--hold", "before", "--no-wait"];
    let output = run(place, &[&before, options, &["--", "true"], words].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    text(&output.stdout).trim().to_string()
}

fn spend(place: &Place, id: &str, words: &[&str]) -> std::process::Output {
    run(place, &[&["--json", "run", "--approval", id, "--", "true"], words].concat())
}

fn context(place: &Place, id: &str) -> String {
    let shown = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    shown["context"].as_str().unwrap().to_string()
}

#[test]
fn a_file_that_a_word_of_the_command_names_is_bound_by_its_content() {
    let forms: [&[&str]; 7] = [
        &["deploy.sh"],
        &["-fdeploy.sh"],
        &["--file=deploy.sh"],
        &["@deploy.sh"],
        &["key=@deploy.sh"],
        &["-Fkey=@./deploy.sh"],
        &["--", "other", "link.sh"],
    ];
    let place = Place::new();
    let script = file(&place, "deploy.sh");
    std::os::unix::fs::symlink("deploy.sh", file(&place, "link.sh")).unwrap();
    for words in forms {
        fs::write(&script, "exit 0").unwrap();
        let id = ask(&place, &[], words);
        assert!(context(&place, &id).contains("  file       "), "{words:?}");
        assert_eq!(answer(&place, &id, "approve"), 0);
        fs::write(&script, "exit 7").unwrap();
        let (code, said) = refused(&spend(&place, &id, words));
        assert_eq!(code, "BINDING_MISMATCH", "{words:?}: {said}");
        assert!(said.contains(".sh") && said.contains("was approved"), "{words:?}: {said}");
        fs::remove_file(&script).unwrap();
        assert_eq!(refused(&spend(&place, &id, words)).0, "BINDING_MISMATCH", "{words:?}");
        fs::write(&script, "exit 0").unwrap();
        let spent = spend(&place, &id, words);
        assert_eq!(status(&spent), 0, "{words:?}: {}", text(&spent.stderr));
    }
    place.verified();
}

#[test]
fn a_file_that_appears_under_a_name_of_the_command_is_not_what_was_approved() {
    let place = Place::new();
    let id = ask(&place, &[], &["later.sh"]);
    assert_eq!(answer(&place, &id, "approve"), 0);
    fs::write(file(&place, "later.sh"), "rm -rf /").unwrap();
    let (code, said) = refused(&spend(&place, &id, &["later.sh"]));
    assert_eq!(code, "BINDING_MISMATCH");
    assert!(said.contains("file later.sh: nothing was approved"), "{said}");
}

#[test]
fn two_names_that_change_places_are_not_what_was_approved() {
    let place = Place::new();
    for name in ["a", "b"] {
        fs::write(file(&place, name), name).unwrap();
    }
    let id = ask(&place, &[], &["a", "b"]);
    assert_eq!(answer(&place, &id, "approve"), 0);
    fs::rename(file(&place, "a"), file(&place, "c")).unwrap();
    fs::rename(file(&place, "b"), file(&place, "a")).unwrap();
    fs::rename(file(&place, "c"), file(&place, "b")).unwrap();
    assert_eq!(refused(&spend(&place, &id, &["a", "b"])).0, "BINDING_MISMATCH");
}

fn make_pipe(path: &Path) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o700));
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}

#[test]
fn pipes_devices_and_sockets_are_no_program_no_bound_file_and_no_configuration() {
    let place = Place::new();
    make_pipe(&file(&place, "pipe"));
    let _socket = UnixListener::bind(file(&place, "socket")).unwrap();
    let begun = Instant::now();
    for name in ["./pipe", "./socket", "/dev/zero", "/dev/tty", "."] {
        let before = ["run", "--hold", "before", "--no-wait"];
        for (words, due) in [
            ([&before[..], &["--", name]].concat(), 126),
            (
                [&before[..], &["--bind", &format!("file={name}"), "--", "touch", "made"]].concat(),
                125,
            ),
            ([&["--config", name], &before[..], &["--", "touch", "made"]].concat(), 125),
        ] {
            let output = run(&place, &words);
            let said = text(&output.stderr);
            assert_eq!(status(&output), due, "{words:?}: {said}");
            assert!(said.contains("the command was not started"), "{words:?}: {said}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(!file(&place, "made").exists());
}

#[test]
fn pipes_devices_and_sockets_are_not_read_and_the_first_screen_names_them() {
    let place = Place::new();
    make_pipe(&file(&place, "pipe"));
    let _socket = UnixListener::bind(file(&place, "socket")).unwrap();
    let words = ["run", "--hold", "before", "--", "true", "pipe", "in=socket", "/dev/null"];
    let words = [&words[..], &["/proc/self/status", "/dev/tty"]].concat();
    let mut asking = Terminal::sized(&place, (300, 120), &words);
    let shown = asking.see("approve, deny?").join("\n");
    let named = "NOT bound  = pipe, socket, /dev/null, /proc/self/status, /dev/tty";
    assert!(shown.contains(named), "{shown}");
    let by_itself = "what it reads by itself: a Makefile, imports";
    assert!(shown.contains(by_itself), "{shown}");
    asking.type_line("details");
    let all = asking.see("decision respond").join("\n");
    for listed in [
        "pipe = a pipe",
        "socket = a socket",
        "/dev/null = a device",
        "/proc/self/status = the kernel makes its content",
        "/dev/tty = a device",
        "what the program reads by itself: a Makefile, modules and imports",
    ] {
        assert!(all.contains(listed), "{listed}: {all}");
    }
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}

#[test]
fn files_beyond_the_bound_are_named_as_not_bound_on_the_first_screen() {
    let place = Place::new();
    let names: Vec<String> = (0..258).map(|at| format!("f{at:03}")).collect();
    for name in &names {
        fs::write(file(&place, name), name).unwrap();
    }
    let big = fs::File::create(file(&place, "big")).unwrap();
    big.set_len((256 << 20) + 1).unwrap();
    let words: Vec<&str> = ["big"].into_iter().chain(names.iter().map(|name| &**name)).collect();
    let asked = [&["run", "--hold", "before", "--", "true"], &words[..]].concat();
    let mut asking = Terminal::sized(&place, (900, 100), &asked);
    let shown = asking.see("approve, deny?").join("\n");
    assert!(shown.contains("NOT bound  = big, f256, f257"), "{shown}");
    assert!(shown.contains("file: `details` shows all"), "{shown}");
    asking.type_line("details");
    let all = asking.see("decision respond").join("\n");
    let (bound, unbound) = all.split_once("Not bound, by name:").expect(&all);
    assert_eq!(bound.matches("  file       f").count(), 256, "{all}");
    for name in ["big", "f256", "f257"] {
        let listed = format!("unread     {name} = beyond 256 files or 256 MiB");
        assert!(unbound.contains(&listed), "{name}: {all}");
    }
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}

#[test]
fn a_file_that_the_command_writes_is_left_unbound_by_name_and_the_question_says_so() {
    let place = Place::new();
    for name in ["out", "in"] {
        fs::write(file(&place, name), "one").unwrap();
    }
    let words = ["of=out", "if=in"];
    let id = ask(&place, &["--unbind", "file=out"], &words);
    assert!(context(&place, &id).contains("  unread     out = as asked for"));
    let screen = text(&place.holdpoint(&["inbox", "--help"]).stdout);
    assert!(!screen.is_empty());
    assert_eq!(answer(&place, &id, "approve"), 0);
    fs::write(file(&place, "out"), "two").unwrap();
    // Another choice is another question.
    let other = ["--json", "run", "--approval", &id, "--unbind", "file=in", "--", "true"];
    assert_eq!(refused(&run(&place, &[&other, &words[..]].concat())).0, "BINDING_MISMATCH");
    let spent = spend(&place, &id, &words);
    assert_eq!(status(&spent), 0, "{}", text(&spent.stderr));
    // Without it the same file is bound.
    let id = ask(&place, &[], &words);
    assert_eq!(answer(&place, &id, "approve"), 0);
    fs::write(file(&place, "out"), "three").unwrap();
    assert_eq!(refused(&spend(&place, &id, &words)).0, "BINDING_MISMATCH");
}

#[test]
fn a_name_that_cannot_be_shown_is_not_left_unbound() {
    let place = Place::new();
    for (option, name) in [("--unbind", "file=a\u{202e}b"), ("--unbind", "env=A B")] {
        let ask = ["--json", "run", "--hold", "before", option, name, "--", "true"];
        let (code, said) = refused(&run(&place, &ask));
        assert_eq!(code, "NAME_NOT_SHOWN", "{said}");
    }
    for (option, name) in [("--unbind", "file=NAME"), ("--unbind", "env=NAME")] {
        let unasked = ["--json", "run", option, name, "--", "true"];
        let (_, said) = refused(&run(&place, &unasked));
        assert!(said.contains(&format!("{option} is of a question")), "{said}");
    }
}

/// A way to change a file, and its name.
type Change = (&'static str, fn(&Path));

/// The ways in which somebody changes a file again and again while it is read.
fn each_change() -> [Change; 4] {
    [
        ("overwritten", |path| {
            fs::File::options().write(true).open(path).unwrap().write_all(b"y").unwrap();
        }),
        ("grows", |path| {
            fs::File::options().append(true).open(path).unwrap().write_all(b"y").unwrap();
        }),
        ("truncated", |path| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(12 << 20).unwrap();
            file.set_len(24 << 20).unwrap();
        }),
        ("replaced", |path| {
            for name in ["one", "other"] {
                let link = path.with_file_name("link");
                fs::hard_link(path.with_file_name(name), &link).unwrap();
                fs::rename(link, path).unwrap();
            }
        }),
    ]
}

#[test]
fn a_file_that_is_written_to_while_it_is_read_is_said_and_nothing_starts() {
    for (how, change) in each_change() {
        let place = Place::new();
        let path = file(&place, "busy");
        for (name, content) in [("busy", b'x'), ("one", b'y'), ("other", b'z')] {
            fs::write(file(&place, name), vec![content; 24 << 20]).unwrap();
        }
        let is_over = AtomicBool::new(false);
        let begun = Instant::now();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    change(&path);
                }
            });
            let ask = ["--json", "run", "--hold", "before", "--no-wait", "--", "cat", "busy"];
            let output = run(&place, &ask);
            is_over.store(true, Ordering::Relaxed);
            output
        });
        assert!(begun.elapsed() < Duration::from_secs(60), "{how}: {:?}", begun.elapsed());
        let (code, said) = refused(&output);
        assert_eq!(code, "FILE_NOT_BOUND", "{how}: {said}");
        assert!(said.contains("busy was changed while it was read"), "{how}: {said}");
        assert!(place.loops().is_empty());
    }
}

#[test]
fn a_file_that_only_the_script_of_a_shell_names_is_said_not_to_be_bound() {
    let place = Place::new();
    fs::write(file(&place, "deploy.sh"), "exit 0").unwrap();
    let words = ["run", "--hold", "before", "--", "sh", "-c", ". ./deploy.sh"];
    let mut asking = Terminal::sized(&place, (300, 120), &words);
    let shown = asking.see("approve, deny?").join("\n");
    let (bound, unbound) = shown.split_once("\nnot bound ").expect(&shown);
    assert!(!bound.contains("  file "), "{shown}");
    let flowed = unbound.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowed.contains("imports, files of `sh -c`"), "{shown}");
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}

#[test]
fn the_question_begins_with_the_command_and_who_asks_and_details_are_a_word_away() {
    let place = Place::new();
    fs::write(file(&place, "deploy.sh"), "true").unwrap();
    let words = ["run", "--hold", "before", "--", "sh", "deploy.sh"];
    let mut asking = Terminal::sized(&place, (300, 120), &words);
    let shown = asking.see("approve, deny?").join("\n");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines[0], "| sh deploy.sh", "{shown}");
    let head = lines.iter().position(|line| !line.starts_with('|')).expect(&shown);
    assert!(lines[head].starts_with("asked by "), "{shown}");
    for hidden in ["SHA-256", "inode", "keyed digest"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    assert!(shown.contains("|   file       = deploy.sh"), "{shown}");
    asking.type_line("details");
    let all = asking.see("decision respond").join("\n");
    assert!(all.contains("SHA-256") && all.contains("inode"), "{all}");
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}

#[test]
fn whoever_asked_is_shown_the_reason_of_a_denial() {
    let place = Place::new();
    let ask = ["run", "--hold", "before", "--", "true"];
    let waiting = command(&place, &ask).spawn().unwrap();
    let id = await_question(&place);
    let why = "not on a Friday\u{202e}!";
    let deny = ["decision", "respond", &id, "--option", "deny", "--reason", why];
    let denied = crate::terminal::at_terminal(&place, &deny);
    assert_eq!(status(&denied), 0, "{}", text(&denied.stderr));
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(status(&output), 120);
    let said = text(&output.stderr);
    assert!(said.contains("not on a Friday\\u{202e}!"), "{said}");
}

/// A question that nobody waits for.
fn hours_to_answer(place: &Place, options: &[&str]) -> u64 {
    let id = ask(place, options, &[]);
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    let time = |field: &str| {
        let text = shown[field].as_str().unwrap_or_else(|| panic!("{field}: {shown}"));
        text.parse::<jiff::Timestamp>().unwrap().as_second()
    };
    u64::try_from(time("expires_at") - time("created_at")).unwrap() / 3600
}

#[test]
fn what_nobody_waits_for_can_be_answered_for_a_day_unless_something_else_is_said() {
    let place = Place::new();
    assert_eq!(hours_to_answer(&place, &[]), 24);
    assert_eq!(hours_to_answer(&place, &["--expires", "before=2h"]), 2);
    fs::write(file(&place, "holdpoint.toml"), "[hold]\napproval_timeout = \"3h\"\n").unwrap();
    assert_eq!(hours_to_answer(&place, &[]), 3);
}
