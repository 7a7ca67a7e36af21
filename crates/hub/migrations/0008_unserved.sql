-- Time since which no agent serves the account; 0 while one does. In the store, so that a restart of a hub neither ends nor
-- begins the grace period. With a default, since hubs of the previous release do not write it.
ALTER TABLE spindrift_account ADD COLUMN unserved_since BIGINT NOT NULL DEFAULT 0;
