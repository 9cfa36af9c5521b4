-- What arrives, what is waiting, what is known, what is to be sent.
--
-- Tables of notifications, facts, purchases, events and deliveries lead with `lane`, the distribution column;
-- there are no foreign keys and no triggers between them. Times are milliseconds since 1970 UTC (`…_ms`), given by
-- the writer; leases alone use the server's clock. `environment` is 0 for Production and 1 for Sandbox.

-- MARK: what arrived

-- The first part of a JWS: algorithm and certificates. Few exist at a time; bodies name theirs and are compressed
-- with it as the dictionary, because the parts inside a notification repeat it.
CREATE TABLE entitled.jws_header (
    id uuid PRIMARY KEY,
    header bytea NOT NULL
);

-- Which notifications are known. Narrow, and not divided by time, so that a copy months later is recognised.
CREATE TABLE entitled.notification_key (
    key uuid NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    received_ms bigint NOT NULL,
    PRIMARY KEY (key, app, environment)
);

-- The notifications as Apple signed them; rows never change. `seq` grows with time.
CREATE TABLE entitled.notification (
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    uuid text NOT NULL,
    type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    signed_ms bigint,
    received_ms bigint NOT NULL,
    source smallint NOT NULL,
    header uuid NOT NULL,
    payload bytea NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (lane, seq)
);
ALTER TABLE entitled.notification ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Notifications that are not applied yet. Hot and narrow: one row comes and goes for each.
CREATE TABLE entitled.pending (
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (lane, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Notifications that need a person, and why.
CREATE TABLE entitled.held_notification (
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    reason text NOT NULL,
    held_ms bigint NOT NULL,
    PRIMARY KEY (lane, seq)
);

-- MARK: who works

-- One row a lane. The owner's epoch is the fence: every data transaction locks the row and compares it first.
CREATE TABLE entitled.lane (
    lane smallint PRIMARY KEY,
    owner uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 10);
INSERT INTO entitled.lane (lane) SELECT generate_series(0, 255);

-- Workers that were seen lately, so that each takes its fair share of the lanes.
CREATE TABLE entitled.worker (
    id uuid PRIMARY KEY,
    host text NOT NULL,
    seen_at timestamptz NOT NULL
);

-- MARK: what is known

-- Everything Apple said about a purchase, each version of it. Never dropped. `kind`: 1 transaction, 2 renewal info,
-- 3 what the notification itself says (type, subtype, status).
CREATE TABLE entitled.fact (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    digest uuid NOT NULL,
    kind smallint NOT NULL,
    signed_ms bigint NOT NULL,
    seq bigint NOT NULL,
    header uuid,
    payload bytea NOT NULL,
    signature bytea,
    PRIMARY KEY (lane, original_transaction_id, app, environment, digest)
);

-- The records: what the facts of one original transaction id fold to.
CREATE TABLE entitled.purchase (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    product_id text NOT NULL,
    access_ends_ms bigint,
    grace_ends_ms bigint,
    revoked_ms bigint,
    will_renew boolean NOT NULL,
    wake_ms bigint,
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor = 85);
CREATE INDEX purchase_owner ON entitled.purchase (owner);
CREATE INDEX purchase_wake ON entitled.purchase (lane, wake_ms) WHERE wake_ms IS NOT NULL;

-- Transaction ids and web order line item ids, for finding the purchase that one belongs to.
CREATE TABLE entitled.purchase_identifier (
    identifier text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    PRIMARY KEY (identifier, app, environment, original_transaction_id)
);

-- Customers, and every id that names one.
CREATE TABLE entitled.customer (
    original_app_user_id text COLLATE "C" PRIMARY KEY,
    first_seen_ms bigint NOT NULL
);
CREATE TABLE entitled.app_user_id (
    id text COLLATE "C" PRIMARY KEY,
    original_app_user_id text COLLATE "C" NOT NULL,
    first_seen_ms bigint NOT NULL
);
CREATE INDEX app_user_id_caseless ON entitled.app_user_id (lower(id));
CREATE INDEX app_user_id_customer ON entitled.app_user_id (original_app_user_id);

-- MARK: what is sent

CREATE TABLE entitled.endpoint (
    id text COLLATE "C" PRIMARY KEY,
    url text NOT NULL,
    authorization_sealed bytea,
    environments text[] NOT NULL,
    events text[] NOT NULL,
    apps text[] NOT NULL,
    disabled_reason text,
    paused_until_ms bigint NOT NULL DEFAULT 0,
    created_ms bigint NOT NULL,
    removed_ms bigint
);
CREATE TABLE entitled.endpoint_secret (
    endpoint text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    sealed bytea NOT NULL,
    PRIMARY KEY (endpoint, created_ms)
);

-- Which key seals the secrets, so that a process with another one says so instead of failing later.
CREATE TABLE entitled.sealing_key (
    fingerprint text PRIMARY KEY,
    created_ms bigint NOT NULL
);

CREATE TABLE entitled.event (
    lane smallint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C",
    created_ms bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (lane, id)
);

-- One row for each event and endpoint; the id follows from both. `state`: 0 pending, 1 delivered, 2 dead, 3 held.
-- The schedule counts attempts from `round_start`, which is where the last resend began.
CREATE TABLE entitled.delivery (
    lane smallint NOT NULL,
    id uuid NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    event uuid NOT NULL,
    event_type text NOT NULL,
    state smallint NOT NULL,
    attempts smallint NOT NULL DEFAULT 0,
    round_start smallint NOT NULL DEFAULT 0,
    next_ms bigint NOT NULL,
    last_status smallint,
    reason text,
    created_ms bigint NOT NULL,
    PRIMARY KEY (lane, id)
) WITH (fillfactor = 85);
CREATE INDEX delivery_due ON entitled.delivery (lane, endpoint, next_ms) WHERE state = 0;
CREATE INDEX delivery_held ON entitled.delivery (lane, endpoint) WHERE state = 3;
CREATE INDEX delivery_created ON entitled.delivery (created_ms);

-- What came of each attempt; `number` is what the consumer saw in `entitled-attempt`.
CREATE TABLE entitled.attempt (
    lane smallint NOT NULL,
    delivery uuid NOT NULL,
    number smallint NOT NULL,
    started_ms bigint NOT NULL,
    duration_ms integer NOT NULL,
    status smallint,
    outcome text NOT NULL,
    detail text,
    response bytea,
    PRIMARY KEY (lane, delivery, started_ms)
);

-- MARK: who may do what

-- The public role adds notifications and reads single columns: what deduplication returns, which headers exist.
GRANT USAGE ON SCHEMA entitled TO entitled_ingest, entitled_worker, entitled_api;
GRANT INSERT ON entitled.jws_header, entitled.notification_key, entitled.notification, entitled.pending
    TO entitled_ingest;
GRANT SELECT (id) ON entitled.jws_header TO entitled_ingest;
GRANT SELECT (seq) ON entitled.notification_key TO entitled_ingest;
GRANT SELECT (seq) ON entitled.pending TO entitled_ingest;
GRANT SELECT (version) ON entitled.schema_version TO entitled_ingest, entitled_worker, entitled_api;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    entitled.jws_header, entitled.notification_key, entitled.notification, entitled.pending,
    entitled.held_notification, entitled.lane, entitled.worker, entitled.fact, entitled.purchase,
    entitled.purchase_identifier, entitled.customer, entitled.app_user_id, entitled.endpoint,
    entitled.endpoint_secret, entitled.sealing_key, entitled.event, entitled.delivery, entitled.attempt
    TO entitled_worker;

-- Reading, without what is secret.
GRANT SELECT ON
    entitled.jws_header, entitled.notification_key, entitled.notification, entitled.pending,
    entitled.held_notification, entitled.lane, entitled.worker, entitled.fact, entitled.purchase,
    entitled.purchase_identifier, entitled.customer, entitled.app_user_id, entitled.event, entitled.delivery,
    entitled.attempt
    TO entitled_api;
GRANT SELECT (id, url, environments, events, apps, disabled_reason, paused_until_ms, created_ms, removed_ms)
    ON entitled.endpoint TO entitled_api;
