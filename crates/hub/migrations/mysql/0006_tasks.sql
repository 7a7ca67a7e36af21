-- What Spinnaker asked for, and what came of it. `request` is a digest of the caller's own id, so that what is asked twice
-- is done once; `driver` is the hub that runs it; `ended_at` is 0 until it ends. `body` (what is asked) is encrypted, and
-- erased when the task ends.
CREATE TABLE IF NOT EXISTS spindrift_task (
    tenant VARCHAR(128) NOT NULL,
    id VARCHAR(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    request VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) NOT NULL,
    attempt BIGINT NOT NULL,
    driver VARCHAR(128) NOT NULL,
    owner VARCHAR(256) NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    key_id VARCHAR(16) NOT NULL,
    body LONGBLOB NOT NULL,
    results LONGBLOB NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE KEY spindrift_task_request (tenant, request),
    KEY spindrift_task_open (ended_at, driver)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

-- What a task said, and what it learned of the cluster; that is encrypted, and erased when the task ends.
CREATE TABLE IF NOT EXISTS spindrift_task_entry (
    tenant VARCHAR(128) NOT NULL,
    task VARCHAR(26) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    said LONGBLOB NOT NULL,
    learned LONGBLOB NOT NULL,
    PRIMARY KEY (tenant, task, attempt, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;
