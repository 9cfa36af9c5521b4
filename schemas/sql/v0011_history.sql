-- What comes from Apple's notification history, and how much of it was looked through.

-- Where the notification came from that brought the fact: 0 Apple sent it; 1 it was found in Apple's history; 2 the same,
-- and its events are sent however old they are. That it came late says something about what Apple sends only for 0.
ALTER TABLE entitled.fact ADD COLUMN source smallint NOT NULL DEFAULT 0;

-- How far Apple's notification history was looked through, for each app and environment with a key. `covered_ms`: at
-- least what Apple could not deliver until then was looked at; `whole_ms`: everything; NULL: never to the end.
-- `tried_ms`: when the last look ended, however it did. A look that is under way has a cursor and what it found.
CREATE TABLE entitled.history_look (
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    covered_ms bigint,
    whole_ms bigint,
    tried_ms bigint,
    error text,
    cursor text[] NOT NULL DEFAULT '{}',
    found bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    first_missed_ms bigint,
    last_missed_ms bigint,
    PRIMARY KEY (app, environment)
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.history_look TO entitled_worker;
GRANT SELECT ON entitled.history_look TO entitled_api;
