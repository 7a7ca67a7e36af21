//! The generated code is checked in; this test makes it again and fails on a difference.
//!
//! `UPDATE_GENERATED=1 cargo test -p spindrift-protocol --test generated_code` writes it.

use std::{fs, path::Path};

use prost::Message;

#[test]
fn generated_code_is_what_the_proto_files_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = tempfile::tempdir().unwrap();

    let descriptors =
        protox::compile(["spindrift/v1/hub.proto"], [root.join("proto")]).expect("the proto files compile");
    // The reflection service serves it to clients such as grpcurl.
    fs::write(scratch.path().join("spindrift.v1.bin"), descriptors.encode_to_vec()).unwrap();
    tonic_prost_build::configure()
        .bytes(".")
        .codec_path("crate::codec::BoundedCodec")
        .out_dir(scratch.path())
        .compile_fds(descriptors)
        .expect("code generation");

    for file in ["spindrift.v1.rs", "spindrift.v1.bin"] {
        let made = fs::read(scratch.path().join(file)).unwrap();
        let target = root.join("src/gen").join(file);
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&target, &made).unwrap();
        }
        assert!(
            made == fs::read(&target).unwrap_or_default(),
            "{} differs from what the proto files give; run UPDATE_GENERATED=1 cargo test -p spindrift-protocol --test generated_code",
            target.display()
        );
    }
}
