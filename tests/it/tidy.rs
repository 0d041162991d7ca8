//! The repository polices itself: what the code base promises about its own shape is checked here.
use std::fs;
use std::path::{Path, PathBuf};

const LINE_WIDTH_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 600;

/// The only files that may hold unsafe code, one for each crate that needs it.
const UNSAFE_FILES: [&str; 6] = [
    "benches/src/peers/heed.rs",
    "cli/ui/inherited.rs",
    "engine/src/executor/child_calls.rs",
    "log-format/files/src/map.rs",
    "log-format/lanes/src/x86_64.rs",
    "testing/src/inject/listener.rs",
];

/// Which rooms a room may know: the direction of DESIGN, by crate.
const DIRECTIONS: [(&str, &[&str]); 12] = [
    ("log-format/Cargo.toml", &[]),
    ("log-format/lanes/Cargo.toml", &[]),
    ("engine/domain/Cargo.toml", &[]),
    ("log-format/files/Cargo.toml", &["log-format", "sha256-lanes"]),
    ("log-format/index/Cargo.toml", &["log-format", "log-files"]),
    ("engine/Cargo.toml", &["log-format", "log-files", "log-index", "sha256-lanes", "domain"]),
    ("replay/Cargo.toml", &["log-format", "log-files", "log-index", "sha256-lanes", "domain"]),
    ("engine/reducers/Cargo.toml", &["log-format", "log-files", "domain", "engine", "replay"]),
    (
        "engine/holdpoint/Cargo.toml",
        &["log-format", "log-files", "domain", "engine", "replay", "reducers"],
    ),
    ("replay/export/Cargo.toml", &["log-files", "domain", "replay"]),
    (
        "benches/Cargo.toml",
        &["log-format", "log-files", "sha256-lanes", "domain", "engine", "replay", "cli"],
    ),
    (
        "Cargo.toml",
        &[
            "log-format",
            "log-files",
            "log-index",
            "sha256-lanes",
            "domain",
            "engine",
            "replay",
            "export",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the repository with one of these endings, except what is built or recorded.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(root(), endings, &mut found);
    found.sort();
    assert!(!found.is_empty());
    found
}

fn collect(directory: &Path, endings: &[&str], found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        let is_skipped = ["target", ".git", "corpus", "golden", "artifacts"].contains(&&*name);
        if entry.is_dir() && !is_skipped && !name.starts_with(".holdpoint") {
            collect(&entry, endings, found);
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push((relative(&entry), fs::read_to_string(&entry).unwrap()));
        }
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// Fails with every place, not only the first.
fn assert_none(what: &str, places: &[String]) {
    assert!(places.is_empty(), "{what}:\n{}", places.join("\n"));
}

fn lines_where(endings: &[&str], is_bad: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut places = Vec::new();
    for (file, text) in files(endings) {
        for (index, line) in text.lines().enumerate() {
            if is_bad(&file, line) {
                places.push(format!("{file}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    places
}

#[test]
fn source_is_ascii_and_lines_are_short() {
    let places = lines_where(&[".rs"], |_, line| !line.is_ascii() || line.len() > LINE_WIDTH_MAX);
    assert_none("not ASCII, or longer than 100", &places);
}

#[test]
fn functions_and_files_are_short() {
    let mut places = Vec::new();
    for (file, text) in files(&[".rs"]) {
        let before_tests = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let length = before_tests.lines().count();
        if length > FILE_LINES_MAX {
            places.push(format!("{file}: {length} lines"));
        }
        for (name, length) in functions(&text) {
            if length > FUNCTION_LINES_MAX {
                places.push(format!("{file}: {name}: {length} lines"));
            }
        }
    }
    assert_none("too long", &places);
}

/// Names and lengths of functions, told by the indentation of their closing brace.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        if let Some(name) = function_name(code) {
            open = Some((name, indent, index));
        }
        if let Some((name, at, start)) = open.take_if(|(_, at, _)| code == "}" && indent == *at) {
            let _ = at;
            found.push((name, index - start + 1));
        }
    }
    found
}

fn function_name(code: &str) -> Option<String> {
    let mut words = code
        .split_whitespace()
        .skip_while(|word| ["const", "unsafe", "async"].contains(word) || word.starts_with("pub"));
    let is_function = words.next() == Some("fn");
    let rest = words.next().filter(|_| is_function)?;
    Some(rest.split(['(', '<']).next().unwrap_or(rest).to_string())
}

#[test]
fn the_length_of_a_function_is_told_right() {
    let text = "impl A {\n    pub(crate) fn one(\n    ) {\n        x\n    }\n}\nfn two() {\n}\n";
    assert_eq!(functions(text), [("one".to_string(), 4), ("two".to_string(), 2)]);
}

#[test]
fn nothing_is_left_undone() {
    let notes = ["TO".to_string() + "DO", "FIX".to_string() + "ME", "XX".to_string() + "X"];
    let macros = ["todo".to_string() + "!(", "unimplemented".to_string() + "!("];
    let places = lines_where(&[".rs", ".toml", ".md"], |_, line| {
        let mut words = line.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.any(|word| notes.iter().any(|note| word == note))
            || macros.iter().any(|name| line.contains(name.as_str()))
    });
    assert_none("left undone", &places);
}

#[test]
fn every_check_can_fail() {
    let mut places = Vec::new();
    for (file, text) in files(&[".rs"]) {
        let mut before = "";
        for (index, line) in text.lines().map(str::trim).enumerate() {
            let begins_a_statement = before.is_empty() || before.ends_with([';', '{', '}']);
            if begins_a_statement && line.starts_with("matches!(") && line.ends_with(';') {
                places.push(format!("{file}:{}: {line}", index + 1));
            }
            before = line;
        }
    }
    assert_none("a comparison that nobody asserts", &places);
}

#[test]
fn no_test_waits_by_the_clock() {
    let sleep = "thread::".to_string() + "sleep";
    let is_test = |file: &str| file.starts_with("tests/") || file.contains("/tests/");
    let places = lines_where(&[".rs"], |file, line| is_test(file) && line.contains(&sleep));
    assert_none("waits by the clock", &places);
}

#[test]
fn no_test_is_empty() {
    let mut places = Vec::new();
    for (file, text) in files(&[".rs"]) {
        let compact: String = text.split_whitespace().collect();
        for test in compact.split("#[test]fn").skip(1) {
            let body = test.split_once(")").map_or("", |(_, body)| body);
            if body.starts_with("{}") {
                places.push(format!("{file}: {}", test.split('(').next().unwrap_or("")));
            }
        }
    }
    assert_none("empty tests", &places);
}

#[test]
fn unsafe_code_is_in_one_file_of_each_crate_that_needs_it() {
    let allow = "unsafe_code".to_string() + ",";
    let places = lines_where(&[".rs"], |file, line| {
        let opens = line.contains(&("unsafe".to_string() + " {")) || line.contains(&allow);
        opens && !UNSAFE_FILES.contains(&file) && file != "tests/it/tidy.rs"
    });
    assert_none("unsafe code elsewhere", &places);
    for file in UNSAFE_FILES {
        assert!(root().join(file).is_file(), "{file} is gone: name the file that took its place");
    }
}

#[test]
fn the_format_and_the_rules_forbid_unsafe_and_know_no_standard_library() {
    for file in ["log-format/src/lib.rs", "engine/domain/src/lib.rs"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains("#![no_std]"), "{file}");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{file}");
    }
}

#[test]
fn rooms_know_only_the_rooms_that_the_design_allows() {
    for (manifest, allowed) in DIRECTIONS {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        let of_package = text.split("[workspace.dependencies]").last().unwrap_or(&text);
        let package = of_package.split("[package]").last().unwrap_or(of_package);
        // Tests may ask for what only tests may have, and share their helpers.
        let of_product = package.split("[dev-dependencies]").next().unwrap_or(package);
        let known = of_product.lines().filter_map(|line| {
            let name = line.strip_prefix("holdpoint-")?;
            name.split(['.', ' ', '=']).next()
        });
        for name in known {
            assert!(allowed.contains(&name), "{manifest} must not know {name}");
        }
    }
}

#[test]
fn the_domain_and_the_log_meet_only_in_the_shell() {
    let domain = "holdpoint_domain";
    let places = lines_where(&[".rs"], |file, line| {
        let below = file.starts_with("engine/src/log/") || file.starts_with("engine/src/executor/");
        below && line.contains(domain)
    });
    assert_none("the disk and the executor know no rule", &places);
}

/// The packages of the workspace: where each lies, and its manifest without the workspace's part.
fn packages() -> Vec<(PathBuf, String)> {
    let manifests = files(&["Cargo.toml"]).into_iter();
    let of_workspace = manifests.filter(|(file, _)| !file.starts_with("fuzz/"));
    let package = |(file, text): (String, String)| {
        let (_, package) = text.split_once("[package]").unwrap();
        (root().join(file).parent().unwrap().to_path_buf(), package.to_string())
    };
    of_workspace.map(package).collect()
}

fn is_published(package: &str) -> bool {
    !package.lines().any(|line| line == "publish = false")
}

#[test]
fn every_published_crate_says_what_it_is_and_brings_its_licences() {
    let mut places = Vec::new();
    let published = packages().into_iter().filter(|(_, package)| is_published(package));
    for (directory, package) in published {
        for key in [
            "name",
            "description",
            "version",
            "license",
            "rust-version",
            "keywords",
            "categories",
            "readme",
            "include",
        ] {
            if !package.lines().any(|line| line.starts_with(key)) {
                places.push(format!("{} lacks {key}", directory.display()));
            }
        }
        let list = package.lines().find(|line| line.starts_with("include = ")).unwrap_or("");
        for file in ["README.md", "LICENSE-*"] {
            if !list.contains(&format!("\"/{file}\"")) {
                places.push(format!("{} does not include {file}", directory.display()));
            }
        }
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let same = fs::read(directory.join(file)).ok() == fs::read(root().join(file)).ok();
            if !same {
                places.push(format!("{} is without {file}", directory.display()));
            }
        }
        if !directory.join("README.md").is_file() {
            places.push(format!("{} has no README.md", directory.display()));
        }
    }
    assert_none("not fit to publish", &places);
}

/// Cargo would refuse it only when it is published.
#[test]
fn no_published_crate_needs_one_that_is_not() {
    let name = |package: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
        line.trim_matches('"').to_string()
    };
    let (published, held_back): (Vec<_>, Vec<_>) =
        packages().into_iter().partition(|(_, package)| is_published(package));
    let held_back: Vec<String> = held_back.iter().map(|(_, package)| name(package)).collect();
    assert!(published.len() > 10 && held_back.len() > 3, "{held_back:?}");
    let mut places = Vec::new();
    for (_, package) in published {
        let tables = package.split("\n[").filter(|table| {
            let title = table.lines().next().unwrap_or("");
            title.ends_with("dependencies]") && !title.ends_with("dev-dependencies]")
        });
        for line in tables.flat_map(str::lines) {
            let asked = line.split(['.', ' ', '=']).next().unwrap_or("");
            if held_back.iter().any(|one| one == asked) {
                places.push(format!("{} needs {asked}", name(&package)));
            }
        }
    }
    assert_none("needs what is not published", &places);
}

/// The lock of the fuzz targets is apart from that of the workspace, and nothing that is built with
/// every change reads it.
#[test]
fn the_fuzz_targets_lock_what_the_crates_need() {
    let read = |file: &Path| fs::read_to_string(file).unwrap().parse::<toml::Table>().unwrap();
    let lock = read(&root().join("fuzz/Cargo.lock"));
    let locked = |name: &str| {
        let packages = lock["package"].as_array().unwrap();
        let found = packages.iter().find(|package| package["name"].as_str() == Some(name))?;
        let needs = found.get("dependencies").and_then(toml::Value::as_array);
        let needs = needs.into_iter().flatten().filter_map(toml::Value::as_str);
        Some(needs.filter_map(|need| need.split(' ').next()).collect::<Vec<_>>())
    };
    let mut places = Vec::new();
    for (directory, _) in packages() {
        let manifest = read(&directory.join("Cargo.toml"));
        let name = manifest["package"]["name"].as_str().unwrap();
        let (Some(needed), Some(locked)) = (manifest.get("dependencies"), locked(name)) else {
            continue;
        };
        for (need, of) in needed.as_table().unwrap() {
            let is_optional = of.get("optional").is_some_and(|it| it.as_bool() == Some(true));
            if !is_optional && !locked.contains(&need.as_str()) {
                places.push(format!("{name} needs {need}: `cargo update -w` in fuzz locks it"));
            }
        }
    }
    assert_none("fuzz/Cargo.lock is an older one", &places);
}

#[test]
fn what_contributors_are_sent_to_is_there() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let quoted = text.split('`').skip(1).step_by(2);
    // A name in capitals stands for any, and `NAME/` in a row of others lies beside the first.
    let paths = quoted.filter(|word| {
        let is_path = word.contains('/') && !word.contains([' ', '*', '\n']);
        let stands_for_any = ["SYSTEM", "VERB"].iter().any(|any| word.contains(any));
        is_path && !stands_for_any && !["index/", "lanes/"].contains(word)
    });
    let missing: Vec<String> =
        paths.filter(|path| !root().join(path).exists()).map(String::from).collect();
    assert!(text.contains("`engine/domain/`"));
    assert_none("CONTRIBUTING.md names what is not there", &missing);
}

/// The files of the repository that name an event: by its variant, or as the log does.
fn named_in(variant: &str, name: &str) -> Vec<String> {
    let mut found = files(&[".rs", ".md", ".py", ".json", ".txt", ".sql"]);
    collect(&root().join("engine/domain/tests/golden"), &[".txt"], &mut found);
    let is_word = |text: &str, word: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word).any(|(place, _)| {
            let behind = text[place + word.len()..].starts_with(is_part);
            !behind && !text[..place].ends_with(is_part)
        })
    };
    found.retain(|(_, text)| is_word(text, variant) || is_word(text, name));
    found.into_iter().map(|(file, _)| file).collect()
}

/// To add an event like this one is to touch these files and no others: an event that counts up.
/// What renders it for people is apart, and so is the table of conformance, which has every event.
#[test]
fn an_event_is_named_in_at_most_eight_files() {
    let renderings = ["replay/src/tell/decision_points.rs", "docs/conformance.md"];
    let mut found = named_in("DecisionPointReminded", "decision_point.reminded");
    found.retain(|file| !renderings.contains(&&**file) && file != "tests/it/tidy.rs");
    assert!(found.iter().any(|file| file == "engine/domain/src/decision_point/event.rs"));
    assert!(found.iter().any(|file| file == "engine/domain/tests/golden/events_json.txt"));
    assert!(found.len() <= 8, "{found:#?}");
}

/// Where the public crates are of which errors, findings, reports and options may grow.
const GROWING: [&str; 8] = [
    "engine/src/",
    "engine/holdpoint/src/",
    "engine/reducers/src/",
    "replay/src/",
    "replay/export/src/",
    "log-format/src/",
    "log-format/files/src/",
    "log-format/index/src/",
];

#[test]
fn errors_findings_reports_and_options_may_grow() {
    let mut places = Vec::new();
    for (file, text) in files(&[".rs"]) {
        if !GROWING.iter().any(|crate_of| file.starts_with(crate_of)) {
            continue;
        }
        let mut is_marked = false;
        for line in text.lines().map(str::trim) {
            match grows(line) {
                Some(name) if !is_marked => places.push(format!("{file}: {name}")),
                Some(_) => {}
                None => {
                    is_marked = line == "#[non_exhaustive]" || (is_marked && !line.is_empty());
                    continue;
                }
            }
            is_marked = false;
        }
    }
    assert_none("an enum or struct without #[non_exhaustive], see docs/embedding.md", &places);
}

/// The name of a public type that may grow, where a line declares one.
fn grows(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("enum ").or_else(|| rest.strip_prefix("struct "))?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric()).next()?;
    let is_one = ["Finding", "Problem"].contains(&name)
        || ["Error", "Fault", "Report", "Options"].iter().any(|ending| name.ends_with(ending));
    is_one.then_some(name)
}
