//! Name of an image without its tag or digest.

/// Cuts a reference at its digest, else at its last colon: also at that of a registry's port if there is no tag,
/// since Clouddriver does, and artifacts are matched by the result.
pub fn image_name(reference: &str) -> &str {
    match reference.split_once('@') {
        Some((name, _)) => name,
        None => reference.rsplit_once(':').map_or(reference, |(name, _)| name),
    }
}

#[cfg(test)]
mod tests {
    use super::image_name;

    #[test]
    fn tags_and_digests_are_cut_off() {
        let table = [
            ("nginx", "nginx"),
            ("nginx:1.27", "nginx"),
            ("registry.example.com:5000/team/side@sha256:aaaa", "registry.example.com:5000/team/side"),
            ("registry.example.com:5000/team/side:1", "registry.example.com:5000/team/side"),
            ("registry.example.com:5000/team/side", "registry.example.com"),
            ("nginx:1.27@sha256:aaaa", "nginx:1.27"),
        ];
        for (reference, name) in table {
            assert_eq!(image_name(reference), name);
        }
    }
}
