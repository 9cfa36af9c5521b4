-- Programs of several versions beside each other, and what a migration leaves to be done while they work.

ALTER TABLE entitled.schema_version ADD COLUMN oldest_program integer;
COMMENT ON COLUMN entitled.schema_version.oldest_program IS
    'The schema of the oldest program that works with this version. NULL: before programs of several versions could work '
    'side by side; only a program of exactly this schema does.';

CREATE TABLE entitled.migration_step (
    version integer NOT NULL,
    name text NOT NULL,
    cursor text,
    rows bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    moved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    PRIMARY KEY (version, name)
);
COMMENT ON TABLE entitled.migration_step IS
    'Index builds and backfills that a migration leaves to be done after its transaction, while the processes work. '
    '`entitled migrate` runs them, and goes on where it was interrupted.';
COMMENT ON COLUMN entitled.migration_step.cursor IS 'Where a backfill is; written with every batch.';
COMMENT ON COLUMN entitled.migration_step.rows IS 'Rows that a backfill has written.';
