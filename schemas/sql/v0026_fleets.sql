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

-- Imports: what they put into the log, and how the log names them.
COMMENT ON COLUMN entitled.notification.source IS
    '0: Apple sent it. 1: found in Apple''s notification history. 2: the same, and its events are sent however old they '
    'are. 3: Apple''s answer to a question for the status of a purchase. 4: an app posted the transaction. 5: an import '
    'asked Apple for it, and its events are not sent. 6: the same, and they are.';
COMMENT ON COLUMN entitled.action.kind IS
    'alias, identify and merge join ids (identify: an app logged in; merge: the program found out that two are one '
    'customer); transfer, claim and move change owners; post: a purchase was posted; import: an operator brought in '
    'purchases from another system''s records; grant and revoke: access by the seller; restore_behavior: a customer''s own; '
    'delete: one row for each id; keep: purchases stay with the owners that an upgrade found.';
