-- Reason for which the agent may not read a scope; empty if it may. With a default, since hubs of the previous release do
-- not write it.
ALTER TABLE spindrift_scope ADD COLUMN denied VARCHAR(1024) NOT NULL DEFAULT '';
