//! Reading one object.

use http::Response;

use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::cluster::Body;
use crate::status::Status;

pub(crate) fn get(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    if let Some(text) = call.query.get("resourceVersion") {
        let asked = super::list::parse_version(text)?;
        let current = call.cluster.collection(&target.resource).revision();
        if asked > current {
            return Err(Status::too_large(asked, current));
        }
    }
    let object = call.cluster.object(&target.resource, &target.namespace, &target.name)?;
    respond::object(call, &target.resource, 200, &object)
}
