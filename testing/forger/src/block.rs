/// A field of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub at: usize,
    pub length: usize,
}

/// A structure of fixed length, as its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block(pub Vec<u8>);

impl Block {
    pub fn zeros(length: usize) -> Self {
        Self(vec![0; length])
    }

    pub fn bytes(&self, field: Field) -> &[u8] {
        &self.0[field.at..field.at + field.length]
    }

    pub fn array<const N: usize>(&self, field: Field) -> [u8; N] {
        self.bytes(field).try_into().expect("a field of that length")
    }

    /// A field of at most eight bytes, little-endian.
    pub fn number(&self, field: Field) -> u64 {
        number(self.bytes(field))
    }

    pub fn set(&mut self, field: Field, bytes: &[u8]) {
        self.0[field.at..field.at + field.length].copy_from_slice(bytes);
    }

    /// The lower bytes of the number, as many as the field has.
    pub fn set_number(&mut self, field: Field, value: u64) {
        self.set(field, &value.to_le_bytes()[..field.length]);
    }

    pub fn flip(&mut self, field: Field, bit: usize) {
        let bit = bit % (field.length * 8);
        self.0[field.at + bit / 8] ^= 1 << (bit % 8);
    }
}

/// A little-endian number of at most eight bytes.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |high, byte| high << 8 | u64::from(*byte))
}
