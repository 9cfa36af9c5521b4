-- Purchases of which news is missing, and when Apple is asked how they stand.
--
-- The owner of the lane adds a row when access ends without a word or a charge is being retried; `end_ms` is that end. Who
-- asks moves `next_ms`, and takes the row away once nothing is missing any more.
CREATE TABLE entitled.status_look (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    end_ms bigint NOT NULL,
    next_ms bigint NOT NULL,
    PRIMARY KEY (lane, original_transaction_id, app, environment)
);

CREATE INDEX status_look_due ON entitled.status_look (app, environment, next_ms);

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.status_look TO entitled_worker;
GRANT SELECT ON entitled.status_look TO entitled_api;
