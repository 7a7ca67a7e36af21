//! Rows whose bodies fit into a number of bytes, so that a reader holds a bounded part of a page.

use sqlx::AnyConnection;

use super::statement::Statement;
use super::{Store, StoreError, row::Columns};

/// Rows at the beginning of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fitting {
    /// Rows whose bodies fit; one if the first is too large.
    pub(super) rows: usize,
    /// All rows of the selection.
    pub(super) of: usize,
}

const SEPARATOR: u8 = b',';

// === impl Store ===

impl Store {
    /// Measures the bodies of a selection without reading them. `select` completes a statement that begins with this text,
    /// up to `FROM`.
    pub(super) async fn fitting(
        &self,
        bytes: usize,
        connection: &mut AnyConnection,
        select: impl FnOnce(&str) -> Statement,
    ) -> Result<Fitting, StoreError> {
        let step = "measure objects";
        let length = self.dialect.body_length();
        let lengths: Vec<u64> = if let Some(gathered) = self.dialect.gathered("bytes", SEPARATOR) {
            let text = format!("SELECT {gathered} AS lengths FROM (SELECT {length} AS bytes");
            let row = select(&text).push(")").fetch_optional(step, connection).await?;
            row.map_or(Ok(Vec::new()), |row| row.slice("lengths").map(numbers))?
        } else {
            let rows = select(&format!("SELECT {length} AS bytes")).fetch_all(step, connection).await?;
            rows.iter().map(|row| row.count("bytes")).collect::<Result<_, _>>()?
        };
        Ok(Fitting::of(&lengths, bytes))
    }
}

fn numbers(text: &[u8]) -> Vec<u64> {
    let numbers = text.split(|byte| *byte == SEPARATOR);
    numbers.filter_map(|number| std::str::from_utf8(number).ok()?.parse().ok()).collect()
}

// === impl Fitting ===

impl Fitting {
    fn of(lengths: &[u64], bytes: usize) -> Self {
        let (mut total, bytes) = (0_u64, u64::try_from(bytes).unwrap_or(u64::MAX));
        let fits = lengths.iter().take_while(|length| {
            total = total.saturating_add(**length);
            total <= bytes
        });
        Self { rows: fits.count().max(1).min(lengths.len()), of: lengths.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_up_to_the_limit_and_one_always_does() {
        for (lengths, rows) in [(&[][..], 0), (&[1, 2, 3], 3), (&[4, 4, 4], 2), (&[9, 1], 1), (&[8, 0, 1], 2)]
        {
            assert_eq!(Fitting::of(lengths, 8), Fitting { rows, of: lengths.len() }, "{lengths:?}");
        }
    }
}
