-- What Spinnaker asked for, and what came of it. `request` is a digest of the caller's own id, so that what is asked twice
-- is done once; `driver` is the hub that runs it; `ended_at` is 0 until it ends. `body` (what is asked) is encrypted, and
-- erased when the task ends.
CREATE TABLE spindrift_task (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    id VARCHAR(26) COLLATE "C" NOT NULL,
    request VARCHAR(64) NOT NULL,
    state VARCHAR(16) NOT NULL,
    attempt BIGINT NOT NULL,
    driver VARCHAR(128) COLLATE "C" NOT NULL,
    owner VARCHAR(256) NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    key_id VARCHAR(16) NOT NULL,
    body BYTEA NOT NULL,
    results BYTEA NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, request)
);

CREATE INDEX spindrift_task_open ON spindrift_task (driver) WHERE ended_at = 0;
CREATE INDEX spindrift_task_age ON spindrift_task (ended_at);

-- What a task said, and what it learned of the cluster; that is encrypted, and erased when the task ends.
CREATE TABLE spindrift_task_entry (
    tenant VARCHAR(128) COLLATE "C" NOT NULL,
    task VARCHAR(26) COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    said BYTEA NOT NULL,
    learned BYTEA NOT NULL,
    PRIMARY KEY (tenant, task, attempt, number)
);
