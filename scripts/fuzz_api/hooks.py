"""Adds real names to the requests that schemathesis generates from the hub's description, and judges the answers.

A request generated from a description alone finds no account and names no operation: it is refused at once. So most
parameters become names that the hub really has, and most bodies operations and verbs with real fields.
"""

import atexit
import json
import os
import time
from urllib.request import Request, urlopen

import schemathesis
from hypothesis import strategies as st

HUB = os.environ["FUZZ_HUB"]
TALLY = os.environ["FUZZ_TALLY"]

# Answers above 499 that are meant, by operation. All others are faults.
ON_PURPOSE = {
    # Clouddriver's answer for tasks that have ended, or cannot be retried (docs/compatibility.md).
    ("POST", "/task/{id}"): {500},
    ("PATCH", "/{cloudProvider}/task/{id}"): {500},
    ("POST", "/{cloudProvider}/task/{id}/restart"): {500},
    # A caller may set a deadline that cannot be met; the outcome of a running operation is then unknown.
    ("POST", "/v1/accounts/{account}/operations"): {502, 504},
}

cases = 0
faults = 0


def ask(path, body=None):
    """Returns an answer of the hub."""
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(HUB + path, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


# === names of the hub ===


def accounts():
    """Returns the names of the accounts, once all of their objects are in the store."""
    while True:
        found = ask("/v1/accounts")
        if found and all(account["watches"] > 0 and account["listing"] == 0 for account in found):
            return [account["name"] for account in found]
        time.sleep(0.2)


ACCOUNTS = accounts()
APPLICATIONS = [application["name"] for application in ask("/applications")][:3]
OPERATIONS = [stage["name"] for stage in ask("/features/stages")]
TASKS = [ask("/kubernetes/ops", [])["id"] for _ in range(3)]
DISCOVERIES = [ask(f"/v1/accounts/{ACCOUNTS[0]}/operations?async=true", {"verb": "discover"})["id"] for _ in range(3)]
NAMESPACES = ["shop", "payments", "nowhere", "_"]
KINDS = ["deployment", "replicaSet", "pod", "service", "configMap", "node", "crd", "nonsense"]


def objects():
    """Returns one object of each kind, as Spinnaker names it."""
    path = f"/v1/objects?account={ACCOUNTS[0]}&namespace=shop&kind=deploy,rs,po,svc,job,cm,netpol"
    found = {item["kind"]: item["name"] for item in ask(path)["items"]}
    return [f"{kind[0].lower()}{kind[1:]} {name}" for kind, name in found.items()]


OBJECTS = objects()

# Values for parameters and fields of these names.
NAMES = {
    ("account", "accountName", "credentials"): ACCOUNTS,
    ("app", "application", "applications"): APPLICATIONS,
    ("cloudProvider", "provider", "platform"): ["kubernetes"],
    ("cluster", "clusters", "name", "manifestName", "serverGroupName"): OBJECTS,
    ("id",): TASKS + OBJECTS,
    ("location", "namespace", "region", "scope", "namespaceOverride"): NAMESPACES,
    ("kind",): KINDS,
    ("type",): ["kubernetes", *KINDS, "serverGroups", "applications", "embedded/base64"],
    ("podName",): [name.split()[1] for name in OBJECTS],
    ("criteria",): ["newest", "oldest", "largest", "smallest", "second_newest"],
    ("labelSelector",): ["app=cart", "app in (a,b)", "!x"],
    ("fieldSelector",): ["status.phase=Running", "spec.nodeName!=a"],
    ("deadline", "wait"): ["1ms", "1s"],
    ("page", "pageSize", "items", "limit"): [0, 1, 1000, 4294967295],
}
KNOWN = {name: values for names, values in NAMES.items() for name in names}

# The same for paths where a name has another meaning.
ELSEWHERE = {
    ("/ops/{name}", "name"): OPERATIONS,
    ("/{cloudProvider}/ops/{name}", "name"): OPERATIONS,
    ("/task/{id}", "id"): TASKS + [f"{task}:resume" for task in TASKS],
    ("/v1/operations/{id}", "id"): DISCOVERIES,
    ("/v1/operations/{id}/result", "id"): DISCOVERIES,
    ("/armory/agent/operations/{opId}", "opId"): DISCOVERIES,
    # The first account is never frozen, so that something goes on in it.
    ("/v1/accounts/{account}/freeze", "account"): ACCOUNTS[1:],
}

# === requests ===

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


def mostly(known, other=ANYTHING):
    """Mostly one of these; now and then anything else."""
    return st.integers(0, 4).flatmap(lambda number: other if number == 0 else st.sampled_from(known))


def some(**fields):
    """An object with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


MANIFEST = st.fixed_dictionaries(
    {
        "apiVersion": mostly(["v1", "apps/v1", "batch/v1"]),
        "kind": mostly(["ConfigMap", "Deployment", "ReplicaSet", "Secret", "Job", "Namespace"]),
        "metadata": some(
            name=mostly(["fuzzed", "fuzzed-v001"]),
            generateName=mostly(["fuzzed-"]),
            namespace=mostly(["shop", "payments"]),
            labels=st.dictionaries(st.text(max_size=10), ANYTHING, max_size=2),
            annotations=st.dictionaries(
                st.sampled_from(["strategy.spinnaker.io/versioned", "traffic.spinnaker.io/load-balancers", "x"]),
                mostly(["true", "false", '["service cart"]', "["]),
                max_size=2,
            ),
        ),
    },
    optional={"spec": ANYTHING, "data": st.dictionaries(st.text(max_size=10), ANYTHING, max_size=2)},
)
TARGET = st.fixed_dictionaries(
    {"kind": mostly(["deploy", "Pod", "configmaps", "x.y"]), "name": mostly(KNOWN["podName"])},
    optional={"apiVersion": mostly(["v1", "apps/v1"]), "namespace": mostly(["shop"])},
)
COMMON = {name: mostly(KNOWN[name]) for name in ["location", "namespace", "region", "manifestName", "serverGroupName"]}
DESCRIPTION = some(
    **COMMON,
    cloudProvider=mostly(["kubernetes"]),
    application=mostly(APPLICATIONS),
    namespaceOverride=mostly(NAMESPACES),
    manifest=MANIFEST | ANYTHING,
    manifests=st.lists(MANIFEST, max_size=2) | ANYTHING,
    patchBody=MANIFEST | ANYTHING,
    kinds=mostly([["deployment", "configMap"]]),
    replicas=mostly([0, 1, 2]),
    capacity=mostly([{"desired": 1}]),
    revision=mostly([0, 1]),
    numRevisionsBack=mostly([1, -1]),
    options=mostly([{"mergeStrategy": "merge", "record": True}, {"cascading": False}]),
    strategy=mostly(["RED_BLACK", "HIGHLANDER", "NONE"]),
    services=mostly([["service cart"]]),
    enableTraffic=mostly([True]),
    moniker=mostly([{"app": "cart"}]),
    labelSelectors=mostly([{"selectors": [{"kind": "EXISTS", "key": "app"}]}]),
    requiredArtifacts=mostly([[{"type": "docker/image", "name": "a", "reference": "a:1"}]]),
).flatmap(lambda description: mostly(ACCOUNTS).map(lambda account: description | {"account": account}))
OPERATION = mostly(OPERATIONS, st.text(max_size=10)).flatmap(
    lambda name: DESCRIPTION.map(lambda description: {name: description})
)


def verb(*, required, **fields):
    """The fields of a verb."""
    return st.fixed_dictionaries(required, optional=fields)


KIND = {"kind": mostly(["pods", "deploy", "nodes"])}
VERBS = {
    name: verb(required={"manifest": MANIFEST}, namespace=mostly(["shop"]), fieldManager=mostly(["fuzz"]))
    for name in ["apply", "create", "replace", "diff"]
} | {
    "patch": verb(required={"target": TARGET, "patch": ANYTHING}, type=mostly(["merge", "json", "strategic"])),
    "delete": verb(required=KIND | {"name": mostly(KNOWN["podName"])}, namespace=mostly(["shop"])),
    "scale": verb(required={"target": TARGET, "replicas": mostly([0, 1])}),
    "rollout": verb(required={"target": TARGET, "action": mostly(["restart", "pause", "resume", "undo", "history"])}),
    "get": verb(required={"target": TARGET}),
    "matches": verb(required={"target": TARGET, "manifest": MANIFEST}),
    "logs": verb(required={"target": TARGET}, container=mostly(["app"]), tailLines=mostly([0, 1])),
    "list": verb(required=KIND, namespace=mostly(["shop"]), labelSelector=mostly(["app=cart"])),
    "top": verb(required=KIND, namespace=mostly(["shop"]), name=mostly(KNOWN["podName"])),
    "discover": st.just({}),
}
VERB = st.sampled_from(list(VERBS)).flatmap(lambda name: VERBS[name].map(lambda fields: fields | {"verb": name}))
ARTIFACT = some(
    type=mostly(["embedded/base64", "http/file", "helm/chart"], st.text()),
    artifactAccount=mostly(["embedded-artifact", "no-auth-http-account"], st.text()),
    reference=mostly(["aGVsbG8=", "http://127.0.0.1:1/x", "%"]),
    name=ANYTHING,
    version=ANYTHING,
)
BODIES = {
    "/ops": st.lists(OPERATION, max_size=3),
    "/{cloudProvider}/ops": st.lists(OPERATION, max_size=3),
    "/{cloudProvider}/task/{id}/restart": st.lists(OPERATION, max_size=3),
    "/ops/{name}": DESCRIPTION,
    "/{cloudProvider}/ops/{name}": DESCRIPTION,
    "/v1/accounts/{account}/operations": VERB,
    "/artifacts/fetch": ARTIFACT,
}


def seasoned(operation, parameters):
    """The same parameters, most of them with names that there are."""

    def value(name, made_up):
        known = ELSEWHERE.get((operation.path, name)) or KNOWN.get(name)
        return mostly(known, st.just(made_up)) if known else st.just(made_up)

    return st.fixed_dictionaries({name: value(name, made_up) for name, made_up in (parameters or {}).items()})


@schemathesis.hook
def flatmap_path_parameters(context, path_parameters):
    return seasoned(context.operation, path_parameters)


@schemathesis.hook
def flatmap_query(context, query):
    return seasoned(context.operation, query)


@schemathesis.hook
def flatmap_body(context, body):
    real = BODIES.get(context.operation.path, st.just(body))
    return st.booleans().flatmap(lambda is_real: real if is_real else st.just(body))


# === what is answered ===


@schemathesis.hook
def after_call(context, case, response):
    global cases
    cases += 1


@schemathesis.check
def no_server_error(ctx, response, case):
    """Fails on every answer above 499 that is not meant."""
    global faults
    meant = ON_PURPOSE.get((case.method.upper(), case.operation.path), set())
    if response.status_code >= 500 and response.status_code not in meant:
        faults += 1
        raise AssertionError(f"{case.method} {case.formatted_path} was answered with {response.status_code}")


@atexit.register
def write_tally():
    with open(TALLY, "w", encoding="utf-8") as tally:
        tally.write(f"{cases} {faults}\n")
