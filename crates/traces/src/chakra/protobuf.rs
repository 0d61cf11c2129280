//! The wire format of Protocol Buffers: fields of a message, one after another.

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A message that ends too early or has what no writer writes, and the place of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) usize);

/// The fields of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    /// The place of the next byte.
    pub(super) at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// A number of up to ten bytes, seven bits in each, the lowest first.
    pub(super) fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Broken(self.at))?;
            if shift == 63 && byte > 1 {
                return Err(Broken(self.at));
            }
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Broken(self.at))
    }

    /// A length, and as many bytes.
    pub(super) fn delimited(&mut self) -> Result<&'a [u8], Broken> {
        let start = self.at;
        let length = self.varint()?;
        usize::try_from(length).ok().and_then(|length| self.take(length)).ok_or(Broken(start))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// The next field's number and value; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Broken> {
        if self.is_at_end() {
            return Ok(None);
        }
        let start = self.at;
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => {
                let bytes = self.take(8).ok_or(Broken(start))?;
                Value::Fixed64(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            }
            2 => Value::Bytes(self.delimited()?),
            5 => {
                let bytes = self.take(4).ok_or(Broken(start))?;
                Value::Fixed32(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
            }
            _ => return Err(Broken(start)),
        };
        Ok(Some((key >> 3, value)))
    }
}
