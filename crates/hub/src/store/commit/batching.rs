//! Number of rows in one statement.

use super::writer::WriteMode;

/// Few sizes, so that every connection keeps the statements of all of them prepared. The largest upsert has
/// 256 × 14 = 3,584 parameters; SQLite allows 32,766, the others 65,535.
const SIZES: [usize; 5] = [256, 64, 16, 4, 1];

/// Well below the smallest packet that servers accept by default (MySQL 5.7: 4 MiB), unless one row alone is larger.
const BYTES: usize = 1 << 20;

/// Splits off the rows of the next statement, at least one.
pub(super) fn next_batch<T>(rows: &[T], mode: WriteMode, bytes: impl Fn(&T) -> usize) -> (&[T], &[T]) {
    if mode == WriteMode::Isolated {
        return rows.split_at(rows.len().min(1));
    }
    let mut total = 0;
    let fitting = rows
        .iter()
        .take_while(|row| {
            total += bytes(row);
            total <= BYTES
        })
        .count();
    let size = SIZES.into_iter().find(|size| *size <= fitting).unwrap_or(1);
    rows.split_at(size.min(rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: &[usize], mode: WriteMode) -> Vec<usize> {
        let mut rest = rows;
        let mut sizes = Vec::new();
        while !rest.is_empty() {
            let (rows, others) = next_batch(rest, mode, |bytes| *bytes);
            sizes.push(rows.len());
            rest = others;
        }
        sizes
    }

    #[test]
    fn statements_come_in_few_sizes_and_are_bounded_in_bytes() {
        assert_eq!(sizes(&[10; 600], WriteMode::Batched), [256, 256, 64, 16, 4, 4]);
        assert_eq!(sizes(&[400_000; 5], WriteMode::Batched), [1; 5]);
        assert_eq!(sizes(&[200_000; 5], WriteMode::Batched), [4, 1]);
        assert_eq!(sizes(&[3_000_000, 1], WriteMode::Batched), [1, 1]);
        assert_eq!(sizes(&[10; 3], WriteMode::Isolated), [1; 3]);
    }
}
