//! A command begins as it would without us: what it is handed on is compared, by a program of the
//! system, with what it has when it is started alone.

use crate::program::{Place, command_in, status, text};
use std::process::Output;

/// What a Python program does before it executes the words behind it.
fn through(place: &Place, prelude: &str, words: &[&str]) -> Output {
    let script =
        format!("import ctypes, os, signal, sys\n{prelude}\nos.execv(sys.argv[1], sys.argv[1:])");
    let ours = command_in(place.directory.path(), &[]);
    let mut command = std::process::Command::new("python3");
    command.args(["-c", &script]).args(words).current_dir(place.directory.path());
    command.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

/// Of a start alone and of one below us, the standard output.
fn both(prelude: &str, words: &[&str]) -> (String, String) {
    let place = Place::with_log();
    let alone = through(&place, prelude, words);
    assert_eq!(status(&alone), 0, "{}", text(&alone.stderr));
    let below = [&[env!("CARGO_BIN_EXE_holdpoint"), "run", "--"], words].concat();
    let below = through(&place, prelude, &below);
    assert_eq!(status(&below), 0, "{}", text(&below.stderr));
    (text(&alone.stdout), text(&below.stdout))
}

#[test]
fn a_command_finds_signals_ignored_and_blocked_as_without_us() {
    let look = ["/bin/grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"];
    for prelude in [
        "",
        // Python ignores SIGPIPE and SIGXFSZ itself.
        "[signal.signal(it, signal.SIG_DFL) for it in (signal.SIGPIPE, signal.SIGXFSZ)]",
        "[signal.signal(it, signal.SIG_IGN) for it in signal.valid_signals() - {9, 19, 33}]",
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {14})",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN); \
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])",
    ] {
        let (alone, below) = both(prelude, &look);
        assert_eq!(below, alone, "{prelude}");
    }
}

#[test]
fn a_command_finds_limits_umask_priority_and_descriptors_as_without_us() {
    let look = "ulimit -a; ulimit -aH; umask; nice; cat /proc/self/oom_score_adj \
                /proc/self/coredump_filter; grep -E '^(Cap|NoNew|Cpus)' /proc/self/status; \
                for it in 3 7 9 23; do readlink /proc/self/fd/$it || echo closed; done";
    let prelude = "import resource; os.umask(0o027); os.nice(5)\n\
                   resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))\n\
                   resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n\
                   file = os.open('/etc/passwd', os.O_RDONLY)\n\
                   for it in (7, 23): os.dup2(file, it, inheritable=True)\n\
                   os.close(file)";
    let (alone, below) = both(prelude, &["/bin/bash", "-c", look]);
    assert!(alone.contains("/etc/passwd") && alone.contains("0027"), "{alone}");
    assert_eq!(below, alone);
}

#[test]
fn a_command_finds_every_entry_of_the_environment_in_order_and_twice() {
    let entries = "b'X=1', b'X=2', b'WORDLESS', b'=odd', b'RAW=\\xff\\xfe', b'', b'LAST=\\n'";
    let prelude = format!(
        "inherited = [name + b'=' + value for name, value in os.environb.items()]\n\
         texts = [it.encode() for it in sys.argv[1:]]\n\
         entries = [{entries}] + inherited\n\
         execve = ctypes.CDLL(None).execve\n\
         listed = lambda those: (ctypes.c_char_p * (len(those) + 1))(*those, None)\n\
         execve(texts[0], listed(texts), listed(entries))"
    );
    let (alone, below) = both(&prelude, &["/bin/sh", "-c", "od -c /proc/$$/environ"]);
    assert!(alone.contains("X   =   2") && alone.contains("377 376"), "{alone}");
    assert_eq!(below, alone);
}

#[test]
fn nobody_is_asked_where_a_variable_stands_twice_in_the_environment() {
    let place = Place::with_log();
    let prelude = "\
        texts = [it.encode() for it in sys.argv[1:]]\n\
        entries = [b'X=1', b'X=2'] + [n + b'=' + v for n, v in os.environb.items()]\n\
        listed = lambda those: (ctypes.c_char_p * (len(those) + 1))(*those, None)\n\
        ctypes.CDLL(None).execve(texts[0], listed(texts), listed(entries))";
    let words = ["run", "--hold", "before", "--no-wait", "--", "true"];
    let refused =
        through(&place, prelude, &[&[env!("CARGO_BIN_EXE_holdpoint")], &words[..]].concat());
    let said = text(&refused.stderr);
    assert_eq!(status(&refused), 125, "{said}");
    assert!(said.contains("VARIABLE_AMBIGUOUS") && said.contains("env -u X"), "{said}");
    let waiting = place.holdpoint(&["decision", "list", "--json"]);
    assert!(!text(&waiting.stdout).contains("decision_id"), "{}", text(&waiting.stdout));
}
