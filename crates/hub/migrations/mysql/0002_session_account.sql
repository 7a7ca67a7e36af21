-- The accounts that an agent was accepted for in a session: it may attach these and no others.
CREATE TABLE IF NOT EXISTS spindrift_session_account (
    tenant VARCHAR(128) NOT NULL,
    session VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    PRIMARY KEY (tenant, session, account)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;
