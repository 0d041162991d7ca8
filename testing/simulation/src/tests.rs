use super::pages::PAGE;
use super::*;
use holdpoint_engine::log::{LockFile, Storage};
use holdpoint_log_files::{ReadFile, ReadStorage};
use std::io;

/// A disk with the file `f` of two sectors of ones, durable with its name, and a writer on it.
fn disk_with_file() -> (SimulatedDisk, SimulatedFile) {
    let disk = SimulatedDisk::new(1);
    disk.create_directory("").unwrap();
    let file = disk.create("f", 1_024).unwrap();
    disk.write_at(&file, 0, &[1; 1_024]).unwrap();
    disk.sync(&file).unwrap();
    disk.sync_directory("").unwrap();
    (disk, file)
}

fn content(disk: &SimulatedDisk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(path).unwrap()?;
    let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
    let read = file.read_at(0, &mut bytes).unwrap();
    assert_eq!(read, bytes.len());
    Some(bytes)
}

/// The first byte of each sector.
fn sectors(disk: &SimulatedDisk) -> Vec<u8> {
    content(disk, "f").unwrap().chunks(512).map(|sector| sector[0]).collect()
}

#[test]
fn power_loss_leaves_every_combination_of_the_versions_of_unsynced_sectors() {
    let (disk, file) = disk_with_file();
    disk.write_at(&file, 0, &[2; 1_024]).unwrap();
    disk.write_at(&file, 512, &[3; 512]).unwrap();
    let options: Vec<usize> = disk.pending().iter().map(|pending| pending.options).collect();
    assert_eq!(options, [2, 3]);
    for (first, value) in [(0, 1), (1, 2)] {
        for (second, other) in [(0, 1), (1, 2), (2, 3)] {
            let after = disk.power_loss(&[first, second]);
            assert_eq!(sectors(&after), [value, other]);
            assert_eq!(after.pending(), []);
            assert_ne!(after.boot(), disk.boot());
        }
    }
    assert_eq!(sectors(&disk.kill()), [2, 3]);
    assert_eq!(disk.kill().boot(), disk.boot());
    assert_eq!(disk.kill().pending(), disk.pending());
    disk.sync(&file).unwrap();
    assert_eq!(sectors(&disk.power_loss(&[])), [2, 3]);
}

#[test]
fn a_torn_sector_begins_new_and_ends_old() {
    let (disk, file) = disk_with_file();
    disk.write_at(&file, 0, &[2; 512]).unwrap();
    let after = disk.power_loss_tearing(&[1], &[Tear { pending: 0, bytes: 10 }]);
    let bytes = content(&after, "f").unwrap();
    assert_eq!((bytes[9], bytes[10], bytes[512]), (2, 1, 1));
}

#[test]
fn a_name_is_durable_with_its_directory_and_not_with_its_file() {
    let (disk, _) = disk_with_file();
    let file = disk.create("g", 0).unwrap();
    disk.write_at(&file, 0, b"new").unwrap();
    disk.sync(&file).unwrap();
    assert_eq!(content(&disk.power_loss(&[]), "g"), None);
    assert_eq!(content(&disk.power_loss(&[1]), "g"), Some(b"new".to_vec()));
    disk.rename("g", "f").unwrap();
    disk.sync_directory("").unwrap();
    let after = disk.power_loss(&[]);
    assert_eq!(content(&after, "f"), Some(b"new".to_vec()));
    assert_eq!(content(&after, "g"), None);
}

#[test]
fn a_rename_that_is_not_durable_leaves_either_name_and_whatever_the_file_held() {
    let (disk, _) = disk_with_file();
    let file = disk.create("g", 512).unwrap();
    disk.write_at(&file, 0, &[9; 512]).unwrap();
    disk.rename("g", "f").unwrap();
    // The name made, the rename, the length, the sector.
    assert_eq!(disk.pending().len(), 4);
    let lost = disk.power_loss(&[1, 0, 1, 1]);
    assert_eq!((sectors(&lost), content(&lost, "g").unwrap()[0]), (vec![1, 1], 9));
    let empty = disk.power_loss(&[1, 1, 0, 1]);
    assert_eq!((content(&empty, "f"), content(&empty, "g")), (Some(Vec::new()), None));
    let blank = disk.power_loss(&[0, 1, 1, 0]);
    assert_eq!(content(&blank, "f"), Some(vec![0; 512]));
}

#[test]
fn what_a_lost_directory_held_is_lost() {
    let (disk, _) = disk_with_file();
    disk.create_directory("d").unwrap();
    let file = disk.create("d/f", 1).unwrap();
    disk.sync(&file).unwrap();
    disk.sync_directory("d").unwrap();
    assert_eq!(content(&disk.power_loss(&[0]), "d/f"), None);
    assert_eq!(content(&disk.power_loss(&[1]), "d/f"), Some(vec![0]));
}

#[test]
fn after_a_sync_that_drops_pages_the_next_one_succeeds_and_the_disk_is_old() {
    let (disk, file) = disk_with_file();
    disk.write_at(&file, 0, &[2; 1_024]).unwrap();
    disk.fail_next(Call::Sync, Fault::SyncDropsPages);
    disk.sync(&file).unwrap_err();
    disk.sync(&file).unwrap();
    assert_eq!((sectors(&disk), sectors(&disk.power_loss(&[]))), (vec![2, 2], vec![1, 1]));
    // Only writing the same bytes again makes them durable.
    disk.write_at(&file, 0, &[2; 1_024]).unwrap();
    disk.sync(&file).unwrap();
    assert_eq!(sectors(&disk.power_loss(&[])), [2, 2]);
    assert_eq!(disk.happened(), ["sync-drops-pages"]);
}

#[test]
fn a_failing_call_does_nothing_half_or_all_of_its_work() {
    for (effect, expected, pages) in [
        (Effect::None, [1, 1], [0, 0]),
        (Effect::Half, [2, 1], [2, 0]),
        (Effect::Whole, [2, 2], [2, 2]),
    ] {
        for fault in [Fault::Io(effect), Fault::NoSpace(effect)] {
            let (disk, _) = disk_with_file();
            let file = disk.create("f", 2 * PAGE as u64).unwrap();
            disk.fail_at(disk.calls() + 1, fault.clone());
            let failed = disk.write_at(&file, 0, &[2; 2 * PAGE]).unwrap_err();
            let written = content(&disk, "f").unwrap();
            assert_eq!(written.chunks(PAGE).map(|page| page[0]).collect::<Vec<_>>(), pages);
            let is_full = failed.kind() == io::ErrorKind::StorageFull;
            assert_eq!(is_full, fault == Fault::NoSpace(effect));
        }
        let (disk, file) = disk_with_file();
        disk.write_at(&file, 0, &[2; 1_024]).unwrap();
        disk.fail_at(disk.calls() + 1, Fault::Io(effect));
        disk.sync(&file).unwrap_err();
        assert_eq!(sectors(&disk.power_loss(&[])), expected);
    }
}

#[test]
fn short_and_interrupted_calls_are_finished_by_their_callers() {
    let (disk, file) = disk_with_file();
    let calls = disk.calls();
    disk.fail_at(calls + 1, Fault::Interrupted);
    disk.fail_at(calls + 2, Fault::ShortWrite);
    // Of a write within one page there is all or nothing.
    disk.write_at(&file, 0, &[4; 1_024]).unwrap();
    assert_eq!((disk.calls(), sectors(&disk)), (calls + 2, vec![4, 4]));
    disk.fail_read_at(disk.reads() + 1, ReadFault::Interrupted);
    disk.fail_read_at(disk.reads() + 2, ReadFault::Short);
    assert_eq!(sectors(&disk), [4, 4]);
    let happened = ["EINTR", "short-write", "EINTR-on-read", "short-read"];
    assert_eq!(disk.happened(), happened);
}

#[test]
fn a_lying_disk_reports_success() {
    let (disk, file) = disk_with_file();
    disk.write_at(&file, 0, &[5; 512]).unwrap();
    disk.fail_at(disk.calls() + 1, Fault::SyncLies);
    disk.sync(&file).unwrap();
    assert_eq!(sectors(&disk.power_loss(&[])), [1, 1]);
    let elsewhere = Fault::Misdirected { file: None, offset: 512 };
    disk.fail_at(disk.calls() + 1, elsewhere);
    disk.write_at(&file, 0, &[6; 1_024]).unwrap();
    assert_eq!(sectors(&disk), [5, 6]);
    disk.fail_at(disk.calls() + 1, Fault::LostName);
    disk.rename("f", "g").unwrap();
    disk.sync_directory("").unwrap();
    assert!(content(&disk, "f").is_none());
    assert!(content(&disk.power_loss(&[]), "f").is_some());
}

#[test]
fn rot_changes_the_disk_or_one_read_of_it() {
    let (disk, _) = disk_with_file();
    disk.fail_read_at(disk.reads() + 1, ReadFault::Rot { bit: 1 });
    assert_eq!((sectors(&disk), sectors(&disk)), (vec![3, 1], vec![1, 1]));
    assert!(disk.rot("f", 512, 0x80) && !disk.rot("f", 1_024, 1) && !disk.rot("g", 0, 1));
    assert_eq!(sectors(&disk.power_loss(&[])), [1, 0x81]);
}

#[test]
fn the_lock_is_one_handles_at_a_time_and_free_after_a_kill() {
    let (disk, _) = disk_with_file();
    let held = disk.try_lock().unwrap().unwrap();
    held.write(b"mine").unwrap();
    assert!(disk.clone().try_lock().unwrap().is_none());
    let killed = disk.kill();
    let content = killed.try_lock().unwrap().unwrap().read().unwrap();
    assert_eq!((content.len(), content.starts_with(b"mine")), (4_096, true));
    drop(held);
    assert!(disk.try_lock().unwrap().is_some());
}

#[test]
fn a_recorded_stretch_has_a_moment_before_each_call_and_between_the_pages_of_a_write() {
    let (disk, file) = disk_with_file();
    let calls = disk.calls();
    disk.record_moments();
    disk.write_at(&file, 0, &[7; 10_000]).unwrap();
    disk.sync(&file).unwrap();
    let moments = disk.take_moments();
    let at: Vec<u64> = moments.iter().map(|moment| moment.calls - calls).collect();
    assert_eq!(at, [0, 0, 0, 1]);
    let lengths: Vec<usize> =
        moments.iter().map(|moment| content(&moment.disk, "f").unwrap().len()).collect();
    assert_eq!(lengths, [1_024, 4_096, 8_192, 10_000]);
}

#[test]
fn the_same_calls_leave_the_same_image_and_other_calls_another() {
    let image = |byte: u8| {
        let (disk, file) = disk_with_file();
        disk.write_at(&file, 3, &[byte]).unwrap();
        disk.kill().fingerprint()
    };
    assert_eq!(image(1), image(1));
    assert_ne!(image(1), image(2));
    let mut drawn = [[0; 16]; 2];
    drawn.iter_mut().for_each(|bytes| SimulatedDisk::new(5).draw(bytes).unwrap());
    assert!(drawn[0] == drawn[1] && drawn[0] != [0; 16]);
}

#[test]
fn a_machine_that_is_off_does_nothing() {
    let (disk, file) = disk_with_file();
    let before = disk.kill().fingerprint();
    disk.turn_off();
    disk.write_at(&file, 0, &[8]).unwrap_err();
    disk.sync(&file).unwrap_err();
    disk.remove("f").unwrap_err();
    assert!(disk.list("").is_err() && disk.open("f").is_err() && disk.try_lock().is_err());
    assert_eq!(disk.fingerprint(), before);
}
