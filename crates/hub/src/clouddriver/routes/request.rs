//! Path and query, parsed as Clouddriver's framework (Spring) does: lists by comma or repetition, its words for true and
//! false, and its error format.

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use serde::de::DeserializeOwned;
use spindrift_spinnaker::Problem;

use super::error::Error;

/// Path parameters, each decoded on its own: a name may hold an encoded slash or blank.
pub(super) struct Segments<T>(pub(super) T);

/// Query parameters.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    path: String,
    pairs: Vec<(String, String)>,
}

// === impl Segments ===

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        if parts.uri.path().contains("%00") {
            return Err(null_character(parts));
        }
        match Path::from_request_parts(parts, state).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(rejection) => Err(Problem::new(400, rejection.body_text(), parts.uri.path()).into()),
        }
    }
}

/// 400 for a null character: no object has one in its name, and PostgreSQL rejects it in a query.
fn null_character(parts: &Parts) -> Error {
    Problem::new(400, "A name has no null character in it.", parts.uri.path()).into()
}

// === impl Parameters ===

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        if parts.uri.query().is_some_and(|query| query.contains("%00")) {
            return Err(null_character(parts));
        }
        // The framework ignores a query that cannot be decoded.
        let pairs = Query::try_from_uri(&parts.uri).map(|Query(pairs)| pairs).unwrap_or_default();
        Ok(Self { path: parts.uri.path().to_owned(), pairs })
    }
}

impl Parameters {
    /// Path of the request, not decoded.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// First value of this name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// First value of this name, unless it is empty.
    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// All values of this name, each a list by comma; none if the parameter is absent.
    pub(super) fn list(&self, name: &str) -> Option<Vec<&str>> {
        self.text(name)?;
        let words = self.values(name).flat_map(|value| value.split(',')).map(str::trim);
        Some(words.filter(|word| !word.is_empty()).collect())
    }

    /// The same, for a required parameter.
    pub(super) fn required_list(&self, name: &str) -> Result<Vec<&str>, Error> {
        self.list(name).ok_or_else(|| Problem::missing_parameter(name, &self.path).into())
    }

    /// First value of a required parameter.
    pub(super) fn required(&self, name: &str) -> Result<&str, Error> {
        self.text(name).ok_or_else(|| Problem::missing_parameter(name, &self.path).into())
    }

    /// Boolean parameter.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, Error> {
        let Some(word) = self.word(name) else { return Ok(default) };
        match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => Err(self.mismatch(name, word)),
        }
    }

    /// Whether the value is `true`, for the few parameters that the framework does not parse.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Integer parameter.
    pub(super) fn number(&self, name: &str, default: i32) -> Result<i32, Error> {
        let Some(word) = self.word(name) else { return Ok(default) };
        word.parse().map_err(|_| self.mismatch(name, word))
    }

    fn mismatch(&self, name: &str, value: &str) -> Error {
        Problem::mismatch(name, value, &self.path).into()
    }

    fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    async fn parameters(uri: &str) -> Parameters {
        let (mut parts, ()) = Request::builder().uri(uri).body(()).unwrap().into_parts();
        Parameters::from_request_parts(&mut parts, &()).await.unwrap()
    }

    #[tokio::test]
    async fn lists_are_split_by_comma_and_repeated() {
        let query = parameters("/search?type=serverGroups,instances&type=pod&q=a%2Cb&none=").await;
        assert_eq!(query.list("type").unwrap(), ["serverGroups", "instances", "pod"]);
        assert_eq!(query.list("none"), Some(Vec::new()));
        assert_eq!((query.list("other"), query.text("q")), (None, Some("a,b")));
        assert!(query.required_list("other").is_err());
    }

    #[tokio::test]
    async fn a_null_character_is_refused() {
        let (mut parts, ()) = Request::builder().uri("/search?q=%00").body(()).unwrap().into_parts();
        let refused = Parameters::from_request_parts(&mut parts, &()).await;
        assert!(matches!(refused, Err(Error::Problem(problem)) if problem.status == 400));
    }

    #[tokio::test]
    async fn flags_and_numbers_are_parsed_as_by_the_framework() {
        let query = parameters("/x?a=TRUE&b=off&c=&d=maybe&n=5&m=-1&big=2147483648").await;
        assert!(query.flag("a", false).unwrap() && !query.flag("b", true).unwrap());
        assert!(query.flag("c", true).unwrap() && !query.flag("none", false).unwrap());
        assert!(query.is_true("a") && !query.is_true("d") && !query.is_true("n") && !query.is_true("none"));
        let numbers = ["n", "m", "none"].map(|name| query.number(name, 7).unwrap());
        assert_eq!(numbers, [5, -1, 7]);
        for unreadable in [query.flag("d", true).map(|_| 0), query.number("big", 1), query.number("a", 1)] {
            assert!(matches!(unreadable, Err(Error::Problem(problem)) if problem.status == 400));
        }
    }
}
