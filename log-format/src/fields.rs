//! Reading and writing fixed-width little-endian fields in order.

use alloc::vec::Vec;

/// A cursor over the fields of a structure whose total length was checked beforehand. Reading past
/// the end gives zeros; callers hold arrays of the exact length, so it does not happen.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => {
                self.0 = &[];
                [0; N]
            }
        }
    }

    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    /// The bytes behind the fields read so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
}

/// Appends fields in order to a buffer that ends up `length` bytes long, the rest zero.
pub(crate) struct FieldsMut(Vec<u8>);

impl FieldsMut {
    pub(crate) fn with_capacity(length: usize) -> Self {
        Self(Vec::with_capacity(length))
    }

    pub(crate) fn put(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The structure as an array of exactly `N` bytes: what was put, then zeros.
    pub(crate) fn finish<const N: usize>(self) -> [u8; N] {
        let mut array = [0; N];
        for (to, from) in array.iter_mut().zip(self.0) {
            *to = from;
        }
        array
    }
}
