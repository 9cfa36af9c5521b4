-- A number that only grows, so that processes notice when the database goes back to an earlier state.

CREATE TABLE entitled.database_position (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    installation text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT 0 CHECK (number >= 0 AND number < 4000000000000000000),
    cluster text COLLATE "C",
    timeline bigint,
    adoption bigint NOT NULL DEFAULT 0,
    is_adopted boolean NOT NULL DEFAULT false,
    returned_ms bigint,
    reason text COLLATE "C",
    lost bigint
);
INSERT INTO entitled.database_position (installation)
SELECT encode(substr(sha256('entitled installation'::bytea || salt), 1, 8), 'hex') FROM entitled.deletion_salt;

COMMENT ON TABLE entitled.database_position IS
    'One row: where this database is in its own history. The leader raises the number every few seconds; a process that has '
    'seen a greater one knows that the database went back.';
COMMENT ON COLUMN entitled.database_position.installation IS
    'Tells this installation from every other; a copy of its database is the same one.';
COMMENT ON COLUMN entitled.database_position.cluster IS
    'System identifier of the cluster in which the number was raised last. NULL: never, or the server does not tell.';
COMMENT ON COLUMN entitled.database_position.timeline IS 'The timeline of that cluster.';
COMMENT ON COLUMN entitled.database_position.adoption IS
    'Grows when an operator says that this is the database, wherever it was before.';
COMMENT ON COLUMN entitled.database_position.is_adopted IS 'An operator said so, and the leader has not seen it yet.';
COMMENT ON COLUMN entitled.database_position.returned_ms IS
    'When it was noticed that the database went back, until Apple''s history is scanned. NULL: nothing is left to do.';
COMMENT ON COLUMN entitled.database_position.reason IS
    'How that was noticed: number, cluster, timeline, adopted or restored. NULL: as returned_ms.';
COMMENT ON COLUMN entitled.database_position.lost IS
    'How far the number went back. NULL: as returned_ms.';

CREATE TABLE entitled.database_sighting (number bigint PRIMARY KEY CHECK (number >= 0 AND number < 4000000000000000000));
COMMENT ON TABLE entitled.database_sighting IS
    'Numbers greater than that of database_position, as processes have seen them. The leader compares and deletes them.';
