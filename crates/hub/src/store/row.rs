//! Reading the columns of a row.

use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use spindrift_model::{InvalidName, ScrubRevision};
use sqlx::Row;
use sqlx::any::AnyRow;

use super::StoreError;

/// Typed access to columns by name.
pub(super) trait Columns {
    fn text(&self, column: &'static str) -> Result<&str, StoreError>;
    fn number(&self, column: &'static str) -> Result<i64, StoreError>;
    fn slice(&self, column: &'static str) -> Result<&[u8], StoreError>;

    fn bytes(&self, column: &'static str) -> Result<Bytes, StoreError> {
        self.slice(column).map(Bytes::copy_from_slice)
    }

    /// A validated name.
    fn name<T: FromStr<Err = InvalidName>>(&self, column: &'static str) -> Result<T, StoreError> {
        self.text(column)?.parse().map_err(|source| StoreError::Name { column, source })
    }

    fn optional_name<T: FromStr<Err = InvalidName>>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, StoreError> {
        if self.text(column)?.is_empty() { Ok(None) } else { self.name(column).map(Some) }
    }

    fn optional_text(&self, column: &'static str) -> Result<Option<String>, StoreError> {
        Ok(Some(self.text(column)?).filter(|text| !text.is_empty()).map(str::to_owned))
    }

    /// A number that counts something.
    fn count(&self, column: &'static str) -> Result<u64, StoreError> {
        let value = self.number(column)?;
        u64::try_from(value).map_err(|_| StoreError::Number { column, value })
    }

    fn duration(&self, column: &'static str) -> Result<Duration, StoreError> {
        // A clock that was set back makes ages negative; they are then as young as can be.
        Ok(Duration::from_millis(u64::try_from(self.number(column)?).unwrap_or_default()))
    }

    fn timestamp(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        let value = self.number(column)?;
        Timestamp::from_millisecond(value).map_err(|_| StoreError::Number { column, value })
    }

    fn scrub_revision(&self) -> Result<ScrubRevision, StoreError> {
        let column = "scrub_revision";
        let value = self.number(column)?;
        u32::try_from(value).map(ScrubRevision).map_err(|_| StoreError::Number { column, value })
    }
}

impl Columns for AnyRow {
    fn text(&self, column: &'static str) -> Result<&str, StoreError> {
        self.try_get(column).map_err(|source| StoreError::Column { column, source })
    }

    fn number(&self, column: &'static str) -> Result<i64, StoreError> {
        self.try_get(column).map_err(|source| StoreError::Column { column, source })
    }

    fn slice(&self, column: &'static str) -> Result<&[u8], StoreError> {
        self.try_get(column).map_err(|source| StoreError::Column { column, source })
    }
}

/// A length of time as columns hold it.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
