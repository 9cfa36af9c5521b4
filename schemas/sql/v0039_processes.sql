-- Which processes there are, and by which configuration each of them works.

-- Rows are only added, since the public role may do nothing else: the newest of an id counts. Workers delete old ones.
CREATE TABLE entitled.process (
    id uuid NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    role text COLLATE "C" NOT NULL CHECK (role IN ('ingest', 'worker', 'api', 'console')),
    host text NOT NULL CHECK (length(host) BETWEEN 1 AND 255),
    version text COLLATE "C" NOT NULL CHECK (length(version) BETWEEN 1 AND 64),
    started_ms bigint NOT NULL,
    configuration bigint NOT NULL,
    has_ended boolean NOT NULL DEFAULT false,
    PRIMARY KEY (id, seen_at)
);

COMMENT ON TABLE entitled.process IS
    'What each role of each process says of itself every minute, so that hosts whose configurations differ are found. Rows are '
    'only added, and the newest of an id counts; workers delete those of an hour ago.';
COMMENT ON COLUMN entitled.process.id IS
    'Of a role from its start or reload on; of a worker that of entitled.worker.';
COMMENT ON COLUMN entitled.process.started_ms IS 'Since when the role works by this configuration.';
COMMENT ON COLUMN entitled.process.configuration IS
    'Hash of the settings that all hosts should share, 48 bits; the same as the metric entitled_configuration_hash. Programs of '
    'different versions may hash the same settings differently.';
COMMENT ON COLUMN entitled.process.has_ended IS 'The last row of a process that ended in order.';
