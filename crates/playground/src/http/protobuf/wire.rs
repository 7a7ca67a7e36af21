//! Wire format of protobuf: a sequence of numbered fields.

/// The bytes are not protobuf, or not the expected message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidProtobuf;

/// Value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Reads a message field by field.
pub(super) struct MessageReader<'a> {
    rest: &'a [u8],
}

/// Returns all fields of a message.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(u64, WireValue<'_>)>, InvalidProtobuf> {
    let mut reader = MessageReader::new(bytes);
    let mut fields = Vec::new();
    while let Some(field) = reader.next()? {
        fields.push(field);
    }
    Ok(fields)
}

// === impl MessageReader ===

impl<'a> MessageReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number and the value of the next field; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, WireValue<'a>)>, InvalidProtobuf> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let datum = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| InvalidProtobuf)?;
                WireValue::Bytes(self.take(length)?)
            }
            5 => WireValue::Fixed32(u32::from_le_bytes(self.array()?)),
            // Groups, which Kubernetes never used.
            _ => return Err(InvalidProtobuf),
        };
        Ok(Some((tag >> 3, datum)))
    }

    fn varint(&mut self) -> Result<u64, InvalidProtobuf> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(InvalidProtobuf)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidProtobuf> {
        self.take(N)?.try_into().map_err(|_| InvalidProtobuf)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], InvalidProtobuf> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(InvalidProtobuf)?;
        self.rest = rest;
        Ok(taken)
    }
}

// === impl WireValue ===

impl<'a> WireValue<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], InvalidProtobuf> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(InvalidProtobuf) }
    }

    pub(super) fn integer(self) -> Result<i64, InvalidProtobuf> {
        if let Self::Varint(value) = self { Ok(value.cast_signed()) } else { Err(InvalidProtobuf) }
    }

    pub(super) fn float(self) -> Result<f64, InvalidProtobuf> {
        if let Self::Fixed64(bits) = self { Ok(f64::from_bits(bits)) } else { Err(InvalidProtobuf) }
    }
}
