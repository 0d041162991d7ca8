use super::places::{a_file, a_record, a_segment, active_segment, path_of, some_of};
use super::{Attack, Forged, row};
use crate::log::{File, Log, SEGMENTS};

pub(super) const ATTACKS: &[Attack] = &[
    row("cut-inside-record", "A segment's file was cut in the middle of a record.", inside_record),
    row("cut-before-record", "A segment's file was cut where a record begins.", before_record),
    row("cut-behind-items", "A segment's file was cut behind its last item.", behind_items),
    row("cut-last-byte", "A segment's file lost its last byte.", |log, v| shorter(log, v, 1)),
    row("cut-last-page", "A segment's file lost its last page.", |log, v| shorter(log, v, 4096)),
    row("cut-inside-header", "A segment's file was cut inside its header block.", inside_header),
    row("cut-segment-to-nothing", "A segment's file was cut to no byte at all.", to_nothing),
    row("grow-segment", "A page of zeros was put behind a segment's capacity.", grow),
    row("remove-segment", "A segment's file was removed.", remove_segment),
    row("remove-active-segment", "The segment that is written to was removed.", remove_active),
    row("remove-segments-directory", "The directory of segments was removed.", remove_segments),
    row("remove-everything-but-lock", "HEAD and all segments were removed.", all_but_lock),
    row("remove-head", "HEAD was removed.", |log, _| remove(log, "HEAD")),
    row("remove-lock", "LOCK was removed.", |log, _| remove(log, "LOCK")),
    row("remove-index", "An index was removed.", |log, v| remove_one(log, v, ".idx")),
    row("remove-snapshot", "A snapshot was removed.", |log, v| remove_one(log, v, ".snapshot")),
    row("cut-head", "HEAD was cut.", |log, v| cut_file(log, v, "HEAD")),
    row("cut-lock", "LOCK was cut.", |log, v| cut_file(log, v, "LOCK")),
    row("cut-index", "An index was cut.", |log, v| cut_one(log, v, ".idx")),
    row("cut-snapshot", "A snapshot was cut.", |log, v| cut_one(log, v, ".snapshot")),
    row(
        "link-for-segment",
        "A segment was moved away and a link to it put in its place.",
        link_for_segment,
    ),
    row("link-for-head", "HEAD was moved away and a link to it put in its place.", link_for_head),
    row(
        "directory-for-segment",
        "A directory was put in a segment's place.",
        directory_for_segment,
    ),
];

fn inside_record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let length = log.segment(at.segment).offset_of(at.item) + log.record(at).length() / 2;
    log.segment_mut(at.segment).truncate(length);
    Ok(())
}

fn before_record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let length = log.segment(at.segment).offset_of(at.item);
    log.segment_mut(at.segment).truncate(length);
    Ok(())
}

fn behind_items(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    log.segment_mut(segment).rest.clear();
    Ok(())
}

fn shorter(log: &mut Log, variant: u64, by: usize) -> Forged {
    let segment = a_segment(log, variant)?;
    let one = log.segment_mut(segment);
    let length = one.end() + one.rest.len() - by;
    one.truncate(length);
    Ok(())
}

fn inside_header(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    cut_to_half(log, &path, 4096)
}

fn to_nothing(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    log.files.insert(path, File::Other(Vec::new()));
    Ok(())
}

fn grow(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    log.segment_mut(segment).rest.extend([0; 4096]);
    Ok(())
}

fn remove_segment(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    remove(log, &path)
}

fn remove_active(log: &mut Log, _: u64) -> Forged {
    let path = path_of(log, active_segment(log)?);
    remove(log, &path)
}

fn remove_segments(log: &mut Log, _: u64) -> Forged {
    log.remove_directory(SEGMENTS);
    Ok(())
}

fn all_but_lock(log: &mut Log, _: u64) -> Forged {
    log.remove_directory(SEGMENTS);
    remove(log, "HEAD")
}

fn remove(log: &mut Log, path: &str) -> Forged {
    log.files.remove(path).map(drop).ok_or("there is no such file")
}

fn remove_one(log: &mut Log, variant: u64, ending: &str) -> Forged {
    let path = a_file(log, variant, ending)?;
    remove(log, &path)
}

/// To no byte, to half, or by one byte.
fn cut_file(log: &mut Log, variant: u64, path: &str) -> Forged {
    let bytes = log.files.get(path).and_then(File::encode).ok_or("there is no such file")?;
    let lengths = [0, bytes.len() / 2, bytes.len().saturating_sub(1)];
    let length = some_of(&lengths, variant).ok_or("there is no length")?;
    log.files.insert(path.into(), File::Other(bytes[..length].to_vec()));
    Ok(())
}

fn cut_one(log: &mut Log, variant: u64, ending: &str) -> Forged {
    let path = a_file(log, variant, ending)?;
    let length = log.files.get(&path).and_then(File::encode).ok_or("there is no such file")?.len();
    cut_to_half(log, &path, length)
}

fn cut_to_half(log: &mut Log, path: &str, of: usize) -> Forged {
    let bytes = log.files.get(path).and_then(File::encode).ok_or("there is no such file")?;
    log.files.insert(path.into(), File::Other(bytes[..of / 2].to_vec()));
    Ok(())
}

/// The bytes stay in `cut/`, where the format allows a file.
fn link_for_segment(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    link_for(log, &path, "../")
}

fn link_for_head(log: &mut Log, _: u64) -> Forged {
    link_for(log, "HEAD", "")
}

fn link_for(log: &mut Log, path: &str, up: &str) -> Forged {
    let file = log.files.remove(path).ok_or("there is no such file")?;
    let aside = "cut/00000000000000000001-0-1.cut";
    let bytes = file.encode().ok_or("it is a link already")?;
    super::places::put(log, aside, File::Other(bytes));
    log.files.insert(path.into(), File::Link(format!("{up}{aside}").into()));
    Ok(())
}

fn directory_for_segment(log: &mut Log, variant: u64) -> Forged {
    let path = path_of(log, a_segment(log, variant)?);
    log.files.remove(&path);
    log.directories.insert(path);
    Ok(())
}
