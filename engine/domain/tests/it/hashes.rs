//! Digests have one text, and hashes tell everything apart.

use holdpoint_domain::core::hash::{Digest, HashBuilder, Sha256Stream, sha256};

#[test]
fn one_digest_has_one_text() {
    let digest = sha256(b"abc");
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), text);
    assert_eq!(text.parse(), Ok(digest));
    assert!(text.to_uppercase().parse::<Digest>().is_err());
    assert!("ba".parse::<Digest>().is_err());
    assert!("".parse::<Digest>().is_err());
}

#[test]
fn pieces_have_the_digest_of_the_whole() {
    let mut stream = Sha256Stream::new();
    assert_eq!(stream.clone().finish(), sha256(b""));
    for piece in [b"ab".as_slice(), b"", b"c"] {
        stream.take(piece);
    }
    assert_eq!(stream.finish(), sha256(b"abc"));
}

#[test]
fn fields_never_run_into_each_other() {
    let start = || HashBuilder::new("t", 1);
    let mut seen: Vec<Digest> = [
        start(),
        start().text(""),
        start().text("").text(""),
        start().bytes(b""),
        start().absent(),
        start().text("ab").text("c"),
        start().text("a").text("bc"),
        start().text("abc"),
        start().text("a\0bc"),
        start().bytes(b"abc"),
        start().number(0),
        HashBuilder::new("t", 2),
        HashBuilder::new("u", 1),
        HashBuilder::new("", 1).text("t"),
    ]
    .into_iter()
    .map(HashBuilder::finish)
    .collect();
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
}
