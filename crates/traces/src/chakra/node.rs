//! A node of a Chakra trace (`et_def.proto`).

use super::protobuf::{Broken, Fields, Value};

/// A node, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node<'a> {
    pub(super) id: u64,
    pub(super) name: &'a [u8],
    pub(super) kind: u64,
    pub(super) control: Vec<u64>,
    pub(super) data: Vec<u64>,
    pub(super) duration_us: u64,
    pub(super) attributes: Attributes<'a>,
}

/// The attributes that mean something here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attributes<'a> {
    pub(super) on_cpu: bool,
    pub(super) operations: Option<u64>,
    pub(super) kind: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    pub(super) tag: Option<u64>,
    pub(super) group: Option<&'a [u8]>,
    /// Whether some dimension of the network takes no part.
    pub(super) partial: bool,
}

/// An attribute's value.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// Any type of whole number; negative ones are very large.
    Whole(u64),
    Text(&'a [u8]),
    /// A list of truths: whether each is true.
    All(bool),
    Other,
}

impl<'a> Node<'a> {
    pub(super) fn read(message: &'a [u8]) -> Result<Node<'a>, Broken> {
        let mut node = Node::default();
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, Value::Number(id)) => node.id = id,
                (2, Value::Bytes(name)) => node.name = name,
                (3, Value::Number(kind)) => node.kind = kind,
                (4, value) => append(&mut node.control, value)?,
                (5, value) => append(&mut node.data, value)?,
                (7, Value::Number(duration)) => node.duration_us = duration,
                (10, Value::Bytes(attribute)) => node.attributes.read(attribute)?,
                _ => {}
            }
        }
        Ok(node)
    }
}

/// A list of numbers, in one field or in a field each.
fn append(list: &mut Vec<u64>, value: Value) -> Result<(), Broken> {
    match value {
        Value::Number(number) => list.push(number),
        Value::Bytes(packed) => {
            let mut numbers = Fields::new(packed);
            while !numbers.is_at_end() {
                list.push(numbers.varint()?);
            }
        }
        _ => return Err(Broken(0)),
    }
    Ok(())
}

impl<'a> Attributes<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), Broken> {
        let (mut name, mut content) = (&b""[..], Content::Other);
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, Value::Bytes(text)) => name = text,
                // int32, int64, uint32, uint64 and bool; sint32 and sint64 with their sign last.
                (7 | 9 | 11 | 13 | 27, Value::Number(whole)) => content = Content::Whole(whole),
                (15 | 17, Value::Number(zigzag)) => {
                    content = Content::Whole(zigzag >> 1 ^ (zigzag & 1).wrapping_neg());
                }
                (21 | 25, Value::Fixed64(whole)) => content = Content::Whole(whole),
                (19 | 23, Value::Fixed32(whole)) => content = Content::Whole(whole.into()),
                (28, Value::Bytes(list)) => content = Content::All(all(list)?),
                (29, Value::Bytes(text)) => content = Content::Text(text),
                _ => {}
            }
        }
        self.set(name, content);
        Ok(())
    }

    fn set(&mut self, name: &[u8], content: Content<'a>) {
        match (name, content) {
            (b"is_cpu_op", Content::Whole(truth)) => self.on_cpu = truth != 0,
            (b"num_ops", Content::Whole(number)) => self.operations = Some(number),
            (b"comm_type", Content::Whole(number)) => self.kind = Some(number),
            (b"comm_size", Content::Whole(number)) => self.bytes = Some(number),
            (b"comm_src", Content::Whole(number)) => self.from = Some(number),
            (b"comm_dst", Content::Whole(number)) => self.to = Some(number),
            (b"comm_tag", Content::Whole(number)) => self.tag = Some(number),
            (b"pg_name", Content::Text(text)) => self.group = Some(text),
            (b"involved_dim", Content::All(all)) => self.partial = !all,
            _ => {}
        }
    }
}

/// Whether each truth of a list is true.
fn all(list: &[u8]) -> Result<bool, Broken> {
    let mut truths = Vec::new();
    let mut fields = Fields::new(list);
    while let Some((number, value)) = fields.next()? {
        if number == 1 {
            append(&mut truths, value)?;
        }
    }
    Ok(truths.iter().all(|&truth| truth != 0))
}
