//! Codec of all gRPC messages: a message whose decoded form would be far larger than its bytes is refused.

use std::marker::PhantomData;

use bytes::Buf;
use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder},
};
use tonic_prost::{ProstCodec, ProstDecoder};

use crate::{InvalidMessage, elements, v1};

/// Protobuf with a limit on the number of elements of a message.
#[derive(Debug)]
pub(crate) struct BoundedCodec<T, U>(PhantomData<(T, U)>);

/// Decoder of one type of message.
#[derive(Debug)]
pub(crate) struct BoundedDecoder<U>(ProstDecoder<U>);

/// A message that a peer sends.
pub(crate) trait Bounded {
    /// Refuses the bytes of a message with too many elements.
    fn check(_message: &[u8]) -> Result<(), InvalidMessage> {
        Ok(())
    }
}

impl Bounded for v1::RegisterRequest {
    fn check(message: &[u8]) -> Result<(), InvalidMessage> {
        elements::REGISTER.check(message)
    }
}

impl Bounded for v1::ControlUp {
    fn check(message: &[u8]) -> Result<(), InvalidMessage> {
        elements::CONTROL.check(message)
    }
}

// Chunks are checked when they are put together; the others have no repeated fields, or are sent by the hub.
impl Bounded for v1::EventsUp {}
impl Bounded for v1::ResultsUp {}
impl Bounded for v1::RegisterResponse {}
impl Bounded for v1::ControlDown {}
impl Bounded for v1::EventsDown {}
impl Bounded for v1::ResultsDown {}

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for BoundedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Bounded + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = <ProstCodec<T, U> as Codec>::Encoder;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(ProstCodec::<T, U>::default().decoder())
    }
}

impl<U> Decoder for BoundedDecoder<U>
where
    U: Message + Default + Bounded + Send + 'static,
{
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        U::check(buffer.chunk()).map_err(|invalid| Status::invalid_argument(invalid.to_string()))?;
        self.0.decode(buffer)
    }
}
