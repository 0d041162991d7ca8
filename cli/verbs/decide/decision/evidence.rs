//! What an answer may rest on: files by their digest. Nothing is copied.

use crate::ui::{Exit, Failure, path};
use holdpoint_domain::core::hash::{Digest, Sha256Stream};
use holdpoint_domain::decision_point::EvidenceAttachment;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// How much of a file is read at once, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Media types by the ends of file names. Everything else is a stream of bytes.
const MEDIA_TYPES: [(&str, &str); 22] = [
    ("cast", "application/x-asciicast"),
    ("csv", "text/csv"),
    ("diff", "text/x-diff"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("patch", "text/x-diff"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The attachment of `PATH` or `PATH:LABEL`. A file of the whole name goes before a label.
pub(super) fn attachment(given: &str) -> Result<EvidenceAttachment, Failure> {
    let (file, label) = match given.rsplit_once(':') {
        Some((file, label)) if !Path::new(given).exists() => (Path::new(file), label),
        _ => (Path::new(given), given),
    };
    let (sha256, bytes) = digest(file).map_err(|error| {
        let message = format!("--evidence: cannot read {}: {error}; name a file", path(file));
        Failure::new(Exit::FAILED, "io", message)
    })?;
    let media_type = media_type(file).into();
    Ok(EvidenceAttachment { sha256, bytes, media_type, label: label.into() })
}

/// The digest of all its bytes, and how many they are.
fn digest(file: &Path) -> io::Result<(Digest, u64)> {
    // A pipe or a device might never end.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut file = File::open(file)?;
    let (mut stream, mut chunk, mut length) = (Sha256Stream::new(), vec![0; CHUNK_BYTES], 0_u64);
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => return Ok((stream.finish(), length)),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        stream.take(chunk.get(..read).unwrap_or_default());
        length = length.saturating_add(read as u64);
    }
}

fn media_type(file: &Path) -> &'static str {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let known = MEDIA_TYPES.iter().find(|(known, _)| end.eq_ignore_ascii_case(known));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}
