//! `forge list` names the attacks; `forge NAME DIR [VARIANT]` makes one on a log, in place, and
//! says in one line of JSON what it did. Of attacks on a log with an archive, DIR is the directory
//! that holds `log` and `archive`.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use holdpoint_forger::pair::{ARCHIVE, LOG};
use holdpoint_forger::{Attack, Outcome, Victim, attack, attacks, pair_attacks};

const USAGE: &str = "forge list\nforge NAME DIR [VARIANT]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match words[..] {
        ["list"] => Ok(list()),
        [name, directory] => forge(name, Path::new(directory), "0"),
        [name, directory, variant] => forge(name, Path::new(directory), variant),
        _ => Err(io::Error::other(USAGE)),
    };
    let written = said.and_then(|said| io::stdout().write_all(said.as_bytes()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

fn list() -> String {
    let on_log = attacks().iter().map(|attack| (attack.name, attack.what));
    let on_pair = pair_attacks().iter().map(|attack| (attack.name, attack.what));
    on_log.chain(on_pair).map(|(name, what)| format!("{name}\t{what}\n")).collect()
}

fn forge(name: &str, directory: &Path, variant: &str) -> io::Result<String> {
    let variant = variant.parse().map_err(io::Error::other)?;
    let on_pair = || pair_attacks().iter().find(|attack| attack.name == name);
    match (attack(name), on_pair()) {
        (Some(attack), _) => on(attack, directory, is_log(directory), variant),
        (None, Some(attack)) => on(attack, directory, is_pair(directory), variant),
        (None, None) => Err(io::Error::other(format!("no attack: {name}"))),
    }
}

fn on<V: Victim>(
    attack: &Attack<V>,
    directory: &Path,
    is_there: bool,
    variant: u64,
) -> io::Result<String> {
    if !is_there {
        return Err(io::Error::other(format!("no log: {}", directory.display())));
    }
    let mut log = V::read(directory)?;
    let outcome = attack.apply(&mut log, variant);
    let said = match &outcome {
        Outcome::Applied(effect) => {
            log.write(directory)?;
            format!("\"applied\":true,\"effect\":{}", effect.to_json())
        }
        Outcome::NotApplicable(why) => format!("\"applied\":false,\"why\":{why:?}"),
    };
    Ok(format!("{{\"attack\":{:?},\"variant\":{variant},{said}}}\n", attack.name))
}

/// Whether there is anything of a log: all that a directory holds is written anew.
fn is_log(directory: &Path) -> bool {
    ["HEAD", "LOCK", "segments"].iter().any(|name| directory.join(name).exists())
}

fn is_pair(directory: &Path) -> bool {
    [LOG, ARCHIVE].iter().all(|name| is_log(&directory.join(name)))
}
