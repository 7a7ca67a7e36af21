-- Key columns are compared and ordered by bytes (COLLATE "C"), as Rust compares them.

CREATE TABLE spindrift_account (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    name VARCHAR(128) COLLATE "C" NOT NULL,
    host TEXT NOT NULL,
    cluster_uid TEXT NOT NULL,
    ca_fingerprint TEXT NOT NULL,
    kubernetes_version TEXT NOT NULL,
    namespaces TEXT NOT NULL,
    properties TEXT NOT NULL,
    max_resumable_age BIGINT NOT NULL,
    agent_id VARCHAR(128) COLLATE "C" NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    problem TEXT NOT NULL,
    problem_agent VARCHAR(128) COLLATE "C" NOT NULL,
    problem_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE spindrift_cursor (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    account VARCHAR(128) COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    feed_floor BIGINT NOT NULL,
    holder_agent VARCHAR(128) COLLATE "C" NOT NULL,
    holder_session VARCHAR(128) COLLATE "C" NOT NULL,
    holder_hub VARCHAR(128) COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (tenant, account)
);

CREATE TABLE spindrift_scope (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    account VARCHAR(128) COLLATE "C" NOT NULL,
    api_group VARCHAR(253) COLLATE "C" NOT NULL,
    kind VARCHAR(128) COLLATE "C" NOT NULL,
    scope_namespace VARCHAR(63) COLLATE "C" NOT NULL,
    plural VARCHAR(253) NOT NULL,
    namespaced BIGINT NOT NULL,
    api_version VARCHAR(253) NOT NULL,
    scrub_revision BIGINT NOT NULL,
    resource_version VARCHAR(255) NOT NULL,
    reached_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, scope_namespace)
);

CREATE TABLE spindrift_object (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    account VARCHAR(128) COLLATE "C" NOT NULL,
    api_group VARCHAR(253) COLLATE "C" NOT NULL,
    kind VARCHAR(128) COLLATE "C" NOT NULL,
    namespace VARCHAR(63) COLLATE "C" NOT NULL,
    name VARCHAR(253) COLLATE "C" NOT NULL,
    scope_namespace VARCHAR(63) COLLATE "C" NOT NULL,
    uid VARCHAR(255) COLLATE "C" NOT NULL,
    resource_version VARCHAR(255) COLLATE "C" NOT NULL,
    api_version VARCHAR(253) COLLATE "C" NOT NULL,
    scrub_revision BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    labels TEXT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, namespace, name)
);

-- To the last column of the order of a feed: one batch may hold all objects of a kind, and is read in pages.
CREATE INDEX spindrift_object_feed ON spindrift_object (tenant, account, seq, api_group, kind, namespace, name);
CREATE INDEX spindrift_object_tombstone ON spindrift_object (deleted_at) WHERE deleted_at > 0;

CREATE TABLE spindrift_session (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    id VARCHAR(128) COLLATE "C" NOT NULL,
    agent_id VARCHAR(128) COLLATE "C" NOT NULL,
    incarnation VARCHAR(36) COLLATE "C" NOT NULL,
    hub_id VARCHAR(128) COLLATE "C" NOT NULL,
    agent_version VARCHAR(255) NOT NULL,
    zone VARCHAR(255) NOT NULL,
    control_hash VARCHAR(64) NOT NULL,
    events_hash VARCHAR(64) NOT NULL,
    results_hash VARCHAR(64) NOT NULL,
    control_used BIGINT NOT NULL,
    events_used BIGINT NOT NULL,
    results_used BIGINT NOT NULL,
    tokens_expire_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    closed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- A channel is opened in the name of a session before its tenant is known.
CREATE UNIQUE INDEX spindrift_session_id ON spindrift_session (id);
CREATE INDEX spindrift_session_agent ON spindrift_session (tenant, agent_id);

CREATE TABLE spindrift_hub (
    id VARCHAR(128) COLLATE "C" NOT NULL,
    base_url TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (id)
);
