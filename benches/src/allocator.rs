//! Which allocator the figures are measured with: the C library's, as any program has it that links
//! a library and chooses nothing.

use std::hint::black_box;

/// Small enough to be taken from the heap that the C library grows.
const SMALL: usize = 1_024;

/// Whether the system's allocator serves this process: what its first thread allocates then lies in
/// the heap that the C library grows, where no other allocator takes memory from.
///
/// To be asked on the first thread: others have places of their own.
#[must_use]
pub fn is_the_systems() -> bool {
    let probe = black_box(vec![0_u8; SMALL]);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    heap_of(&maps).is_some_and(|(first, end)| (first..end).contains(&probe.as_ptr().addr()))
}

/// Where the heap begins and ends.
fn heap_of(maps: &str) -> Option<(usize, usize)> {
    let heap = maps.lines().find(|line| line.ends_with(" [heap]"))?;
    let (first, end) = heap.split(' ').next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(first)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_found_by_its_name() {
        let maps = "00400000-00401000 r--p 00000000 fe:00 1    /bin/results\n\
                    01a00000-01a21000 rw-p 00000000 00:00 0    [heap]\n";
        assert_eq!(heap_of(maps), Some((0x01a0_0000, 0x01a2_1000)));
        assert_eq!(heap_of("00400000-00401000 r--p 0 fe:00 1 /bin/x\n"), None);
    }

    /// No crate that is linked brings another one.
    #[test]
    fn no_other_allocator_is_among_the_packages() {
        let locked = include_str!("../../Cargo.lock");
        for name in ["mimalloc", "jemalloc", "snmalloc", "tcmalloc", "rpmalloc"] {
            assert!(!locked.contains(name), "{name}");
        }
    }
}
