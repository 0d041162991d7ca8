//! Measures how cost follows the length of a log, and writes `SCALE.md`, `scale.json` and the
//! pictures in `curves/`.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --bin scale -- \
//!     [--records N,N,...] [--live N] [--rounds N] [--seed N] [--dir DIRECTORY] [--out DIRECTORY]
//! ```
//!
//! `--records` names the lengths; ten thousand and a hundred thousand are always measured as well.
//! The bars need 1000000 and 10000000, which are what is measured without it; thirty million are
//! asked for with `--records 1000000,10000000,30000000`. Ten million records take about 5 GB of the
//! directory, and with thirty million it is about 18. Everything there is removed at the end.

use holdpoint_measure::child::CHILD;
use holdpoint_measure::scale::{ScalePlan, as_child, curves, markdown, measure};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: scale [--records N,N,...] [--live N] [--rounds N] [--seed N] \
                     [--dir DIRECTORY] [--out DIRECTORY]";

/// Measured in every run, below the lengths that are asked for.
const ALWAYS: [u64; 2] = [10_000, 100_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [first, errand] if first == CHILD => as_child(errand).map_err(Box::from),
        _ => measure_all(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (plan, out) = parse(arguments)?;
    let scale = measure(&plan, &mut |what| eprintln!("{what}"))?;
    let pictures = curves(&scale);
    std::fs::create_dir_all(out.join("curves"))?;
    for (name, document) in &pictures {
        std::fs::write(out.join("curves").join(name), document)?;
    }
    let names: Vec<&str> = pictures.iter().map(|(name, _)| *name).collect();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let explanations = std::fs::read_to_string(home.join("explanations.md")).unwrap_or_default();
    let section = markdown(&scale, &names, &explanations);
    std::fs::write(out.join("SCALE.md"), &section)?;
    std::fs::write(out.join("scale.json"), serde_json::to_string_pretty(&scale)? + "\n")?;
    eprint!("{section}");
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(ScalePlan, PathBuf), Box<dyn Error>> {
    let mut plan = ScalePlan {
        directory: std::env::temp_dir(),
        lengths: vec![1_000_000, 10_000_000],
        live: 256,
        seed: 1,
        rounds: 7,
        program: std::env::current_exe()?,
    };
    let mut out = Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--records" => {
                plan.lengths = value.split(',').map(str::parse).collect::<Result<_, _>>()?
            }
            "--live" => plan.live = value.parse()?,
            "--rounds" => plan.rounds = value.parse()?,
            "--seed" => plan.seed = value.parse()?,
            "--dir" => plan.directory = value.into(),
            "--out" => out = value.into(),
            _ => return Err(USAGE.into()),
        }
    }
    plan.lengths.extend(ALWAYS);
    plan.lengths.sort_unstable();
    plan.lengths.dedup();
    Ok((plan, out))
}
