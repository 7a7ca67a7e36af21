//! Quantities of Kubernetes: `500m`, `1Gi`, `2e3`.

/// Parses a quantity, exactly enough to compare and to add.
pub fn parse(text: &str) -> Option<f64> {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let (number, suffix) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number: f64 = number.parse().ok()?;
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => f64::from(1 << 10),
        "Mi" => f64::from(1 << 20),
        "Gi" => f64::from(1 << 30),
        "Ti" => 1024f64.powi(4),
        "Pi" => 1024f64.powi(5),
        "Ei" => 1024f64.powi(6),
        exponent => 10f64.powi(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_binary_and_decimal() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("500m", Some(0.5)),
            ("1.5Gi", Some(1_610_612_736.0)),
            ("2e3", Some(2000.0)),
            ("1E", Some(1e18)),
            ("-3k", Some(-3000.0)),
            ("", None),
            ("m", None),
            ("1x", None),
            ("web-1", None),
            ("2026-11-16", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
