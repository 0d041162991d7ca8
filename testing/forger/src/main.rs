//! `forge list` names the attacks; `forge NAME DIR [VARIANT]` makes one on a log, in place, and
//! says in one line of JSON what it did.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use holdpoint_forger::{Log, Outcome, attack, attacks};

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
    attacks().iter().map(|attack| format!("{}\t{}\n", attack.name, attack.what)).collect()
}

fn forge(name: &str, directory: &Path, variant: &str) -> io::Result<String> {
    let attack = attack(name).ok_or_else(|| io::Error::other(format!("no attack: {name}")))?;
    let variant = variant.parse().map_err(io::Error::other)?;
    if !is_log(directory) {
        return Err(io::Error::other(format!("no log: {}", directory.display())));
    }
    let mut log = Log::read(directory)?;
    let outcome = attack.apply(&mut log, variant);
    let said = match &outcome {
        Outcome::Applied(effect) => {
            log.write(directory)?;
            format!("\"applied\":true,\"effect\":{}", effect.to_json())
        }
        Outcome::NotApplicable(why) => format!("\"applied\":false,\"why\":{why:?}"),
    };
    Ok(format!("{{\"attack\":{name:?},\"variant\":{variant},{said}}}\n"))
}

/// Whether there is anything of a log: all that a directory holds is written anew.
fn is_log(directory: &Path) -> bool {
    ["HEAD", "LOCK", "segments"].iter().any(|name| directory.join(name).exists())
}
