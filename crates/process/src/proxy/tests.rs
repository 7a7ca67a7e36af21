use super::*;

fn proxies(variables: &[(&str, &str)]) -> Proxies {
    Proxies::of(&variables.iter().copied().collect())
}

fn is_direct(no_proxy: &str, host: &str, port: u16) -> bool {
    let proxies = proxies(&[("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", no_proxy)]);
    proxies.to(host, port, Speaks::Https).unwrap().is_none()
}

#[test]
fn each_scheme_has_its_own_variable_in_two_spellings() {
    let of = |variables: &[(&str, &str)], speaks| {
        proxies(variables).to("api.example", 443, speaks).unwrap().map(|proxy| proxy.to_string())
    };
    let both = [("http_proxy", "plain:1"), ("HTTPS_PROXY", "http://secure:2/"), ("https_proxy", "other:3")];
    assert_eq!(of(&both, Speaks::Http).as_deref(), Some("http://plain:1"));
    assert_eq!(of(&both, Speaks::Https).as_deref(), Some("http://secure:2"));
    assert_eq!(of(&[("HTTP_PROXY", "plain:1")], Speaks::Https), None);
    assert_eq!(of(&[("HTTPS_PROXY", "")], Speaks::Https), None);
}

#[test]
fn exceptions_are_understood_as_go_does() {
    for (no_proxy, host, port, direct) in [
        ("example.com", "example.com", 443, true),
        ("example.com", "api.example.com", 443, true),
        ("example.com", "notexample.com", 443, false),
        (".example.com", "api.example.com", 443, true),
        (".example.com", "example.com", 443, false),
        ("*.example.com", "api.example.com", 443, true),
        ("EXAMPLE.com", "Api.Example.COM.", 443, true),
        ("example.com:6443", "example.com", 6443, true),
        ("example.com:6443", "example.com", 443, false),
        ("10.1.2.3", "10.1.2.3", 443, true),
        ("10.1.2.3:6443", "10.1.2.3", 443, false),
        ("10.0.0.0/8", "10.200.0.1", 443, true),
        ("10.0.0.0/8", "11.0.0.1", 443, false),
        ("0.0.0.0/0", "11.0.0.1", 443, true),
        ("fd00::/8", "[fd12::1]", 443, true),
        ("fd00::/8", "10.0.0.1", 443, false),
        ("[fd12::1]:6443", "fd12::1", 6443, true),
        ("a, ,b , *", "anything", 1, true),
        ("10.0.0.0/99,x:y,.,", "10.0.0.1", 443, false),
        // This machine is always reached directly.
        ("", "localhost", 443, true),
        ("", "127.1.2.3", 443, true),
        ("", "[::1]", 443, true),
    ] {
        assert_eq!(is_direct(no_proxy, host, port), direct, "NO_PROXY={no_proxy} {host}:{port}");
    }
}

#[test]
fn addresses_are_read_and_never_quoted() {
    let proxy = Proxy::parse("proxy-url", "http://eve:hu%40sh@proxy.example").unwrap();
    assert_eq!((proxy.to_string(), format!("{proxy:?}")), {
        let shown = "http://proxy.example:80".to_owned();
        (shown.clone(), shown)
    });
    assert_eq!(proxy.authorization.as_deref(), Some("Basic ZXZlOmh1QHNo"));
    assert_eq!(Proxy::parse("proxy-url", "[fd00::1]:3128").unwrap().to_string(), "http://[fd00::1]:3128");
    for (url, reason) in [
        ("socks5://eve:hush@proxy:1080", "SOCKS"),
        ("https://eve:hush@proxy:443", "TLS"),
        ("ftp://eve:hush@proxy", "not a proxy of HTTP"),
        ("http://eve:hush@proxy:hush", "port"),
        ("http://eve:hush@", "no host"),
    ] {
        let error = Proxy::parse("HTTPS_PROXY", url).unwrap_err().to_string();
        assert!(error.starts_with("HTTPS_PROXY: ") && error.contains(reason), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn a_wrong_address_harms_only_those_who_would_use_it() {
    let proxies = proxies(&[("HTTPS_PROXY", "socks5://proxy"), ("NO_PROXY", "near.example")]);
    assert!(proxies.to("near.example", 443, Speaks::Https).unwrap().is_none());
    assert!(proxies.to("far.example", 80, Speaks::Http).unwrap().is_none());
    assert!(proxies.to("far.example", 443, Speaks::Https).is_err());
}
