//! Requests that web pages send from a user's browser.

use reqwest::{Client, Method};

use crate::{bystander::ACCOUNT, target::Target};

/// Sends changes and reads as a page of another site would; none is accepted.
pub(crate) async fn sites(target: &mut Target) {
    let hub = target.hub.url();
    let operations = format!("/v1/accounts/{ACCOUNT}/operations");
    let verb = r#"{"verb":"delete","kind":"ConfigMap","namespace":"default","labelSelector":"app"}"#;
    let json = ("content-type", "application/json");
    let headers: [(&[(&str, &str)], u16); 9] = [
        (&[("content-type", "text/plain")], 415),
        (&[("content-type", "application/x-www-form-urlencoded")], 415),
        (&[("content-type", "multipart/form-data; boundary=x")], 415),
        (&[], 415),
        (&[json, ("origin", "http://evil.test")], 403),
        (&[json, ("origin", "null")], 403),
        (&[json, ("origin", "http://localhost.evil.test:7002")], 403),
        (&[json, ("host", "evil.test:7002")], 403),
        (&[json, ("host", "127.0.0.1.evil.test")], 403),
    ];
    for (method, path, body) in [
        (Method::POST, operations.as_str(), verb),
        (Method::POST, "/kubernetes/ops", "[]"),
        (Method::PUT, "/v1/accounts/x/freeze", r#"{"reason":"x"}"#),
    ] {
        for (headers, expected) in headers {
            let request = Client::new().request(method.clone(), format!("{hub}{path}")).body(body);
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            target.check(format!("{method} {path} {headers:?}"), status == expected, status);
        }
    }
    for path in ["/v1/objects", "/v1/objects/watch", "/credentials", "/openapi.json", "/metrics", "/nothing"]
    {
        for header in [("origin", "http://evil.test"), ("host", "evil.test")] {
            let answer =
                Client::new().get(format!("{hub}{path}")).header(header.0, header.1).send().await.unwrap();
            let status = answer.status().as_u16();
            target.check(format!("GET {path} {header:?}"), status == 403, status);
        }
    }
}
