use secrecy::ExposeSecret;

use super::*;

fn read(text: &str) -> Kubeconfig {
    Kubeconfig::from_yaml(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn an_empty_text_and_null_lists_are_an_empty_kubeconfig() {
    for text in ["", "kind: Config\nclusters: null\nusers:\ncontexts: []\n"] {
        let file = read(text);
        assert!(file.clusters.is_empty() && file.users.is_empty() && file.context_names().is_empty());
        assert_eq!(file.current_context(), None);
    }
}

#[test]
fn the_first_document_to_set_a_name_or_a_value_wins() {
    let file = read(
        "kind: Config
current-context: a
contexts: [{name: a, context: {cluster: first}}]
users: [{name: u, user: {token: one}}]
---
kind: Config
current-context: b
contexts: [{name: a, context: {cluster: second}}, {name: b, context: {cluster: second, user: u}}]
users: [{name: u, user: {token: two, username: other}}]
",
    );
    assert_eq!(file.context_names(), ["a", "b"]);
    assert_eq!(file.current_context(), Some("a"));
    assert_eq!(file.contexts[0].context.as_ref().unwrap().cluster, "first");
    let user = file.users[0].user.as_ref().unwrap();
    assert_eq!((user.token.as_ref().unwrap().expose_secret(), &user.username), ("one", &None));
}

#[test]
fn documents_of_different_kinds_are_refused() {
    let error = Kubeconfig::from_yaml("kind: Config\n---\nkind: Pod\n").err().unwrap();
    assert!(matches!(error, KubeconfigError::KindMismatch));
    let error = Kubeconfig::from_yaml("apiVersion: v1\n---\napiVersion: v2\n").err().unwrap();
    assert!(matches!(error, KubeconfigError::ApiVersionMismatch));
}

#[test]
fn relative_paths_start_at_the_directory_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let text = "clusters: [{name: c, cluster: {certificate-authority: ca.pem}}]
users:
- name: u
  user: {client-certificate: certs/a, client-key: /abs/key, tokenFile: token, exec: {command: bin/plugin}}
- name: v
  user: {exec: {command: aws, args: [eks], env: [{name: A, value: b}], provideClusterInfo: true}}
";
    fs::write(&path, text).unwrap();
    let file = Kubeconfig::read_from(&path).ok().unwrap();
    let here = |name: &str| Some(directory.path().join(name).to_str().unwrap().to_owned());
    let cluster = file.clusters[0].cluster.as_ref().unwrap();
    assert_eq!(cluster.certificate_authority, here("ca.pem"));
    let user = file.users[0].user.as_ref().unwrap();
    assert_eq!(user.client_certificate, here("certs/a"));
    assert_eq!(user.client_key.as_deref(), Some("/abs/key"));
    assert_eq!(user.token_file, here("token"));
    assert_eq!(user.exec.as_ref().unwrap().command, here("bin/plugin"));
    let plugin = file.users[1].user.as_ref().unwrap().exec.as_ref().unwrap();
    assert_eq!(plugin.command.as_deref(), Some("aws"), "found by PATH");
    assert!(plugin.provide_cluster_info);
}

#[test]
fn files_of_windows_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let text = "current-context: é\n";
    let utf_16 = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
    };
    for bytes in [
        text.as_bytes().to_vec(),
        format!("\u{feff}{text}").into_bytes(),
        utf_16(u16::to_le_bytes),
        utf_16(u16::to_be_bytes),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(Kubeconfig::read_from(&path).ok().unwrap().current_context(), Some("é"));
    }
    fs::write(&path, [0xC3, 0x28]).unwrap();
    assert!(matches!(Kubeconfig::read_from(&path), Err(KubeconfigError::ReadConfig(..))));
}

#[test]
fn plugins_receive_the_authority_and_their_extension() {
    let data = BASE64_STANDARD.encode("pem");
    let file = read(&format!(
        "clusters:
- name: c
  cluster:
    server: https://a
    certificate-authority-data: {data}
    certificate-authority: /no/such/file
    extensions: [{{name: other, extension: 1}}, {{name: {EXEC_EXTENSION}, extension: {{audience: x}}}}]
"
    ));
    let cluster = ExecCluster::of(file.clusters[0].cluster.as_ref().unwrap()).ok().unwrap();
    assert_eq!(cluster.certificate_authority_data.as_deref(), Some(&b"pem\n"[..]));
    assert_eq!(cluster.config, Some(serde_json::json!({"audience": "x"})));
    let missing = Cluster { certificate_authority: Some("/no/such/file".into()), ..Cluster::default() };
    let error = ExecCluster::of(&missing).err().unwrap();
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}
