-- DDL commits at once here, so every statement can be repeated after a failure half-way.
--
-- Text is compared by bytes, trailing spaces included (the names of roles may end in them); MariaDB and MySQL call that
-- collation differently, and older ones (before 10.2 and 8.0.17) have none. InnoDB's keys end at 3072 bytes, hence
-- ascii where Kubernetes guarantees it.

CREATE TABLE IF NOT EXISTS spindrift_account (
    tenant VARCHAR(128) NOT NULL,
    name VARCHAR(128) NOT NULL,
    host TEXT NOT NULL,
    cluster_uid TEXT NOT NULL,
    ca_fingerprint TEXT NOT NULL,
    kubernetes_version TEXT NOT NULL,
    namespaces LONGTEXT NOT NULL,
    properties LONGTEXT NOT NULL,
    max_resumable_age BIGINT NOT NULL,
    agent_id VARCHAR(128) NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    problem TEXT NOT NULL,
    problem_agent VARCHAR(128) NOT NULL,
    problem_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

CREATE TABLE IF NOT EXISTS spindrift_cursor (
    tenant VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    feed_floor BIGINT NOT NULL,
    holder_agent VARCHAR(128) NOT NULL,
    holder_session VARCHAR(128) NOT NULL,
    holder_hub VARCHAR(128) NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (tenant, account)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

CREATE TABLE IF NOT EXISTS spindrift_scope (
    tenant VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    api_group VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    scope_namespace VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    plural VARCHAR(253) NOT NULL,
    namespaced BIGINT NOT NULL,
    api_version VARCHAR(253) NOT NULL,
    scrub_revision BIGINT NOT NULL,
    resource_version VARCHAR(255) NOT NULL,
    reached_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, scope_namespace)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

CREATE TABLE IF NOT EXISTS spindrift_object (
    tenant VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    api_group VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    namespace VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name VARCHAR(253) NOT NULL,
    scope_namespace VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    uid VARCHAR(255) NOT NULL,
    resource_version VARCHAR(255) NOT NULL,
    api_version VARCHAR(253) NOT NULL,
    scrub_revision BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    labels LONGTEXT NOT NULL,
    body LONGBLOB NOT NULL,
    PRIMARY KEY (tenant, account, api_group, kind, namespace, name),
    -- InnoDB adds the primary key: the order of a feed.
    KEY spindrift_object_feed (tenant, account, seq),
    KEY spindrift_object_tombstone (deleted_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

CREATE TABLE IF NOT EXISTS spindrift_session (
    tenant VARCHAR(128) NOT NULL,
    id VARCHAR(128) NOT NULL,
    agent_id VARCHAR(128) NOT NULL,
    incarnation VARCHAR(36) NOT NULL,
    hub_id VARCHAR(128) NOT NULL,
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
    PRIMARY KEY (tenant, id),
    -- A channel is opened in the name of a session before its tenant is known.
    UNIQUE KEY spindrift_session_id (id),
    KEY spindrift_session_agent (tenant, agent_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

CREATE TABLE IF NOT EXISTS spindrift_hub (
    id VARCHAR(128) NOT NULL,
    base_url TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;
