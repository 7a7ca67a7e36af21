-- One text for three databases; `Dialect::render_migration` replaces the words in braces and keeps the lines that begin
-- with the names of databases in brackets for these alone.
--
-- Text is compared and ordered by bytes, as Rust compares it. PostgreSQL needs {bytewise} for that. MariaDB and MySQL need
-- the collation in {options}, which includes trailing spaces (the names of roles may end in them); they name it
-- differently, and older versions (before 10.2 and 8.0.17) have none. InnoDB's keys end at 3072 bytes, hence {ascii} where
-- Kubernetes guarantees it.
--
-- MySQL commits DDL at once, so every statement there can be repeated after a failure half-way: its indexes are part of
-- the table. `body` is last, so that SQLite does not read its overflow pages for the columns before it.

{create table} spindrift_account (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    name VARCHAR(128) {bytewise} NOT NULL,
    host TEXT NOT NULL,
    cluster_uid TEXT NOT NULL,
    ca_fingerprint TEXT NOT NULL,
    kubernetes_version TEXT NOT NULL,
    namespaces {text} NOT NULL,
    properties {text} NOT NULL,
    max_resumable_age BIGINT NOT NULL,
    agent_id VARCHAR(128) {bytewise} NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    problem TEXT NOT NULL,
    problem_agent VARCHAR(128) {bytewise} NOT NULL,
    problem_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
) {options};

{create table} spindrift_cursor (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    feed_floor BIGINT NOT NULL,
    holder_agent VARCHAR(128) {bytewise} NOT NULL,
    holder_session VARCHAR(128) {bytewise} NOT NULL,
    holder_hub VARCHAR(128) {bytewise} NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (tenant, account)
) {options};

{create table} spindrift_scope (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    api_group VARCHAR(253) {bytewise} {ascii} NOT NULL,
    kind VARCHAR(128) {bytewise} {ascii} NOT NULL,
    scope_namespace VARCHAR(63) {bytewise} {ascii} NOT NULL,
    plural VARCHAR(253) NOT NULL,
    namespaced BIGINT NOT NULL,
    api_version VARCHAR(253) NOT NULL,
    scrub_revision BIGINT NOT NULL,
    resource_version VARCHAR(255) NOT NULL,
    reached_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, scope_namespace)
) {options};

{create table} spindrift_object (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    api_group VARCHAR(253) {bytewise} {ascii} NOT NULL,
    kind VARCHAR(128) {bytewise} {ascii} NOT NULL,
    namespace VARCHAR(63) {bytewise} {ascii} NOT NULL,
    name VARCHAR(253) {bytewise} NOT NULL,
    scope_namespace VARCHAR(63) {bytewise} {ascii} NOT NULL,
    uid VARCHAR(255) {bytewise} NOT NULL,
    resource_version VARCHAR(255) {bytewise} NOT NULL,
    api_version VARCHAR(253) {bytewise} NOT NULL,
    scrub_revision BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    labels {text} NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, namespace, name)
-- InnoDB adds the primary key to an index: the order of a feed.
[mysql]    , KEY spindrift_object_feed (tenant, account, seq)
[mysql]    , KEY spindrift_object_tombstone (deleted_at)
) {options};

-- With all columns of the order of a feed: one batch may contain all objects of a kind, and is read in pages.
[sqlite postgres] CREATE INDEX spindrift_object_feed ON spindrift_object (tenant, account, seq, api_group, kind, namespace, name);
[sqlite postgres] CREATE INDEX spindrift_object_tombstone ON spindrift_object (deleted_at) WHERE deleted_at > 0;

{create table} spindrift_session (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    id VARCHAR(128) {bytewise} NOT NULL,
    agent_id VARCHAR(128) {bytewise} NOT NULL,
    incarnation VARCHAR(36) {bytewise} NOT NULL,
    hub_id VARCHAR(128) {bytewise} NOT NULL,
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
-- A channel is opened by the id of its session, before its tenant is known.
[mysql]    , UNIQUE KEY spindrift_session_id (id)
[mysql]    , KEY spindrift_session_agent (tenant, agent_id)
) {options};

[sqlite postgres] CREATE UNIQUE INDEX spindrift_session_id ON spindrift_session (id);
[sqlite postgres] CREATE INDEX spindrift_session_agent ON spindrift_session (tenant, agent_id);

{create table} spindrift_hub (
    id VARCHAR(128) {bytewise} NOT NULL,
    base_url TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (id)
) {options};
