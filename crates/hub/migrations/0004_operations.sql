-- Operations of agents and their outcomes. `driver` is the hub that delivers the operation; `ended_at` is 0 until it ends.
-- `body` (the request) and `bytes` (the result) are encrypted; the body is erased when the operation ends.
{create table} spindrift_operation (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    id VARCHAR(26) {bytewise} {ascii} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    verb VARCHAR(32) NOT NULL,
    target VARCHAR(512) NOT NULL,
    mutation BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    claim VARCHAR(36) NOT NULL,
    state VARCHAR(16) NOT NULL,
    driver VARCHAR(128) {bytewise} NOT NULL,
    cancelling BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    received_by VARCHAR(128) {bytewise} NOT NULL,
    sent_at BIGINT NOT NULL,
    sent_by VARCHAR(128) {bytewise} NOT NULL,
    agent_id VARCHAR(128) {bytewise} NOT NULL,
    incarnation VARCHAR(36) NOT NULL,
    answered_at BIGINT NOT NULL,
    answered_to VARCHAR(128) {bytewise} NOT NULL,
    ended_at BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    code BIGINT NOT NULL,
    content BIGINT NOT NULL,
    answer_bytes BIGINT NOT NULL,
    reason TEXT NOT NULL,
    key_id VARCHAR(16) NOT NULL,
    status {bytes} NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (tenant, id)
[mysql]    , KEY spindrift_operation_open (ended_at, driver)
[mysql]    , KEY spindrift_operation_age (tenant, created_at)
) {options};

[sqlite postgres] CREATE INDEX spindrift_operation_open ON spindrift_operation (driver) WHERE ended_at = 0;
[sqlite postgres] CREATE INDEX spindrift_operation_age ON spindrift_operation (tenant, created_at);

-- Results of operations whose caller does not wait, or waits at another hub; kept for a while.
{create table} spindrift_operation_part (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    operation VARCHAR(26) {bytewise} {ascii} NOT NULL,
    part_offset BIGINT NOT NULL,
    stored_at BIGINT NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (tenant, operation, part_offset)
[mysql]    , KEY spindrift_operation_part_age (stored_at)
) {options};

[sqlite postgres] CREATE INDEX spindrift_operation_part_age ON spindrift_operation_part (stored_at);

-- Accounts in which nothing may be changed.
{create table} spindrift_freeze (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    reason TEXT NOT NULL,
    frozen_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, account)
) {options};

-- Verbs of the agent, and the hub that its Control channel ends in. SQLite adds one column per statement.
ALTER TABLE spindrift_session
    ADD COLUMN verbs VARCHAR(1024) NOT NULL DEFAULT ''
[sqlite] ; ALTER TABLE spindrift_session
[postgres mysql]    ,
    ADD COLUMN control_hub VARCHAR(128) {bytewise} NOT NULL DEFAULT '';
