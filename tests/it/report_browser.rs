//! The script of a page, in a browser without a window: it finds what `verify.py` finds, and
//! nothing stands on the console.

use crate::program::{Place, text};
use crate::report_support::{
    Misread, Pages, damaged, found_by_python, misread, page_of, place, write,
};
use crate::verify_py::python;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Names of the browser; HOLDPOINT_BROWSER names another one.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// No window, no network, nothing of anybody's profile.
const QUIETLY: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=60000",
    "--dump-dom",
];

fn browser() -> String {
    let named = std::env::var("HOLDPOINT_BROWSER").ok();
    let is_there = |name: &String| Command::new(name).arg("--version").output().is_ok();
    let found = named.into_iter().chain(BROWSERS.map(String::from)).find(is_there);
    found.expect("a Chromium, such as `apt-get install chromium` gives, or HOLDPOINT_BROWSER")
}

fn opened(browser: &str, profile: &Path, page: &Path) -> Output {
    let mut command = Command::new(browser);
    command.args(QUIETLY).arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("file://{}", page.display())).output().unwrap()
}

/// What stands on a page when its script has run.
struct Seen {
    state: String,
    sentence: String,
    findings: Vec<String>,
    console: Vec<String>,
}

fn seen(browser: &str, profile: &Path, page: &Path) -> Seen {
    let output = opened(browser, profile, page);
    let (page, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let between = |text: &str, start: &str, end: &str| {
        let behind = text.split_once(start).unwrap_or_else(|| panic!("no {start} in {text}")).1;
        behind.split_once(end).unwrap().0.to_string()
    };
    let said = between(&page, "<p id=\"check\"", "</p>");
    let list = between(&page, "<ol id=\"check-findings\">", "</ol>");
    let items = list.split("<li>").skip(1).map(|item| item.trim_end_matches("</li>").to_string());
    Seen {
        state: between(&said, " class=\"", "\""),
        sentence: said.split_once('>').unwrap().1.to_string(),
        findings: items.map(|item| item.replace("&gt;", ">").replace("&amp;", "&")).collect(),
        console: told.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect(),
    }
}

#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn the_script_finds_every_damage_that_verify_py_finds_and_the_console_is_empty() {
    assert!(python(&["--version"]).output().is_ok(), "python3 is needed here");
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let pages = Pages::made();
    let damaged = damaged(&pages);
    let pages: Vec<String> =
        [pages.own].into_iter().chain(damaged.iter().map(|it| it.page.clone())).collect();
    let files = write(directory.path(), &pages);
    let by_python = found_by_python(&files);
    let profile = directory.path().join("profile");
    let names = ["whole"].into_iter().chain(damaged.iter().map(|it| it.name));
    for ((name, file), by_python) in names.zip(&files).zip(by_python) {
        let Seen { state, sentence, findings, console } = seen(&browser, &profile, file);
        // Of what is no page at all, each says what it looks for.
        let is_page = |finding: &String| !finding.starts_with("line 0: form");
        assert_eq!(findings.len(), by_python.len(), "{name}");
        assert!(findings == by_python || !findings.iter().any(is_page), "{name}: {findings:?}");
        assert_eq!(state, if name == "whole" { "passed" } else { "failed" }, "{name}");
        assert!(console.is_empty(), "{name}: {console:?}");
        let told = match findings.len() {
            0 => "Records 1 to ".to_string(),
            1 => "Damaged: 1 place in the records".to_string(),
            count => format!("Damaged: {count} places in the records"),
        };
        assert!(sentence.starts_with(&told), "{name}: {sentence}");
    }
}

#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn the_script_vouches_for_no_block_that_stands_elsewhere_than_on_every_page() {
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let pages = misread(&page_of(&place(), &["--since", "1"]));
    let files = write(directory.path(), &pages.iter().map(|it| &it.page).collect::<Vec<_>>());
    for (Misread { name, .. }, file) in pages.iter().zip(&files).filter(|it| it.0.is_seen) {
        let Seen { state, findings, .. } = seen(&browser, &directory.path().join("profile"), file);
        assert_eq!(state, "failed", "{name}: {findings:?}");
        assert!(findings[0].starts_with("line 0: form: the "), "{name}: {findings:?}");
    }
}

/// Another page can be the one that `verify.py` checks, and show this one.
#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn the_script_vouches_for_no_page_that_another_one_shows() {
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let page = page_of(&place(), &["--since", "1"]);
    let shown = within(
        &page,
        "",
        "const check = document.getElementById('page').contentDocument.getElementById('check');\
         document.title = `${check.className}: ${check.textContent}`;",
    );
    let files = write(directory.path(), &[shown]);
    let output = opened(&browser, &directory.path().join("profile"), &files[0]);
    let seen = text(&output.stdout);
    assert!(seen.contains("<title>failed: Nothing was checked: another page shows"), "{seen:.300}");
}

/// The tests above can see what they look for.
#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn a_script_that_is_not_the_pages_own_does_not_run_and_the_console_says_so() {
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let page = page_of(&place(), &["--since", "1"]);
    let changed = page.replace("const FORM =", "/* another */ const FORM =");
    let added = page.replace("</body>", "<script>document.title = \"taken\"</script></body>");
    let files: Vec<PathBuf> = write(directory.path(), &[changed, added]);
    for file in &files {
        let output = opened(&browser, &directory.path().join("profile"), file);
        let console = String::from_utf8_lossy(&output.stderr);
        assert!(console.contains("CONSOLE") && console.contains("Content Security Policy"));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("<title>taken"));
    }
    // A page whose script is another one says what checks it.
    let output = opened(&browser, &directory.path().join("profile"), &files[0]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("<p id=\"check\">Not checked: no script ran on this page."), "{said}");
    assert!(said.contains("verify.py checks its records"), "{said}");
}

/// Shows a page in a frame within another page, whose script does something then.
fn within(page: &str, attributes: &str, script: &str) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!doctype html><body><iframe id=\"page\" {attributes} srcdoc=\"{page}\"></iframe><script>\
         addEventListener('load', () => {{ {script} }});</script></body>"
    )
}

/// Shows a page in a window of so many pixels within another page, which says by how much it
/// is too wide, and how many cells of it lie beside the window.
fn measured_in(page: &str, width: u32) -> String {
    within(
        page,
        &format!("width=\"{width}\" height=\"900\" style=\"border: 0\""),
        "const page = document.getElementById('page').contentDocument;\
         page.querySelectorAll('details').forEach(it => { it.open = true; });\
         const { clientWidth, scrollWidth } = page.documentElement;\
         const cells = [...page.querySelectorAll('td')];\
         const beside = cells.filter(it => it.getBoundingClientRect().right > clientWidth);\
         document.title = `too wide by ${scrollWidth - clientWidth}, \
         ${beside.length} cells beside, any: ${cells.length > 0}`;",
    )
}

#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn nothing_on_a_page_lies_beside_the_window_however_narrow_it_is() {
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let place = place();
    for options in [&["--since", "1"][..], &["--since", "1", "--include-evidence"]] {
        let page = page_of(&place, options);
        let widths = [320, 400, 790, 810, 1280];
        let files = write(directory.path(), &widths.map(|width| measured_in(&page, width)));
        for (width, file) in widths.iter().zip(&files) {
            let output = opened(&browser, &directory.path().join("profile"), file);
            let seen = String::from_utf8_lossy(&output.stdout).into_owned();
            let due = "<title>too wide by 0, 0 cells beside, any: true</title>";
            let told = seen.split("<title>").nth(1).unwrap_or_default();
            assert!(seen.contains(due), "{width}: {}", told.get(..80).unwrap_or(told));
        }
    }
}

#[test]
#[ignore = "needs a browser: `.ci/run all`"]
fn a_page_of_one_plain_run_takes_two_screens_of_a_phone_at_most() {
    let (browser, directory) = (browser(), TempDir::new().unwrap());
    let place = Place::new();
    place.shell("echo done");
    let page = page_of(&place, &[place.newest_loop()["loop_id"].as_str().unwrap()]);
    let script = "const page = document.getElementById('page').contentDocument;\
                  document.title = `fits: ${page.documentElement.scrollHeight <= 2 * 844}`;";
    let phone = within(&page, "width=\"390\" height=\"844\" style=\"border: 0\"", script);
    let files = write(directory.path(), &[phone]);
    let output = opened(&browser, &directory.path().join("profile"), &files[0]);
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(seen.contains("<title>fits: true</title>"), "{seen:.300}");
}
