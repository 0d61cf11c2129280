//! Every rank sends to the next one (nccl-tests, `sendrecv.cu`).

use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Every rank sends its buffer to the next rank and receives from the one before.
    pub struct SendReceive: "send-receive" {}
}

impl Check for SendReceive {}

impl Steps for SendReceive {
    const OPERATION: Operation = Operation::SendReceive;

    fn steps(&self, _: Shape, _: Place) -> u64 {
        1
    }

    fn arrivals(&self, _: Shape, _: Place) -> u64 {
        1
    }

    fn step(&self, shape: Shape, at: Place, _: u64) -> Option<Message> {
        Some(Message {
            to: (at.rank + 1) % shape.ranks,
            slot: 0,
            part: Part::whole(shape.bytes),
            reduce: false,
            needs: [Need::default(); 3],
        })
    }

    /// One message alone.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        port.alone(shape.bytes)
    }
}
