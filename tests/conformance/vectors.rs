//! Finding and reading the vector files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

/// One recorded case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Unique within its file.
    pub(crate) id: String,
    /// `21`, `29`, `30`, `31`, `32` or `e2e`.
    pub(crate) phase: String,
    /// The function that was called.
    pub(crate) function: String,
    /// With what.
    pub(crate) input: Value,
    /// What it answered.
    pub(crate) expect: Value,
    /// How the case was made.
    pub(crate) tags: Vec<String>,
    /// The weaknesses by which a better system may differ here.
    pub(crate) weak: Vec<String>,
    /// Cases of one group have different inputs and one reference hash.
    pub(crate) group: Option<String>,
}

/// A file of cases.
#[derive(Debug)]
pub(crate) struct VectorFile {
    /// Where it was found.
    pub(crate) path: PathBuf,
    /// Its name as a part of test names, unique.
    pub(crate) stem: String,
    /// The cases that could be read.
    pub(crate) cases: Vec<Case>,
    /// The lines that could not, with file and line number.
    pub(crate) faults: Vec<String>,
}

/// The files to run, and a line for each that should be there and is not.
pub(crate) fn find() -> (Vec<Arc<VectorFile>>, Vec<String>) {
    let (paths, skipped) = find_paths("ygb");
    let mut stems = BTreeSet::new();
    let files = paths.into_iter().map(|path| Arc::new(read(path, &mut stems))).collect();
    (files, skipped)
}

/// Where the files are whose names begin like this, and a line for each that should be there and
/// is not.
pub(crate) fn find_paths(family: &str) -> (Vec<PathBuf>, Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut paths, mut skipped) = (Vec::new(), Vec::new());
    let open = root.join(format!("../shared/vectors/{family}-open.jsonl"));
    if open.is_file() {
        paths.push(open);
    } else {
        skipped.push(format!("{} is not there", open.display()));
    }
    if let Some(folder) = std::env::var_os("HOLDPOINT_VECTORS") {
        let found = files_in(Path::new(&folder), family);
        if found.is_empty() {
            skipped.push(format!("no {family}-*.jsonl in {}", Path::new(&folder).display()));
        }
        paths.extend(found);
    }
    (paths, skipped)
}

fn files_in(folder: &Path, family: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.strip_prefix(family).is_some_and(|rest| rest.starts_with('-'))
                && name.ends_with(".jsonl")
        })
        .collect();
    found.sort();
    found
}

fn read(path: PathBuf, stems: &mut BTreeSet<String>) -> VectorFile {
    let stem = unique_stem(&path, stems);
    let mut file = VectorFile { path, stem, cases: Vec::new(), faults: Vec::new() };
    let text = match std::fs::read_to_string(&file.path) {
        Ok(text) => text,
        Err(error) => {
            file.faults.push(format!("{}: {error}", file.path.display()));
            return file;
        }
    };
    let mut ids = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        match read_line(line, &mut ids) {
            Ok(case) => file.cases.push(case),
            Err(why) => file.faults.push(format!("{}:{}: {why}", file.path.display(), index + 1)),
        }
    }
    if file.cases.is_empty() && file.faults.is_empty() {
        file.faults.push(format!("{}: has no case", file.path.display()));
    }
    file
}

pub(crate) fn unique_stem(path: &Path, stems: &mut BTreeSet<String>) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("unnamed");
    let stem = stem.replace('-', "_");
    let numbered = (2..).map(|n| format!("{stem}_{n}"));
    let stem = std::iter::once(stem.clone()).chain(numbered).find(|s| !stems.contains(s)).unwrap();
    stems.insert(stem.clone());
    stem
}

/// A line as it is written.
#[derive(Deserialize)]
struct Line {
    id: String,
    phase: Value,
    function: String,
    input: Value,
    expect: Value,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    weak: Vec<String>,
    group: Option<String>,
}

fn read_line(line: &str, ids: &mut BTreeSet<String>) -> Result<Case, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let phase = match &line.phase {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => return Err(format!("phase is {other}, expected a number or \"e2e\"")),
    };
    if !line.input.is_object() || !line.expect.is_object() {
        return Err("input and expect are expected to be objects".into());
    }
    if !ids.insert(line.id.clone()) {
        return Err(format!("the id {:?} was there before", line.id));
    }
    let Line { id, function, input, expect, tags, weak, group, .. } = line;
    Ok(Case { id, phase, function, input, expect, tags, weak, group })
}
