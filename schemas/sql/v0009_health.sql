-- How consumers of webhooks are doing, from what all workers see.

-- A streak of failures: it begins with the first failure after the last success, and ends with a success that is later
-- than all of its failures, or when an operator enables the endpoint. Written now and then, outside of data
-- transactions: what a worker did not write before it died is missing here and nowhere else.
CREATE TABLE entitled.endpoint_health (
    endpoint text COLLATE "C" PRIMARY KEY,
    failing_since_ms bigint,
    failures bigint NOT NULL DEFAULT 0,
    last_success_ms bigint,
    last_failure_ms bigint,
    -- Its class, as attempts have it: `timeout`, `status_500`, …
    last_failure text,
    -- How many warnings of this streak were told.
    warned smallint NOT NULL DEFAULT 0,
    -- The end of a streak that somebody was warned of, and its beginning, until that is told.
    recovered_ms bigint,
    recovered_since_ms bigint,
    -- Why it is disabled, for machines: `operator`, `gone`, `asked` or `failing`.
    disabled_code text,
    disabled_ms bigint,
    is_disabling_told boolean NOT NULL DEFAULT false,
    -- Deliveries that were given up, the newest few of them, and when such were last told.
    dead bigint NOT NULL DEFAULT 0,
    dead_newest text[] NOT NULL DEFAULT '{}',
    dead_told_ms bigint NOT NULL DEFAULT 0
);
-- Small and often written: new versions of rows stay on their page.
ALTER TABLE entitled.endpoint_health SET (fillfactor = 50);

-- What is disabled already was told long ago.
INSERT INTO entitled.endpoint_health (endpoint, disabled_code, is_disabling_told)
    SELECT id, CASE disabled_reason WHEN 'the consumer answered 410' THEN 'gone' ELSE 'operator' END, true
    FROM entitled.endpoint WHERE disabled_reason IS NOT NULL AND removed_ms IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.endpoint_health TO entitled_worker;
GRANT SELECT ON entitled.endpoint_health TO entitled_api;
