//! Realistic cluster names.

const REGIONS: [&str; 20] = [
    "eu-west",
    "us-east",
    "asia-south",
    "eu-north",
    "us-west",
    "asia-east",
    "eu-central",
    "us-central",
    "africa-south",
    "sa-east",
    "au-east",
    "me-central",
    "ca-central",
    "eu-south",
    "asia-north",
    "us-south",
    "sa-west",
    "au-south",
    "africa-north",
    "uk-south",
];

const STAGES: [&str; 3] = ["", "-staging", "-test"];

/// Distinct names; the first ones do not depend on the count.
pub fn cluster_names(count: usize) -> Vec<String> {
    let per_round = REGIONS.len() * STAGES.len();
    (0..count)
        .map(|number| {
            let (round, place) = (number / per_round, number % per_round);
            let (stage, region) = (STAGES[place / REGIONS.len()], REGIONS[place % REGIONS.len()]);
            match round {
                0 => format!("{region}{stage}"),
                round => format!("{region}-{}{stage}", round + 1),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_thousand_names_are_a_thousand_names() {
        let names = cluster_names(1000);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 1000);
        assert_eq!(names[..3], ["eu-west", "us-east", "asia-south"]);
    }
}
