-- Why the agent may not read a scope; empty if it may. With a default, since hubs of the release before do not know it.
ALTER TABLE spindrift_scope ADD COLUMN denied VARCHAR(1024) NOT NULL DEFAULT '';
