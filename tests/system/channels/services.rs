//! Other services of the gRPC port: health and reflection.

use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use super::hub;

async fn dial(hub: &spindrift_testkit::HubProcess) -> Channel {
    Endpoint::from_shared(format!("http://{}", hub.grpc())).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn health_is_serving() {
    let (_database, hub) = hub().await;
    let mut health = HealthClient::new(dial(&hub).await);
    for service in ["", "spindrift.v1.Hub"] {
        let answer = health.check(HealthCheckRequest { service: service.into() }).await.unwrap();
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving, "{service}");
    }
}

#[tokio::test]
async fn reflection_lists_the_hub() {
    let (_database, hub) = hub().await;
    let mut reflection = ServerReflectionClient::new(dial(&hub).await);
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection.server_reflection_info(tokio_stream::once(ask)).await.unwrap();
    let answer = answers.into_inner().message().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(listed)) = answer.message_response else {
        panic!("a list was expected: {answer:?}");
    };
    let names: Vec<_> = listed.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&"spindrift.v1.Hub"), "{names:?}");
}
