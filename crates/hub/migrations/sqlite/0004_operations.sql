-- What agents are asked to do, and what came of it. `driver` is the hub that carries it on; `ended_at` is 0 until it ends.
-- `body` (what is asked) and `bytes` (what is answered) are encrypted; the body is erased when the operation ends.
CREATE TABLE spindrift_operation (
    tenant VARCHAR(128) NOT NULL,
    id VARCHAR(26) NOT NULL,
    account VARCHAR(128) NOT NULL,
    verb VARCHAR(32) NOT NULL,
    target VARCHAR(512) NOT NULL,
    mutation BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    claim VARCHAR(36) NOT NULL,
    state VARCHAR(16) NOT NULL,
    driver VARCHAR(128) NOT NULL,
    cancelling BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    received_by VARCHAR(128) NOT NULL,
    sent_at BIGINT NOT NULL,
    sent_by VARCHAR(128) NOT NULL,
    agent_id VARCHAR(128) NOT NULL,
    incarnation VARCHAR(36) NOT NULL,
    answered_at BIGINT NOT NULL,
    answered_to VARCHAR(128) NOT NULL,
    ended_at BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    code BIGINT NOT NULL,
    content BIGINT NOT NULL,
    answer_bytes BIGINT NOT NULL,
    reason TEXT NOT NULL,
    key_id VARCHAR(16) NOT NULL,
    status BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX spindrift_operation_open ON spindrift_operation (driver) WHERE ended_at = 0;
CREATE INDEX spindrift_operation_age ON spindrift_operation (tenant, created_at);

-- The answers of operations whose caller does not wait, or waits at another hub; kept for a while.
CREATE TABLE spindrift_operation_part (
    tenant VARCHAR(128) NOT NULL,
    operation VARCHAR(26) NOT NULL,
    part_offset BIGINT NOT NULL,
    stored_at BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (tenant, operation, part_offset)
);

CREATE INDEX spindrift_operation_part_age ON spindrift_operation_part (stored_at);

-- Accounts in which nothing may be changed.
CREATE TABLE spindrift_freeze (
    tenant VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    reason TEXT NOT NULL,
    frozen_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, account)
);

-- What the agent can be asked to do, and the hub that its Control channel ends in.
ALTER TABLE spindrift_session ADD COLUMN verbs VARCHAR(1024) NOT NULL DEFAULT '';
ALTER TABLE spindrift_session ADD COLUMN control_hub VARCHAR(128) NOT NULL DEFAULT '';
