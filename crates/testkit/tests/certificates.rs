//! A TLS stack accepts the files of the test authority.

use std::fs;

use spindrift_testkit::Certificates;

#[test]
fn identities_are_pem_files_with_pkcs8_keys() -> anyhow::Result<()> {
    let certificates = Certificates::new()?;
    for identity in [certificates.server("hub.example")?, certificates.client("agent-1")?] {
        assert!(fs::read_to_string(identity.certificate)?.starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(fs::read_to_string(identity.key)?.starts_with("-----BEGIN PRIVATE KEY-----"));
    }
    Ok(())
}

#[test]
fn every_authority_is_foreign_to_every_other() -> anyhow::Result<()> {
    let (ours, foreign) = (Certificates::new()?, Certificates::new()?);
    assert_ne!(fs::read(ours.authority())?, fs::read(foreign.authority())?);
    Ok(())
}
