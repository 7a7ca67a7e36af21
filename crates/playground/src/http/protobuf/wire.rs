//! Wire format of protobuf: a sequence of numbered fields.

/// The bytes are not protobuf, or not the expected message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// Value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Datum<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Reads a message field by field.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// Returns all fields of a message.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(u64, Datum<'_>)>, Broken> {
    let mut reader = Reader::new(bytes);
    let mut fields = Vec::new();
    while let Some(field) = reader.next()? {
        fields.push(field);
    }
    Ok(fields)
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number and the value of the next field; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Datum<'a>)>, Broken> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let datum = match tag & 7 {
            0 => Datum::Varint(self.varint()?),
            1 => Datum::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Broken)?;
                Datum::Bytes(self.take(length)?)
            }
            5 => Datum::Fixed32(u32::from_le_bytes(self.array()?)),
            // Groups, which Kubernetes never used.
            _ => return Err(Broken),
        };
        Ok(Some((tag >> 3, datum)))
    }

    fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        self.take(N)?.try_into().map_err(|_| Broken)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Broken)?;
        self.rest = rest;
        Ok(taken)
    }
}

// === impl Datum ===

impl<'a> Datum<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], Broken> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(Broken) }
    }

    pub(super) fn integer(self) -> Result<i64, Broken> {
        if let Self::Varint(value) = self { Ok(value.cast_signed()) } else { Err(Broken) }
    }

    pub(super) fn float(self) -> Result<f64, Broken> {
        if let Self::Fixed64(bits) = self { Ok(f64::from_bits(bits)) } else { Err(Broken) }
    }
}
