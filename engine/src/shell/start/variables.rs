//! The variables of a command: which carry code and are shown, which say where it was started from
//! and are not bound, and how every other one is bound.

use super::StartError;
use super::facts::Fact;
use super::keys::ApprovalKey;
use crate::executor::{CommandSpec, EnvironmentPolicy, ShownValue, visible};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::bounded;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The kind of a variable that is bound and counted.
pub(super) const VARIABLE: &str = "variable";
/// The kind of one that carries code: bound, and shown first.
pub(super) const CODE: &str = "code";
/// The kind of the fact about the entries of `PATH`.
pub(super) const SEARCH: &str = "search";
/// The kind of one that is not bound because whoever asks says so.
pub(super) const UNBOUND: &str = "unbound";

/// The search path of programs.
const PATH: &str = "PATH";
/// The value of `PATH` in words where every entry is the system's.
pub(super) const AS_USUAL: &str = "as usual";
/// In place of a value that is not there.
pub(super) const NOT_SET: &str = "(not set)";

/// Way in which a value is bound: by itself, or under the key of its question.
const PLAIN: u8 = 0;
const KEYED: u8 = 1;
/// Number of digits of a keyed digest that are shown: enough to see that it is another one.
const SHOWN_DIGITS: usize = 16;

/// The longest name of a variable that can be left unbound, in bytes: a label's has room for it.
const NAME_BYTES_MAX: usize = 200;
/// Number of variables that can be left unbound: each value takes two labels of the run.
pub(super) const UNBOUND_VARIABLES_MAX: usize = 12;
/// Permission to write for the group and for everybody.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Permission bit that keeps entries of a directory from all but their owners.
const STICKY: u32 = 0o1000;

/// Variables that carry code, or name it: a `*` stands for any beginning or end. Their values stand
/// in the question.
pub const CODE_VARIABLES: [&str; 100] = [
    // The loader and the C library.
    "LD_*",
    "DYLD_*",
    "LIBPATH",
    "SHLIB_PATH",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    // Shells.
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "CDPATH",
    "ENV",
    "FPATH",
    "IFS",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "ZDOTDIR",
    // Programs that others start.
    "*_ASKPASS",
    "*_BROWSER",
    "*_COMMAND",
    "*_EDITOR",
    "*_PAGER",
    "*_RSH",
    "*_SHELL",
    "*_SSH",
    "BROWSER",
    "EDITOR",
    "FCEDIT",
    "HGMERGE",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "VISUAL",
    // Options and plugins of tools.
    "*_MODULES",
    "*_OPTIONS",
    "*_OPTS",
    "*FLAGS",
    "*_PRELOAD",
    "*_WRAPPER",
    "ANSIBLE_*",
    "AWS_CONFIG_FILE",
    "DOCKER_CONFIG",
    "GIT_*",
    "GNUPGHOME",
    "GRADLE_*",
    "HGRCPATH",
    "KUBECONFIG",
    "LESS",
    "MAKE",
    "MAKEFILES",
    "MAVEN_ARGS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "TERMCAP",
    "TERMINFO*",
    "TF_CLI_*",
    "VIMINIT",
    "WGETRC",
    "XDG_CONFIG_*",
    // Compilers and languages.
    "BUNDLE_*",
    "BUN_*",
    "CARGO_BUILD_*",
    "CARGO_HOME",
    "CARGO_TARGET_*",
    "CC",
    "CLASSPATH",
    "CORECLR_*",
    "COR_*",
    "CPP",
    "CXX",
    "DENO_*",
    "DOTNET_*",
    "GEM_*",
    "GOENV",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "LUA_*",
    "NODE_PATH",
    "NPM_CONFIG_*",
    "PERL*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PYTHON*",
    "RUBY*",
    "RUSTC",
    "RUSTDOC",
    "R_*",
    "TCLLIBPATH",
    "UV_CONFIG_FILE",
    "npm_config_*",
];

/// Variables of terminals, multiplexers and logins: not bound, since they say from where a command
/// is started and not what it does.
pub const SESSION_VARIABLES: [&str; 15] = [
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "WINDOWID",
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "SSH_TTY",
    "TERM_SESSION_ID",
    "XDG_SESSION_ID",
    "SHLVL",
    "OLDPWD",
    "COLUMNS",
    "LINES",
    "SUDO_COMMAND",
];

/// Variables by which services of continuous integration name the step or job that runs: not bound.
pub const STEP_VARIABLES: [(&str, &[&str]); 11] = [
    ("AppVeyor", &["APPVEYOR_JOB_ID", "APPVEYOR_JOB_NAME", "APPVEYOR_JOB_NUMBER"]),
    (
        "Azure Pipelines",
        &[
            "SYSTEM_JOBDISPLAYNAME",
            "SYSTEM_JOBID",
            "SYSTEM_JOBNAME",
            "SYSTEM_TASKDISPLAYNAME",
            "SYSTEM_TASKINSTANCEID",
            "SYSTEM_TASKINSTANCENAME",
            "SYSTEM_TIMELINEID",
        ],
    ),
    ("Bitbucket", &["BITBUCKET_PARALLEL_STEP", "BITBUCKET_STEP_RUN_NUMBER", "BITBUCKET_STEP_UUID"]),
    (
        "Buildkite",
        &["BUILDKITE_JOB_ID", "BUILDKITE_LABEL", "BUILDKITE_STEP_ID", "BUILDKITE_STEP_KEY"],
    ),
    ("CircleCI", &["CIRCLE_BUILD_NUM", "CIRCLE_BUILD_URL", "CIRCLE_JOB", "CIRCLE_WORKFLOW_JOB_ID"]),
    ("Drone", &["DRONE_STAGE_NAME", "DRONE_STAGE_NUMBER", "DRONE_STEP_NAME", "DRONE_STEP_NUMBER"]),
    (
        "GitHub Actions",
        &["GITHUB_ACTION", "GITHUB_ACTION_REF", "GITHUB_ACTION_REPOSITORY", "GITHUB_JOB"],
    ),
    (
        "GitLab",
        &[
            "CI_JOB_ID",
            "CI_JOB_NAME",
            "CI_JOB_NAME_SLUG",
            "CI_JOB_STAGE",
            "CI_JOB_STARTED_AT",
            "CI_JOB_URL",
        ],
    ),
    ("Jenkins", &["JENKINS_NODE_COOKIE", "JENKINS_SERVER_COOKIE", "STAGE_NAME"]),
    ("Travis CI", &["TRAVIS_JOB_ID", "TRAVIS_JOB_NAME", "TRAVIS_JOB_NUMBER", "TRAVIS_JOB_WEB_URL"]),
    ("Woodpecker", &["CI_STEP_NAME", "CI_STEP_NUMBER", "CI_STEP_STARTED", "CI_STEP_URL"]),
];

/// The value of a variable that is not bound, when an approval is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnboundValue {
    pub(super) name: String,
    /// The value, made visible; a secret is masked.
    pub(super) value: Option<String>,
}

/// Returns whether a variable of this name carries code, by [`CODE_VARIABLES`]. One that is never
/// bound does not, whatever its end is.
#[must_use]
pub fn carries_code(name: &OsStr) -> bool {
    let is_never_bound = never_bound().any(|unbound| *unbound == *name);
    let name = name.as_bytes();
    !is_never_bound
        && CODE_VARIABLES.iter().any(|pattern| match pattern.as_bytes() {
            [b'*', end @ ..] => name.ends_with(end),
            [begin @ .., b'*'] => name.starts_with(begin),
            whole => name == whole,
        })
}

/// Every name of a variable that is never bound.
pub(super) fn never_bound<'a>() -> impl Iterator<Item = &'a str> {
    let of_steps = STEP_VARIABLES.iter().flat_map(|(_, names)| names.iter());
    SESSION_VARIABLES.iter().chain(of_steps).map(|name| -> &'a str { name })
}

/// Returns whether a name can be one of a variable that is left unbound: letters, digits and `_`.
pub(super) fn is_plain_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_part)
}

/// The part of an environment that is recorded of a command, without what is not bound.
pub(super) fn recorded(policy: &EnvironmentPolicy, unbound: &[String]) -> EnvironmentPolicy {
    let names = never_bound().chain(unbound.iter().map(String::as_str));
    names.fold(policy.clone(), EnvironmentPolicy::omit)
}

/// The facts about the variables of a command: first those that carry code and the search path,
/// then the others, all by name.
pub(super) fn facts(
    command: &CommandSpec,
    policy: &EnvironmentPolicy,
    key: &ApprovalKey,
    unbound: &[String],
) -> Vec<Fact> {
    let never: BTreeSet<&OsStr> =
        never_bound().chain(unbound.iter().map(String::as_str)).map(OsStr::new).collect();
    let bound: BTreeMap<&OsStr, &OsStr> =
        environment(command).into_iter().filter(|(name, _)| !never.contains(name)).collect();
    let recorded = policy.record(&command.environment);
    let (mut code, mut others) = (Vec::new(), Vec::new());
    for (name, value) in bound {
        match carries_code(name) {
            true => code.push(fact(CODE, (name, value), Some(&policy.reveal(name, value)), key)),
            false => others.push(fact(VARIABLE, (name, value), recorded.get(name), key)),
        }
        if name == PATH && policy.reveal(name, value) != ShownValue::Redacted {
            let shown = search_path(value);
            let value = shown.as_bytes().to_vec();
            code.push(Fact { kind: SEARCH, name: PATH.into(), value, shown });
        }
    }
    code.extend(others);
    code
}

/// Returns what a program before this one bound: every variable, none of them apart.
pub(super) fn former_facts(
    command: &CommandSpec,
    policy: &EnvironmentPolicy,
    key: &ApprovalKey,
) -> Vec<Fact> {
    let recorded = policy.record(&command.environment);
    let of = |(name, value)| fact(VARIABLE, (name, value), recorded.get(name), key);
    environment(command).into_iter().map(of).collect()
}

/// The values of variables that are not bound, as they are now.
pub(super) fn unbound_values(
    command: &CommandSpec,
    policy: &EnvironmentPolicy,
    unbound: &[String],
) -> Vec<UnboundValue> {
    let values = environment(command);
    let of = |name: &String| {
        let found = values.get(OsStr::new(name));
        let value = found.map(|value| match policy.reveal(OsStr::new(name), value) {
            ShownValue::Shown(value) => visible(&value),
            ShownValue::Redacted => "(kept secret)".to_string(),
        });
        UnboundValue { name: name.clone(), value }
    };
    unbound.iter().map(of).collect()
}

/// The fact that a variable is not bound: its name alone is part of what is asked.
pub(super) fn unbound_fact(unbound: &UnboundValue) -> Fact {
    let shown = unbound.value.clone().unwrap_or_else(|| NOT_SET.to_string());
    Fact { kind: UNBOUND, name: unbound.name.clone().into_bytes(), value: Vec::new(), shown }
}

/// The environment that a command sees, by name: [`check`] lets one value of each pass.
fn environment(command: &CommandSpec) -> BTreeMap<&OsStr, &OsStr> {
    let pairs = command.environment.iter().map(|it| (it.name(), it.value().unwrap_or_default()));
    pairs.collect()
}

/// Checks whether every entry of the environment is a name and its one value: nothing else can be
/// bound, for programs differ in which of two they see.
pub(super) fn check(command: &CommandSpec) -> Result<(), StartError> {
    let mut names = BTreeSet::new();
    for variable in &command.environment {
        if variable.value().is_none() || !names.insert(variable.name()) {
            return Err(StartError::Ambiguous { name: visible(variable.name()) });
        }
    }
    Ok(())
}

/// A value that is shown is bound by itself; of any other one nothing leaves but a keyed digest.
fn fact(
    kind: &'static str,
    (name, value): (&OsStr, &OsStr),
    shown: Option<&ShownValue>,
    key: &ApprovalKey,
) -> Fact {
    let (bound, shown) = match shown {
        Some(ShownValue::Shown(value)) => {
            let digest = sha256(value.as_bytes());
            ([&[PLAIN], digest.as_bytes().as_slice()].concat(), visible(value))
        }
        redacted => {
            let digest = key.digest(name.as_bytes(), value.as_bytes());
            let why = if redacted.is_some() { "kept secret" } else { "not recorded" };
            let bound = [&[KEYED], digest.as_bytes().as_slice()].concat();
            let digest = digest.to_string();
            (bound, format!("({why}; keyed digest {})", bounded(&digest, SHOWN_DIGITS)))
        }
    };
    Fact { kind, name: name.as_bytes().to_vec(), value: bound, shown }
}

/// The entries of a search path that are not the system's: what is looked up there is what whoever
/// owns them put there.
fn search_path(value: &OsStr) -> String {
    let entries = value.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    let others: Vec<&OsStr> = entries.filter(|entry| !is_systems(Path::new(entry))).collect();
    if others.is_empty() {
        return AS_USUAL.to_string();
    }
    let show = |entry: &&OsStr| match entry.is_empty() {
        true => "(empty: the directory itself)".to_string(),
        false => visible(entry),
    };
    format!("{}, and the rest as usual", others.iter().map(show).collect::<Vec<_>>().join(":"))
}

/// Returns whether a directory is absolute and nobody but root can put anything there, or put
/// another one in its place.
fn is_systems(directory: &Path) -> bool {
    if !directory.is_absolute() {
        return false;
    }
    let place = directory.canonicalize();
    let places = place.iter().map(std::path::PathBuf::as_path);
    [directory].into_iter().chain(places).all(|place| {
        let mut is_below_there = false;
        place.ancestors().all(|part| match part.metadata() {
            Ok(metadata) => is_roots(&metadata, std::mem::replace(&mut is_below_there, true)),
            // Whoever may write to what is above can make it.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound && !is_below_there,
        })
    })
}

/// Returns whether nobody but root makes an entry of a directory, or takes one away that is there.
fn is_roots(metadata: &Metadata, is_entry_there: bool) -> bool {
    let is_closed = metadata.mode() & WRITABLE_BY_OTHERS == 0
        || is_entry_there && metadata.mode() & STICKY != 0;
    metadata.uid() == 0 && is_closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_carries_code_is_known_by_its_name_and_nothing_else() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "IFS",
            "EDITOR",
            "GIT_SSH_COMMAND",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5LIB",
            "RUBYOPT",
            "MAKEFLAGS",
            "RSYNC_RSH",
            "PROMPT_COMMAND",
            "BASH_FUNC_ls%%",
        ] {
            assert!(carries_code(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "LANG", "TMUX", "COLUMNS", "ENVIRONMENT", "TERM", "PWD", "GITHUB_SHA"]
        {
            assert!(!carries_code(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn no_name_stands_in_two_tables_and_each_once() {
        let names: Vec<&str> = never_bound().collect();
        let distinct: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.iter().all(|name| is_plain_name(name) && !carries_code(OsStr::new(name))));
        let code: BTreeSet<&&str> = CODE_VARIABLES.iter().collect();
        assert_eq!(code.len(), CODE_VARIABLES.len());
    }

    #[test]
    fn a_search_path_is_as_usual_where_every_entry_is_roots() {
        let of = |value: &str| search_path(OsStr::new(value));
        assert_eq!(of("/usr/bin:/bin"), AS_USUAL);
        assert_eq!(of("/usr/bin::."), "(empty: the directory itself):., and the rest as usual");
        assert_eq!(of("/tmp:/usr/bin"), "/tmp, and the rest as usual");
        assert_eq!(of("/tmp/no/bin:/usr/bin"), "/tmp/no/bin, and the rest as usual");
        assert_eq!(of("/usr/bin:/usr/no/bin"), AS_USUAL);
    }
}
