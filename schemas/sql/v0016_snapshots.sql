-- Reading customers at the speed of a login: what documents need of a purchase, ready; and when customers were last seen.

-- When an app of theirs asked last, to the hour; NULL: none did.
ALTER TABLE entitled.customer ADD COLUMN last_seen_ms bigint;

-- What the facts of a purchase fold to, as documents need it. Written by who reads a customer and finds none that fits;
-- workers never wait for it. It fits while `version` and `updated_ms` are those of the purchase, and the first bytes of
-- `body` tell which program and settings made it: everything else is made again. Without a purchase it is never read.
CREATE TABLE entitled.purchase_snapshot (
    lane smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor = 85);

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_snapshot TO entitled_worker;
GRANT SELECT, INSERT, UPDATE ON entitled.purchase_snapshot TO entitled_api;

GRANT UPDATE (last_seen_ms) ON entitled.customer TO entitled_api;
