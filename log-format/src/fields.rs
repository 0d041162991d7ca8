//! Reading and writing fixed-width little-endian fields in order.

/// A cursor over the fields of a structure whose total length was checked beforehand. Reading past
/// the end gives zeros; callers hold arrays of the exact length, so it does not happen.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    #[inline]
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

    #[inline]
    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    #[inline]
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

/// Puts fields in order into a structure of `N` bytes, the rest zero. What has no room is left out;
/// callers put no more than the structure holds, so it does not happen.
pub(crate) struct FieldsMut<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> FieldsMut<N> {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    #[inline]
    pub(crate) fn put<const M: usize>(mut self, field: &[u8; M]) -> Self {
        let to = self.bytes.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut::<M>);
        if let Some(to) = to {
            *to = *field;
        }
        self.length += M;
        self
    }

    /// The structure: what was put, then zeros.
    pub(crate) fn finish(self) -> [u8; N] {
        self.bytes
    }
}
