-- Tasks of Spinnaker and their results. `request` is a digest of the caller's own id, so that a repeated request runs once;
-- `driver` is the hub that runs the task; `ended_at` is 0 until it ends. `body` (the request) is encrypted, and erased when
-- the task ends.
{create table} spindrift_task (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    id VARCHAR(26) {bytewise} {ascii} NOT NULL,
    request VARCHAR(64) {ascii} NOT NULL,
    state VARCHAR(16) NOT NULL,
    attempt BIGINT NOT NULL,
    driver VARCHAR(128) {bytewise} NOT NULL,
    owner VARCHAR(256) NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    key_id VARCHAR(16) NOT NULL,
    body {bytes} NOT NULL,
    results {bytes} NOT NULL,
    PRIMARY KEY (tenant, id),
[sqlite postgres]    UNIQUE (tenant, request)
[mysql]    UNIQUE KEY spindrift_task_request (tenant, request),
[mysql]    KEY spindrift_task_open (ended_at, driver)
) {options};

[sqlite postgres] CREATE INDEX spindrift_task_open ON spindrift_task (driver) WHERE ended_at = 0;
[sqlite postgres] CREATE INDEX spindrift_task_age ON spindrift_task (ended_at);

-- Journal of a task: its status lines (`said`) and its findings in the cluster (`learned`), which are encrypted, and
-- erased when the task ends.
{create table} spindrift_task_entry (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    task VARCHAR(26) {bytewise} {ascii} NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    said {bytes} NOT NULL,
    learned {bytes} NOT NULL,
    PRIMARY KEY (tenant, task, attempt, number)
) {options};
