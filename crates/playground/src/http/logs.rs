//! Container logs.

use futures::StreamExt as _;
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::admission::container_names;
use crate::catalogue::Resource;
use crate::cluster::{Body, BodyError, ContainerRun, LogLine};
use crate::object::{list, text};
use crate::status::{Cause, Status};

/// Options of a log request.
struct LogOptions {
    tail: Option<usize>,
    since: Option<Timestamp>,
    timestamps: bool,
    limit: Option<usize>,
}

pub(crate) fn log(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let pod = call.cluster.object(&target.resource, &target.namespace, &target.name)?;
    let container = container(call, target, &pod)?;
    let run = if call.query.flag("previous") == Some(true) {
        ContainerRun::Previous
    } else {
        ContainerRun::Current
    };
    let wanted = LogOptions::parse(call, target)?;
    if text(&pod, "/spec/nodeName").is_empty() {
        return Ok(respond::empty());
    }
    check_started(target, &pod, &container, run)?;
    let source = call.cluster.logs();
    let lines = source.as_ref().map(|source| source.lines(&pod, &container, run)).unwrap_or_default();
    let text = wanted.write(&lines);
    let follows = call.query.flag("follow") == Some(true) && run == ContainerRun::Current;
    let body = match source {
        Some(source) if follows => {
            let first = futures::stream::iter([text]);
            let more = source.follow(&pod, &container);
            let rest = more.map(move |line| wanted.line(&line));
            let frames = first.chain(rest).map(|text| Ok::<_, BodyError>(Frame::data(text.into())));
            StreamBody::new(frames).boxed_unsync()
        }
        _ => respond::full(text),
    };
    Ok(respond::stream(HeaderValue::from_static("text/plain"), body))
}

/// Returns the requested container, or the only one.
fn container(call: &ApiRequest, target: &RequestTarget, pod: &Value) -> Result<String, Status> {
    let parts = ["containers", "initContainers", "ephemeralContainers"];
    let all: Vec<String> = parts.iter().flat_map(|part| container_names(pod, part)).collect();
    let name = &target.name;
    if let Some(container) = call.query.get("container") {
        if all.iter().any(|known| known == container) {
            return Ok(container.to_owned());
        }
        return Err(Status::bad_request(format!("container {container} is not valid for pod {name}")));
    }
    let containers = container_names(pod, "containers");
    match (containers.as_slice(), all.len()) {
        ([only], 1) => Ok(only.clone()),
        ([], _) => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        _ => {
            let inits = container_names(pod, "initContainers");
            let choice = containers.join(" ");
            let more = match inits.join(" ") {
                inits if inits.is_empty() => String::new(),
                inits => format!(" or one of the init containers: [{inits}]"),
            };
            Err(Status::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{choice}]{more}"
            )))
        }
    }
}

fn check_started(
    target: &RequestTarget,
    pod: &Value,
    container: &str,
    run: ContainerRun,
) -> Result<(), Status> {
    let name = &target.name;
    let parts = ["containerStatuses", "initContainerStatuses"];
    let status = parts
        .iter()
        .flat_map(|part| list(pod, &format!("/status/{part}")))
        .find(|status| text(status, "/name") == container);
    let Some(status) = status else { return Ok(()) };
    let reason = text(status, "/state/waiting/reason");
    if run == ContainerRun::Previous && status.pointer("/lastState/terminated").is_none() {
        return Err(Status::bad_request(format!(
            "previous terminated container {container:?} in pod {name:?} not found"
        )));
    }
    if run == ContainerRun::Current
        && status.pointer("/state/waiting").is_some()
        && status.pointer("/lastState/terminated").is_none()
    {
        let state = if reason.is_empty() { "ContainerCreating" } else { reason };
        return Err(Status::bad_request(format!(
            "container {container:?} in pod {name:?} is waiting to start: {state}"
        )));
    }
    Ok(())
}

// === impl LogOptions ===

impl LogOptions {
    fn parse(call: &ApiRequest, target: &RequestTarget) -> Result<Self, Status> {
        let mut causes = Vec::new();
        let number = |field: &str| call.query.number::<i64>(field);
        if let Some(tail) = number("tailLines")?.filter(|&tail| tail < 0) {
            causes.push(Cause::invalid("tailLines", &tail.into(), "must be greater than or equal to 0"));
        }
        for field in ["limitBytes", "sinceSeconds"] {
            if let Some(size) = number(field)?.filter(|&size| size < 1) {
                causes.push(Cause::invalid(field, &size.into(), "must be greater than 0"));
            }
        }
        if call.query.get("sinceSeconds").is_some() && call.query.get("sinceTime").is_some() {
            let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            causes.push(Cause::forbidden("sinceSeconds", why));
        }
        if !causes.is_empty() {
            let options = Resource { kind: "PodLogOptions".into(), ..(*target.resource).clone() };
            return Err(Status::invalid(&options, &target.name, &causes));
        }
        let since = match (call.query.number::<i64>("sinceSeconds")?, call.query.get("sinceTime")) {
            (Some(seconds), _) => {
                Some(Timestamp::now() - SignedDuration::from_secs(seconds.clamp(0, i64::from(u32::MAX))))
            }
            (None, Some(time)) => Some(time.parse().map_err(|_| {
                Status::bad_request(format!("unable to decode sinceTime: parsing time {time:?}"))
            })?),
            (None, None) => None,
        };
        let size = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
        Ok(Self {
            tail: size(call.query.number("tailLines")?),
            since,
            timestamps: call.query.flag("timestamps") == Some(true),
            limit: size(call.query.number("limitBytes")?),
        })
    }

    fn write(&self, lines: &[LogLine]) -> String {
        let kept: Vec<&LogLine> =
            lines.iter().filter(|line| self.since.is_none_or(|since| line.time >= since)).collect();
        let skipped = self.tail.map_or(0, |tail| kept.len().saturating_sub(tail));
        let mut text: String = kept.into_iter().skip(skipped).map(|line| self.line(line)).collect();
        if let Some(limit) = self.limit
            && text.len() > limit
        {
            let end = (0..=limit).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.truncate(end);
        }
        text
    }

    fn line(&self, line: &LogLine) -> String {
        if self.timestamps {
            format!("{} {}\n", line.time.strftime("%Y-%m-%dT%H:%M:%S.%9fZ"), line.text)
        } else {
            format!("{}\n", line.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<LogLine> {
        (0..5)
            .map(|second| LogLine {
                time: Timestamp::from_second(second).unwrap(),
                text: format!("line {second}"),
            })
            .collect()
    }

    #[test]
    fn tail_since_and_limit_cut_the_log() {
        let wanted = |tail, since, limit| LogOptions { tail, since, timestamps: false, limit };
        assert_eq!(wanted(Some(2), None, None).write(&lines()), "line 3\nline 4\n");
        assert_eq!(wanted(Some(0), None, None).write(&lines()), "");
        assert_eq!(wanted(None, Timestamp::from_second(4).ok(), None).write(&lines()), "line 4\n");
        assert_eq!(wanted(None, None, Some(8)).write(&lines()), "line 0\nl");
    }

    #[test]
    fn timestamps_have_nine_digits() {
        let wanted = LogOptions { tail: Some(1), since: None, timestamps: true, limit: None };
        assert_eq!(wanted.write(&lines()), "1970-01-01T00:00:04.000000000Z line 4\n");
    }
}
