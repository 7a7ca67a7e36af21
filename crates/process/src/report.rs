//! An error with everything that caused it, in one line.

use std::error::Error;

/// Shows an error and its causes: `open the store: connect to the database: connection refused`.
pub fn report(error: &dyn Error) -> String {
    let mut report = error.to_string();
    let mut said = report.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many libraries repeat their cause in their own text.
        if !said.contains(&text) {
            report.push_str(": ");
            report.push_str(&text);
            said = text;
        }
        cause = error.source();
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("open the store")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn causes_follow_each_other_and_are_not_repeated() {
        let error = Outer(std::io::Error::other("connection refused"));
        assert_eq!(report(&error), "open the store: connection refused");
    }
}
