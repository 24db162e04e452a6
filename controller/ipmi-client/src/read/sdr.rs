//! The sensor data records, all of them.

use std::collections::HashSet;

use super::{Chunk, RESERVATIONS};
use crate::command::{DeviceRecords, GetDeviceId, GetSdr, Repository, ReserveSdr, SdrSource};
use crate::sdr::{FruLocator, Record, Sensor};
use crate::{Client, CompletionCode, IpmiError, Malformed};

const HEADER: u8 = 5;
const END: u16 = 0xffff;
/// More than any server's: what goes on longer goes round in circles.
const RECORDS_MAX: usize = 4096;

/// What a BMC's records describe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdrInventory {
    /// The sensors.
    pub sensors: Vec<Sensor>,
    /// The units with inventories.
    pub frus: Vec<FruLocator>,
    /// Records that could not be made out, by id.
    pub unreadable: Vec<(u16, Malformed)>,
}

impl SdrInventory {
    fn add(&mut self, id: u16, record: &[u8]) {
        match Record::parse(record) {
            Ok(Record::Sensors(sensors)) => self.sensors.extend(sensors),
            Ok(Record::Fru(fru)) => self.frus.push(fru),
            Ok(Record::Other(_)) => {}
            Err(malformed) => self.unreadable.push((id, malformed)),
        }
    }
}

impl Client {
    /// Reads all records: from the repository, or from the device where there is no repository.
    ///
    /// # Errors
    /// Any of [`IpmiError`]. A damaged record is no error but listed.
    pub async fn read_sdr(&self) -> Result<SdrInventory, IpmiError> {
        if self.execute(&GetDeviceId).await?.has_sdr_repository {
            self.read_sdr_from(Repository).await
        } else {
            self.read_sdr_from(DeviceRecords).await
        }
    }

    async fn read_sdr_from<S: SdrSource>(&self, source: S) -> Result<SdrInventory, IpmiError> {
        let mut inventory = SdrInventory::default();
        let mut reader = SdrReader { client: self, source, reservation: 0, reservations: 0, chunk: Chunk::new() };
        reader.reserve().await?;
        let mut seen = HashSet::new();
        let mut id = 0;
        while id != END && seen.len() < RECORDS_MAX && seen.insert(id) {
            let Some((record, next)) = reader.record(id).await? else { break };
            inventory.add(id, &record);
            id = next;
        }
        Ok(inventory)
    }
}

struct SdrReader<'a, S> {
    client: &'a Client,
    source: S,
    reservation: u16,
    reservations: usize,
    chunk: Chunk,
}

impl<S: SdrSource> SdrReader<'_, S> {
    async fn reserve(&mut self) -> Result<(), IpmiError> {
        self.reservations += 1;
        self.reservation = match self.client.execute(&ReserveSdr::<S>::new()).await {
            Ok(reservation) => reservation,
            // Optional where records never change.
            Err(IpmiError::Completion { code: CompletionCode::INVALID_COMMAND, .. }) => 0,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// A whole record and its successor's id; `None` when there is no such record, as in an empty repository.
    async fn record(&mut self, id: u16) -> Result<Option<(Vec<u8>, u16)>, IpmiError> {
        'anew: loop {
            let mut record = Vec::new();
            let mut length = usize::from(HEADER);
            let next = loop {
                let offset = u8::try_from(record.len()).unwrap_or(u8::MAX);
                let count = self.chunk.of(length - record.len());
                let command = GetSdr { reservation: self.reservation, record: id, offset, count, source: self.source };
                let piece = match self.client.execute(&command).await {
                    Ok(piece) => piece,
                    Err(IpmiError::Completion { code: CompletionCode::RESERVATION_LOST, .. })
                        if self.reservations < RESERVATIONS =>
                    {
                        self.reserve().await?;
                        continue 'anew;
                    }
                    Err(IpmiError::Completion { code: CompletionCode::NOT_PRESENT, .. }) => return Ok(None),
                    Err(IpmiError::Completion { code, .. }) if self.chunk.shrink(code) => continue,
                    Err(error) => return Err(error),
                };
                if piece.bytes.is_empty() {
                    return Err(Malformed { what: "get sdr response", why: "holds no bytes" }.into());
                }
                record.extend(piece.bytes.into_iter().take(length - record.len()));
                if let [_, _, _, _, body, ..] = record[..] {
                    length = usize::from(HEADER) + usize::from(body);
                }
                if record.len() >= length {
                    break piece.next;
                }
            };
            return Ok(Some((record, next)));
        }
    }
}
