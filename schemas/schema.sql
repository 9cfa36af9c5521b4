-- The schema of entitled, version 48, for reading: what the migrations in schemas/sql come to, with the grants of
-- Privileges.swift. `entitled migrate` makes databases; this file does not.
--
-- Generated: UPDATE_GENERATED=1 swift test --filter SchemaDocumentTests writes it from a migrated empty database.
--
-- Tables of notifications, facts, purchases, events and deliveries lead with `lane` (0 to 255), the distribution column.
-- There are no foreign keys. `…_ms` are milliseconds since 1970 UTC, given by the program that writes; leases alone use
-- the clock of the server. `environment` is 0 for Production and 1 for Sandbox. `app` is the id of the configuration.

CREATE SCHEMA entitled;
GRANT USAGE ON SCHEMA entitled TO entitled_ingest;
GRANT USAGE ON SCHEMA entitled TO entitled_worker;
GRANT USAGE ON SCHEMA entitled TO entitled_api;
GRANT USAGE ON SCHEMA entitled TO entitled_console;

-- MARK: The log

-- Notifications as Apple signed them, partitioned by the day (UTC) of arrival, so that a day past its retention is
-- dropped at once. Rows never change. Columns of a fixed width come first: in another order every row has ten bytes of
-- padding.
CREATE TABLE entitled.notification (
    -- Grows with time: the upper 42 bits are milliseconds since 2024-01-01 UTC.
    seq bigint NOT NULL,
    signed_ms bigint,
    received_ms bigint NOT NULL,
    lane smallint NOT NULL,
    environment smallint NOT NULL,
    -- 0: Apple sent it. 1: found in Apple's notification history. 2: the same, and its events are sent however old they
    -- are. 3: Apple's answer to a question for the status of a purchase. 4: an app posted the transaction. 5: an import
    -- asked Apple for it, and its events are not sent. 6: the same, and they are.
    source smallint NOT NULL,
    -- The row of jws_header.
    header uuid NOT NULL,
    app text COLLATE "C" NOT NULL,
    -- notificationUUID of the payload.
    uuid text NOT NULL,
    type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    -- Second part of the JWS, compressed by the program: Postgres does not compress it again.
    payload bytea NOT NULL,
    signature bytea NOT NULL,
    CONSTRAINT notification_pkey PRIMARY KEY (lane, seq)
) PARTITION BY RANGE (seq);
ALTER TABLE entitled.notification ALTER COLUMN payload SET STORAGE EXTERNAL;
GRANT INSERT ON entitled.notification TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.notification TO entitled_worker;
GRANT SELECT, INSERT ON entitled.notification TO entitled_api;
GRANT SELECT ON entitled.notification TO entitled_console;

-- Takes the rows that no partition was created for, so that a missing day never rejects a notification. Empty as a
-- rule.
CREATE TABLE entitled.notification_default PARTITION OF entitled.notification DEFAULT;
GRANT SELECT ON entitled.notification_default TO entitled_worker;

-- The notifications that are known. Narrow, and not partitioned by time, so that a copy that arrives months later is
-- recognised.
CREATE TABLE entitled.notification_key (
    -- The UUID of the notification; of a text that is no UUID, the beginning of its SHA-256.
    key uuid NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    lane smallint NOT NULL,
    -- Position in the lane; its upper 42 bits are the time of arrival.
    seq bigint NOT NULL,
    CONSTRAINT notification_key_pkey PRIMARY KEY (key, app, environment)
) WITH (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000, autovacuum_freeze_min_age=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);
GRANT SELECT (lane, seq), INSERT ON entitled.notification_key TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.notification_key TO entitled_worker;
GRANT SELECT, INSERT ON entitled.notification_key TO entitled_api;
GRANT SELECT ON entitled.notification_key TO entitled_console;

-- The first part of a JWS: algorithm and certificates. Few different ones exist at a time. Stored payloads name theirs
-- and are compressed with it as the dictionary, because the parts inside a notification repeat it.
CREATE TABLE entitled.jws_header (
    id uuid NOT NULL,
    header bytea NOT NULL,
    CONSTRAINT jws_header_pkey PRIMARY KEY (id)
);
GRANT SELECT (id), INSERT ON entitled.jws_header TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.jws_header TO entitled_worker;
GRANT SELECT, INSERT ON entitled.jws_header TO entitled_api;
GRANT SELECT ON entitled.jws_header TO entitled_console;

-- Notifications that are not applied yet. One row is inserted and deleted for each notification, hence the eager
-- autovacuum.
CREATE TABLE entitled.pending (
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT pending_pkey PRIMARY KEY (lane, seq)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0);
GRANT SELECT (seq), INSERT ON entitled.pending TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.pending TO entitled_worker;
GRANT SELECT, INSERT ON entitled.pending TO entitled_api;
GRANT SELECT ON entitled.pending TO entitled_console;

-- Notifications that could not be applied. They are retried with growing pauses.
CREATE TABLE entitled.held_notification (
    lane smallint NOT NULL,
    seq bigint NOT NULL,
    reason text NOT NULL,
    held_ms bigint NOT NULL,
    -- How often applying failed.
    attempts integer NOT NULL DEFAULT 1,
    -- Time of the next retry. NULL: none follows, an operator has to act.
    next_ms bigint,
    CONSTRAINT held_notification_pkey PRIMARY KEY (lane, seq)
);
-- Due retries by lane: held notifications that wait cost nothing.
CREATE INDEX held_notification_due ON entitled.held_notification USING btree (lane, next_ms) WHERE (next_ms IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.held_notification TO entitled_worker;
GRANT SELECT ON entitled.held_notification TO entitled_api;
GRANT SELECT ON entitled.held_notification TO entitled_console;

-- Verified notifications that ingest accepted while the log could not be written; the leader puts them into the log.
CREATE TABLE entitled.diverted_notification (
    -- Made like the seq of notifications: the order in which they came. In the log they get another one.
    seq bigint NOT NULL,
    signed_ms bigint,
    received_ms bigint NOT NULL,
    environment smallint NOT NULL,
    -- As in notification.
    source smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    uuid text NOT NULL,
    type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    -- The base64url header segment itself: jws_header may be locked, too.
    header bytea NOT NULL,
    -- Packed as in notification.
    payload bytea NOT NULL,
    signature bytea NOT NULL,
    CONSTRAINT diverted_notification_pkey PRIMARY KEY (seq)
);
GRANT INSERT ON entitled.diverted_notification TO entitled_ingest;
GRANT SELECT, DELETE ON entitled.diverted_notification TO entitled_worker;

-- What operators and apps did with customers and nobody signed: records are rebuilt from actions and facts. Rows never
-- change, except that a deletion replaces ids by pseudonyms.
CREATE TABLE entitled.action (
    -- Drawn while the customers are locked: the order of the actions on a customer.
    seq bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    -- alias, identify and merge join ids (identify: an app logged in; merge: the program found out that two are one
    -- customer); transfer, claim and move change owners; post: a purchase was posted; import: an operator brought in
    -- purchases from another system's records; grant and revoke: access by the seller; restore_behavior: a customer's
    -- own; delete: one row for each id; keep: purchases stay with the owners that an upgrade found.
    kind text NOT NULL,
    at_ms bigint NOT NULL,
    -- The operator, the app or the worker that did it.
    actor text NOT NULL,
    reason text,
    app_user_id text COLLATE "C" NOT NULL,
    -- The second id of a join, or the receiver of a transfer.
    other text COLLATE "C",
    detail text,
    CONSTRAINT action_pkey PRIMARY KEY (seq)
);
CREATE INDEX action_app_user_id ON entitled.action USING btree (app_user_id, seq);
CREATE INDEX action_other ON entitled.action USING btree (other, seq) WHERE (other IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.action TO entitled_worker;
GRANT SELECT, INSERT ON entitled.action TO entitled_api;
GRANT SELECT ON entitled.action TO entitled_console;

-- Minutes in which an ingest process could store notifications. A gap is an outage of ours: Apple sends again what it
-- could not deliver then, so that silence proves nothing.
CREATE TABLE entitled.listening (
    -- Minutes since 1970 UTC.
    minute bigint NOT NULL,
    CONSTRAINT listening_pkey PRIMARY KEY (minute)
);
GRANT INSERT ON entitled.listening TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.listening TO entitled_worker;
GRANT SELECT ON entitled.listening TO entitled_api;
GRANT SELECT ON entitled.listening TO entitled_console;

-- How far Apple's notification history has been scanned, for each app and environment with a Server API key.
CREATE TABLE entitled.history_look (
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    -- At least the notifications that Apple could not deliver have been scanned up to here. NULL: no scan was finished.
    covered_ms bigint,
    -- All notifications have been scanned up to here. NULL: no such scan was finished.
    whole_ms bigint,
    -- End of the last scan, whether it succeeded or not.
    tried_ms bigint,
    error text,
    -- Where the running scan is; empty without one.
    cursor text[] NOT NULL DEFAULT '{}'::text[],
    -- Notifications that the running scan read.
    found bigint NOT NULL DEFAULT 0,
    -- Notifications among them that were not in the log.
    missed bigint NOT NULL DEFAULT 0,
    -- Notifications among them that admission rejected.
    refused bigint NOT NULL DEFAULT 0,
    first_missed_ms bigint,
    last_missed_ms bigint,
    CONSTRAINT history_look_pkey PRIMARY KEY (app, environment)
) WITH (fillfactor=50);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.history_look TO entitled_worker;
GRANT SELECT ON entitled.history_look TO entitled_api;
GRANT SELECT ON entitled.history_look TO entitled_console;

-- Purchases whose end Apple has not explained, and when Apple is asked for their status. The worker of the lane inserts
-- a row when access ends without a notification or a charge is being retried; reconciliation deletes it once nothing is
-- missing.
CREATE TABLE entitled.status_look (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The unexplained end of access.
    end_ms bigint NOT NULL,
    -- When Apple is asked next.
    next_ms bigint NOT NULL,
    CONSTRAINT status_look_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
);
CREATE INDEX status_look_due ON entitled.status_look USING btree (app, environment, next_ms);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.status_look TO entitled_worker;
GRANT SELECT ON entitled.status_look TO entitled_api;
GRANT SELECT ON entitled.status_look TO entitled_console;

-- MARK: Lanes and workers

-- One row for each of the 256 lanes. Every data transaction locks the row and compares the epoch first: that is the
-- fence against a worker whose lease has ended. The fill factor leaves room for updates within the page.
CREATE TABLE entitled.lane (
    lane smallint NOT NULL,
    -- The worker that holds the lease.
    owner uuid,
    -- Term of the lease; a takeover raises it.
    epoch bigint NOT NULL DEFAULT 0,
    -- End of the lease, by the clock of the server.
    lease_until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
    -- How often a process other than the holder changed facts of the lane: the holder then reads its cached state
    -- again.
    touched bigint NOT NULL DEFAULT 0,
    CONSTRAINT lane_pkey PRIMARY KEY (lane)
) WITH (fillfactor=10);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.lane TO entitled_worker;
GRANT SELECT, UPDATE (epoch, touched) ON entitled.lane TO entitled_api;
GRANT SELECT ON entitled.lane TO entitled_console;

-- Workers that were seen recently, so that each takes its share of the lanes.
CREATE TABLE entitled.worker (
    id uuid NOT NULL,
    host text NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    -- Fingerprints of the keys with which the worker can open secrets: no secret is sealed with a key that a worker
    -- lacks.
    sealing_keys text[] NOT NULL DEFAULT '{}'::text[],
    CONSTRAINT worker_pkey PRIMARY KEY (id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.worker TO entitled_worker;
GRANT SELECT ON entitled.worker TO entitled_api;
GRANT SELECT ON entitled.worker TO entitled_console;

-- What each role of each process says of itself every minute, so that hosts whose configurations differ are found. Rows
-- are only added, and the newest of an id counts; workers delete those of an hour ago.
CREATE TABLE entitled.process (
    -- Of a role from its start or reload on; of a worker that of entitled.worker.
    id uuid NOT NULL,
    seen_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    role text COLLATE "C" NOT NULL,
    host text NOT NULL,
    version text COLLATE "C" NOT NULL,
    -- Since when the role works by this configuration.
    started_ms bigint NOT NULL,
    -- Hash of the settings that all hosts should share, 48 bits; the same as the metric entitled_configuration_hash.
    -- Programs of different versions may hash the same settings differently.
    configuration bigint NOT NULL,
    -- The last row of a process that ended in order.
    has_ended boolean NOT NULL DEFAULT false,
    CONSTRAINT process_pkey PRIMARY KEY (id, seen_at),
    CONSTRAINT process_host_check CHECK (((length(host) >= 1) AND (length(host) <= 255))),
    CONSTRAINT process_role_check CHECK ((role = ANY (ARRAY['ingest'::text, 'worker'::text, 'api'::text, 'console'::text]))),
    CONSTRAINT process_version_check CHECK (((length(version) >= 1) AND (length(version) <= 64)))
);
GRANT INSERT (configuration, has_ended, host, id, role, started_ms, version) ON entitled.process TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.process TO entitled_worker;
GRANT SELECT, INSERT (configuration, has_ended, host, id, role, started_ms, version) ON entitled.process TO entitled_api;
GRANT SELECT, INSERT (configuration, has_ended, host, id, role, started_ms, version) ON entitled.process TO entitled_console;

-- One row: where this database is in its own history. The leader raises the number every few seconds; a process that
-- has seen a greater one knows that the database went back.
CREATE TABLE entitled.database_position (
    is_only boolean NOT NULL DEFAULT true,
    -- Tells this installation from every other; a copy of its database is the same one.
    installation text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    -- System identifier of the cluster in which the number was raised last. NULL: never, or the server does not tell.
    cluster text COLLATE "C",
    -- The timeline of that cluster.
    timeline bigint,
    -- Grows when an operator says that this is the database, wherever it was before.
    adoption bigint NOT NULL DEFAULT 0,
    -- An operator said so, and the leader has not seen it yet.
    is_adopted boolean NOT NULL DEFAULT false,
    -- When it was noticed that the database went back, until Apple's history is scanned. NULL: nothing is left to do.
    returned_ms bigint,
    -- How that was noticed: number, cluster, timeline, adopted or restored. NULL: as returned_ms.
    reason text COLLATE "C",
    -- How far the number went back. NULL: as returned_ms.
    lost bigint,
    CONSTRAINT database_position_pkey PRIMARY KEY (is_only),
    CONSTRAINT database_position_is_only_check CHECK (is_only),
    CONSTRAINT database_position_number_check CHECK (((number >= 0) AND (number < '4000000000000000000'::bigint)))
);
GRANT SELECT ON entitled.database_position TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.database_position TO entitled_worker;
GRANT SELECT ON entitled.database_position TO entitled_api;
GRANT SELECT ON entitled.database_position TO entitled_console;

-- Numbers greater than that of database_position, as processes have seen them. The leader compares and deletes them.
CREATE TABLE entitled.database_sighting (
    number bigint NOT NULL,
    CONSTRAINT database_sighting_pkey PRIMARY KEY (number),
    CONSTRAINT database_sighting_number_check CHECK (((number >= 0) AND (number < '4000000000000000000'::bigint)))
);
GRANT INSERT ON entitled.database_sighting TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.database_sighting TO entitled_worker;
GRANT INSERT ON entitled.database_sighting TO entitled_api;

-- MARK: Facts and purchases

-- Everything that was said of a purchase, each version of it; mostly signed by Apple. Retention never drops facts:
-- records are folded from them. A trigger lets the API add only the kinds that Apple does not sign.
CREATE TABLE entitled.fact (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- First 16 bytes of the SHA-256 of kind and payload.
    digest uuid NOT NULL,
    -- 1 transaction, 2 renewal info, 3 the notification's own type, subtype and status, 5 announcement about no
    -- purchase: signed by Apple. 4 assignment of an owner, 6 grant, 7 what an app said of a transaction, 8 that it was
    -- posted: not signed.
    kind smallint NOT NULL,
    signed_ms bigint NOT NULL,
    -- Position of the log entry that brought it.
    seq bigint NOT NULL,
    -- The row of jws_header. NULL: not signed by itself.
    header uuid,
    payload bytea NOT NULL,
    signature bytea,
    -- Source of the notification that brought it, coded as in notification. That a fact came late says something about
    -- Apple's sending only where Apple sent it.
    source smallint NOT NULL DEFAULT 0,
    -- Further times at which Apple signed the same content, which has one row. NULL: none.
    signed_again bigint[],
    CONSTRAINT fact_pkey PRIMARY KEY (lane, original_transaction_id, app, environment, digest)
) WITH (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000, autovacuum_freeze_min_age=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.fact TO entitled_worker;
GRANT SELECT, INSERT ON entitled.fact TO entitled_api;
GRANT SELECT ON entitled.fact TO entitled_console;

-- The record of a purchase: what the facts of one original transaction id fold to.
CREATE TABLE entitled.purchase (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The id of the customer who owns it.
    owner text COLLATE "C" NOT NULL,
    product_id text NOT NULL,
    -- Access end. NULL: access does not end.
    access_ends_ms bigint,
    grace_ends_ms bigint,
    revoked_ms bigint,
    will_renew boolean NOT NULL,
    -- Timer: when the worker folds it again without a new fact. NULL: never.
    wake_ms bigint,
    -- Grows with each change of the record.
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    -- Number of its account.
    account bigint,
    -- What its facts say of owners, in a format of the program. NULL: a record from before accounts, which keeps its
    -- owner.
    claims bytea,
    -- Its first events wait until then, or until the buyer is known. NULL: they do not wait.
    tell_ms bigint,
    -- The id under which events named the owner, where the record has another id of the same customer: if the two
    -- become different customers, a TRANSFER is due.
    told_owner text COLLATE "C",
    CONSTRAINT purchase_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor=90, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_analyze_scale_factor=0.02);
CREATE INDEX purchase_account ON entitled.purchase USING btree (account) WHERE (account IS NOT NULL);
CREATE INDEX purchase_owner ON entitled.purchase USING btree (owner);
CREATE INDEX purchase_wake ON entitled.purchase USING btree (lane, wake_ms) WHERE (wake_ms IS NOT NULL);
CREATE INDEX purchase_without_claims ON entitled.purchase USING btree (lane, original_transaction_id) WHERE ((claims IS NULL) AND (app <> '$promotional'::text));
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase TO entitled_worker;
GRANT SELECT, INSERT, UPDATE (access_ends_ms, account, claims, grace_ends_ms, owner, product_id, revoked_ms, tell_ms, told_owner, updated_ms, version, wake_ms, will_renew) ON entitled.purchase TO entitled_api;
GRANT SELECT ON entitled.purchase TO entitled_console;

-- Folded state of purchases with many facts, so that applying a notification costs what is new. It follows from fact,
-- and is computed again where it is missing or has another format.
CREATE TABLE entitled.purchase_fold (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- Format of state and tail.
    codec smallint NOT NULL,
    -- How many rows of fact it contains.
    facts bigint NOT NULL,
    folded_ms bigint NOT NULL,
    -- Compressed by the program.
    state bytea NOT NULL,
    -- The facts since state was written, so that the whole is written now and then only.
    tail bytea,
    CONSTRAINT purchase_fold_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.05);
ALTER TABLE entitled.purchase_fold ALTER COLUMN state SET STORAGE EXTERNAL;
ALTER TABLE entitled.purchase_fold ALTER COLUMN tail SET STORAGE MAIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_fold TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_fold TO entitled_api;
GRANT SELECT ON entitled.purchase_fold TO entitled_console;

-- Transaction ids and web order line item ids, for finding the purchase that one belongs to.
CREATE TABLE entitled.purchase_identifier (
    identifier text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    CONSTRAINT purchase_identifier_pkey PRIMARY KEY (identifier, app, environment, original_transaction_id)
) WITH (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000, autovacuum_freeze_min_age=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_identifier TO entitled_worker;
GRANT SELECT, INSERT ON entitled.purchase_identifier TO entitled_api;
GRANT SELECT ON entitled.purchase_identifier TO entitled_console;

-- Cached fold of a purchase for REST. The API writes it when it reads a customer; workers never wait for it.
CREATE TABLE entitled.purchase_snapshot (
    lane smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    -- The snapshot is valid while version and updated_ms are those of the purchase.
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    -- Its first bytes name the program and the settings that it was computed with.
    body bytea NOT NULL,
    CONSTRAINT purchase_snapshot_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor=85, autovacuum_vacuum_scale_factor=0.05);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_snapshot TO entitled_worker;
GRANT SELECT, INSERT, UPDATE ON entitled.purchase_snapshot TO entitled_api;
GRANT SELECT ON entitled.purchase_snapshot TO entitled_console;

-- Product ids that purchases had, for finding those that the catalogue leaves out.
CREATE TABLE entitled.product (
    product_id text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    kind text NOT NULL,
    first_seen_ms bigint NOT NULL,
    -- subscriptionGroupIdentifier: introductory offers are once a group. NULL: not known yet.
    subscription_group text,
    CONSTRAINT product_pkey PRIMARY KEY (product_id, app, environment)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.product TO entitled_worker;
GRANT SELECT ON entitled.product TO entitled_api;
GRANT SELECT ON entitled.product TO entitled_console;

-- MARK: Customers

-- Customers, by the first of their ids.
CREATE TABLE entitled.customer (
    original_app_user_id text COLLATE "C" NOT NULL,
    first_seen_ms bigint NOT NULL,
    -- The current offering of this customer. NULL: that of the configuration.
    offering_override text,
    -- Last request of the customer's apps, to the hour. NULL: none.
    last_seen_ms bigint,
    -- From the app transaction that was posted for the customer.
    original_application_version text,
    app_purchased_ms bigint,
    -- Environment of that app transaction.
    app_environment smallint,
    -- Replaces the configured behaviour for what this customer owns. Follows from the log: the newest action on any of
    -- the ids counts.
    restore_behavior text,
    -- When offering_override changed last. NULL: it did not change since this column exists.
    offering_override_ms bigint,
    CONSTRAINT customer_pkey PRIMARY KEY (original_app_user_id)
) WITH (autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX customer_first_seen ON entitled.customer USING brin (first_seen_ms int8_minmax_multi_ops) WITH (autosummarize='on');
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer TO entitled_api;
GRANT SELECT ON entitled.customer TO entitled_console;

-- Every id that names a customer.
CREATE TABLE entitled.app_user_id (
    id text COLLATE "C" NOT NULL,
    original_app_user_id text COLLATE "C" NOT NULL,
    first_seen_ms bigint NOT NULL,
    -- Last use of this id by an app or a backend, which decides the id that events name. NULL: the id came with a
    -- purchase or from an operator, or was not used since this column exists.
    last_seen_ms bigint,
    -- The program made this id for an Apple account; it belongs to no device.
    of_account boolean NOT NULL DEFAULT false,
    CONSTRAINT app_user_id_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0.05);
CREATE INDEX app_user_id_caseless ON entitled.app_user_id USING btree (lower(id));
CREATE INDEX app_user_id_customer ON entitled.app_user_id USING btree (original_app_user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.app_user_id TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.app_user_id TO entitled_api;
GRANT SELECT ON entitled.app_user_id TO entitled_console;

-- Attributes of customers, under the id under which they were set. Of several ids of one customer the newest value of a
-- key counts. No record depends on attributes, so they are not in the log. Operators find customers by whole values: an
-- index has their hashes.
CREATE TABLE entitled.customer_attribute (
    app_user_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- NULL: deleted. The row stays, so that an older write does not bring the attribute back.
    value text,
    updated_ms bigint NOT NULL,
    CONSTRAINT customer_attribute_pkey PRIMARY KEY (app_user_id, key)
) WITH (autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.02);
CREATE INDEX customer_attribute_value ON entitled.customer_attribute USING btree (hashtextextended(lower((value COLLATE "C")), (0)::bigint)) WHERE (value IS NOT NULL);
-- The same for customer_attribute_value.
CREATE STATISTICS entitled.customer_attribute_hash ON hashtextextended(lower(value COLLATE "C"), 0::bigint) FROM customer_attribute;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer_attribute TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer_attribute TO entitled_api;
GRANT SELECT ON entitled.customer_attribute TO entitled_console;

-- What operators noted on customers. A deletion of the customer removes the rows.
CREATE TABLE entitled.customer_note (
    id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    -- An id of the customer: notes stay with the customer who has it.
    app_user_id text COLLATE "C" NOT NULL,
    -- The name of the operator, or of the user of the host.
    author text COLLATE "C" NOT NULL,
    made_ms bigint NOT NULL,
    text text NOT NULL,
    CONSTRAINT customer_note_pkey PRIMARY KEY (id),
    CONSTRAINT customer_note_app_user_id_fkey FOREIGN KEY (app_user_id) REFERENCES app_user_id(id) ON DELETE CASCADE
);
CREATE INDEX customer_note_customer ON entitled.customer_note USING btree (app_user_id, id);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer_note TO entitled_worker;
GRANT SELECT, DELETE ON entitled.customer_note TO entitled_api;
GRANT SELECT ON entitled.customer_note TO entitled_console;

-- Apple accounts of an app and environment. Judging the owners of an account's purchases locks its row, after the
-- lanes.
CREATE TABLE entitled.account (
    -- 64 bits of a hash of app, environment and appTransactionId, or of the purchase where Apple signed none.
    number bigint NOT NULL,
    -- Some act was judged by whether a subscription was active, so that any new fact may change the result.
    judges_activity boolean NOT NULL DEFAULT false,
    -- An upgrade kept an owner whom the rules would not give. Only then the row names the account.
    rules_differ boolean NOT NULL DEFAULT false,
    environment smallint,
    app text COLLATE "C",
    id text COLLATE "C",
    CONSTRAINT account_pkey PRIMARY KEY (number)
);
-- The accounts that `entitled doctor` names.
CREATE INDEX account_rules_differ ON entitled.account USING btree (app, environment, id) WHERE rules_differ;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account TO entitled_api;
GRANT SELECT ON entitled.account TO entitled_console;

-- Ids that are one customer because of what an account bought. With the joins in action these are all. They follow from
-- facts: a row goes when a later fact says otherwise.
CREATE TABLE entitled.account_join (
    account text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    one text COLLATE "C" NOT NULL,
    other text COLLATE "C" NOT NULL,
    -- Since when they are one customer.
    at_ms bigint NOT NULL,
    CONSTRAINT account_join_pkey PRIMARY KEY (one, other, account, app, environment)
);
CREATE INDEX account_join_account ON entitled.account_join USING btree (account);
CREATE INDEX account_join_other ON entitled.account_join USING btree (other);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account_join TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account_join TO entitled_api;
GRANT SELECT ON entitled.account_join TO entitled_console;

-- Accounts that a worker judges again, because customers were joined or separated elsewhere.
CREATE TABLE entitled.account_due (
    seq bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    account bigint NOT NULL,
    CONSTRAINT account_due_pkey PRIMARY KEY (seq)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account_due TO entitled_worker;
GRANT SELECT, INSERT ON entitled.account_due TO entitled_api;
GRANT SELECT ON entitled.account_due TO entitled_console;

-- Lanes in which purchases of this account lie, or lay, and of the purchases that go on as others. Written on the
-- coordinator of a cluster, together with the purchase; empty on one Postgres.
CREATE TABLE entitled.account_lane (
    -- As in account.
    account bigint NOT NULL,
    lane smallint NOT NULL,
    CONSTRAINT account_lane_pkey PRIMARY KEY (account, lane)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account_lane TO entitled_worker;
GRANT SELECT, INSERT ON entitled.account_lane TO entitled_api;
GRANT SELECT ON entitled.account_lane TO entitled_console;

-- Lanes in which purchases with this owner lie, or lay: a question about an owner asks only the servers that have them.
-- Written on the coordinator of a cluster, together with the purchase; empty on one Postgres.
CREATE TABLE entitled.owner_lane (
    owner text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    CONSTRAINT owner_lane_pkey PRIMARY KEY (owner, lane)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.owner_lane TO entitled_worker;
GRANT SELECT, INSERT, DELETE ON entitled.owner_lane TO entitled_api;
GRANT SELECT ON entitled.owner_lane TO entitled_console;

-- The configured rules for owners, and since when: tokens that were signed at a time are judged by the rules of then.
CREATE TABLE entitled.owner_setting (
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    since_ms bigint NOT NULL,
    restore_behavior text NOT NULL,
    uses_tokens boolean NOT NULL,
    CONSTRAINT owner_setting_pkey PRIMARY KEY (app, environment, since_ms)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.owner_setting TO entitled_worker;
GRANT SELECT ON entitled.owner_setting TO entitled_api;
GRANT SELECT ON entitled.owner_setting TO entitled_console;

-- The secret from which anonymous ids of owners follow: a program that knows the id of a customer may act for them in
-- an app. Empty in databases that had customers before it.
CREATE TABLE entitled.owner_salt (
    salt bytea NOT NULL
);
GRANT SELECT ON entitled.owner_salt TO entitled_worker;
GRANT SELECT ON entitled.owner_salt TO entitled_api;

-- When an app last posted, to the hour: first events wait for the name of the buyer only where posts arrive.
CREATE TABLE entitled.app_post (
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    last_ms bigint NOT NULL,
    CONSTRAINT app_post_pkey PRIMARY KEY (app, environment)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.app_post TO entitled_worker;
GRANT SELECT, INSERT, UPDATE ON entitled.app_post TO entitled_api;
GRANT SELECT ON entitled.app_post TO entitled_console;

-- Purchases that apps posted, and whether Apple was asked for everything of their Apple accounts. The API asks while
-- the app waits; where Apple does not answer in time, a row becomes due in the transaction that keeps the post, and the
-- leader asks until Apple answers.
CREATE TABLE entitled.account_look (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The transaction by which Apple is asked.
    transaction_id text COLLATE "C" NOT NULL,
    -- Apple's id of the account (appTransactionId). NULL: not known; then the row stands for its purchase alone.
    account text COLLATE "C",
    -- When everything that Apple knows of the account was here last. NULL: never.
    looked_ms bigint,
    -- The first of the posts to which Apple's answer belongs. NULL: no post waits for it.
    since_ms bigint,
    -- When Apple is asked next. NULL: nothing is due.
    next_ms bigint,
    -- Which line it waits in: 0 restores, 1 restores that Apple was asked about in vain, 2 everything else.
    turn smallint NOT NULL DEFAULT 0,
    -- How often Apple was asked in vain since it became due.
    attempts integer NOT NULL DEFAULT 0,
    -- Apple's name of the page of the history up to which everything is here. NULL: it is read from its beginning.
    revision text COLLATE "C",
    -- Transactions that the app named without their signed data, and that Apple is asked for one by one where the
    -- history lacks them.
    others text[] COLLATE "C" NOT NULL DEFAULT '{}'::text[],
    CONSTRAINT account_look_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
);
CREATE INDEX account_look_account ON entitled.account_look USING btree (account, app, environment) WHERE ((account IS NOT NULL) AND (looked_ms IS NOT NULL));
CREATE INDEX account_look_due ON entitled.account_look USING btree (app, environment, turn, next_ms) WHERE (next_ms IS NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.account_look TO entitled_worker;
GRANT SELECT, INSERT, UPDATE ON entitled.account_look TO entitled_api;
GRANT SELECT ON entitled.account_look TO entitled_console;

-- MARK: Events and deliveries

-- Events for webhooks. Rows stay forever, because their ids must remain unique; retention empties the body.
CREATE TABLE entitled.event (
    lane smallint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C",
    created_ms bigint NOT NULL,
    body bytea NOT NULL,
    -- Number among the events of its purchase, from 1. NULL: about no purchase, or older than the numbers.
    sequence integer,
    CONSTRAINT event_pkey PRIMARY KEY (lane, id)
) WITH (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000, autovacuum_freeze_min_age=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.01);
-- Some 150 bytes for each megabyte: rows come nearly in that order. Ranges keep several intervals, so that a page that
-- is filled again after years does not widen its range.
CREATE INDEX event_created ON entitled.event USING brin (created_ms int8_minmax_multi_ops) WITH (autosummarize='on');
-- Finds the last number of a purchase. Rows of events stay, so that no counter can be lost or set back. By a hash,
-- because there is an entry for each event.
CREATE INDEX event_sequence ON entitled.event USING btree (hashtext(original_transaction_id)) WHERE (sequence IS NOT NULL);
-- The events that event_sequence leaves out.
CREATE INDEX event_unnumbered ON entitled.event USING btree (hashtext(original_transaction_id)) WHERE ((sequence IS NULL) AND (original_transaction_id IS NOT NULL));
-- How many events a purchase has: the planner passes over what is known of the expression by event_sequence, which is
-- partial.
CREATE STATISTICS entitled.event_purchase ON hashtext(original_transaction_id) FROM event;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.event TO entitled_worker;
GRANT SELECT, INSERT ON entitled.event TO entitled_api;
GRANT SELECT ON entitled.event TO entitled_console;

-- Events that were made to be sent to one endpoint again under another id. No other endpoint gets them.
CREATE TABLE entitled.event_copy (
    lane smallint NOT NULL,
    id uuid NOT NULL,
    original uuid NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    CONSTRAINT event_copy_pkey PRIMARY KEY (lane, id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.event_copy TO entitled_worker;
GRANT SELECT ON entitled.event_copy TO entitled_api;
GRANT SELECT ON entitled.event_copy TO entitled_console;

-- One row for each event and endpoint; its id follows from both.
CREATE TABLE entitled.delivery (
    lane smallint NOT NULL,
    id uuid NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    event uuid NOT NULL,
    event_type text NOT NULL,
    -- 0 pending, 1 delivered, 2 dead, 3 held (the endpoint is disabled), 4 blocked (waits for an earlier delivery of
    -- the same purchase). Of the open deliveries of a purchase, the first is never blocked.
    state smallint NOT NULL,
    attempts smallint NOT NULL DEFAULT 0,
    -- Attempts before the last resend: the retry schedule counts from here.
    round_start smallint NOT NULL DEFAULT 0,
    -- When a pending delivery is due; since when a blocked one is blocked.
    next_ms bigint NOT NULL,
    last_status smallint,
    -- Why it is dead or held.
    reason text,
    created_ms bigint NOT NULL,
    -- The purchase, for endpoints that get events in order. NULL for the others.
    ordered_by uuid,
    -- Number of the event of that purchase.
    sequence bigint,
    -- The notification, in the same lane, of a delivery that forwards it as it came; such a delivery has no event.
    notification_seq bigint,
    -- The id that the consumer sees of such a delivery.
    webhook_id text,
    -- The last job of an operator's that sent it again or gave it up. NULL: none did.
    job bigint,
    CONSTRAINT delivery_pkey PRIMARY KEY (lane, id)
) WITH (fillfactor=85, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_analyze_scale_factor=0.02, autovacuum_freeze_min_age=0);
-- The blocked deliveries, the longest wait first.
CREATE INDEX delivery_blocked ON entitled.delivery USING btree (lane, endpoint, next_ms) WHERE (state = 4);
CREATE INDEX delivery_created ON entitled.delivery USING btree (created_ms);
CREATE INDEX delivery_due ON entitled.delivery USING btree (lane, endpoint, next_ms) WHERE (state = 0);
CREATE INDEX delivery_held ON entitled.delivery USING btree (lane, endpoint) WHERE (state = 3);
CREATE INDEX delivery_job ON entitled.delivery USING btree (job, state) WHERE (job IS NOT NULL);
-- Finished deliveries of notifications, for retention. Empty where no endpoint gets notifications as they came.
CREATE INDEX delivery_notification ON entitled.delivery USING btree (notification_seq) WHERE ((notification_seq IS NOT NULL) AND (state = ANY (ARRAY[1, 2])));
-- The open deliveries of a purchase, in order.
CREATE INDEX delivery_ordered ON entitled.delivery USING btree (lane, endpoint, ordered_by, sequence) WHERE ((ordered_by IS NOT NULL) AND (state = ANY (ARRAY[0, 3, 4])));
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.delivery TO entitled_worker;
GRANT SELECT, INSERT ON entitled.delivery TO entitled_api;
GRANT SELECT ON entitled.delivery TO entitled_console;

-- Requests of deliveries and their outcomes, partitioned by the day (UTC) of their start. What is usual or unknown is
-- NULL and takes no room: nearly every attempt succeeds at once over an open connection.
CREATE TABLE entitled.attempt (
    lane smallint NOT NULL,
    delivery uuid NOT NULL,
    -- As the consumer saw it in the header entitled-attempt.
    number smallint NOT NULL,
    started_ms bigint NOT NULL,
    -- The whole attempt.
    duration_ms integer NOT NULL,
    status smallint,
    outcome text NOT NULL,
    detail text,
    -- Beginning of the response body.
    response bytea,
    -- From the request to the first byte of the response.
    first_byte_ms integer,
    -- The process that made it.
    sender integer,
    -- TCP. NULL: an open connection was used.
    connect_ms integer,
    -- TLS handshake. NULL: an open connection was used.
    tls_ms integer,
    -- Name lookup. NULL: none was needed.
    lookup_ms integer,
    -- 10 or 20. NULL: HTTP/1.1.
    http_version smallint,
    -- Address that was reached: that of the proxy where there is one.
    peer inet,
    reused boolean,
    -- The response was longer than what is stored.
    truncated boolean,
    -- Status line and headers of a response that was no success.
    head bytea,
    CONSTRAINT attempt_pkey PRIMARY KEY (lane, delivery, started_ms)
) PARTITION BY RANGE (started_ms);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.attempt TO entitled_worker;
GRANT SELECT ON entitled.attempt TO entitled_api;
GRANT SELECT ON entitled.attempt TO entitled_console;

-- Takes the rows that no partition was created for. Empty as a rule.
CREATE TABLE entitled.attempt_default PARTITION OF entitled.attempt DEFAULT;
GRANT SELECT ON entitled.attempt_default TO entitled_worker;

-- Processes that made attempts, so that an attempt names one by four bytes. Rows outlive those of worker, until the
-- last attempt is gone.
CREATE TABLE entitled.sender (
    number integer NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    worker uuid NOT NULL,
    host text NOT NULL,
    -- When retention first found no worker of this id. NULL: there is one, or it was not looked for.
    gone_ms bigint,
    CONSTRAINT sender_pkey PRIMARY KEY (number),
    CONSTRAINT sender_worker_key UNIQUE (worker)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.sender TO entitled_worker;
GRANT SELECT ON entitled.sender TO entitled_api;
GRANT SELECT ON entitled.sender TO entitled_console;

-- MARK: Endpoints and keys

-- Webhook endpoints. Removed ones keep their row until their last delivery is gone.
CREATE TABLE entitled.endpoint (
    id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    -- Value of the header authorization, encrypted; only workers read it.
    authorization_sealed bytea,
    -- Filter; empty: all.
    environments text[] NOT NULL,
    -- Filter by event type; empty: all that are not only for endpoints that name them.
    events text[] NOT NULL,
    -- Filter by app; empty: all.
    apps text[] NOT NULL,
    disabled_reason text,
    paused_until_ms bigint NOT NULL DEFAULT 0,
    created_ms bigint NOT NULL,
    removed_ms bigint,
    -- purchase: the events of each purchase arrive in order. none: in any order.
    ordering text NOT NULL DEFAULT 'none'::text,
    -- Pauses between attempts. NULL: as configured.
    retry_schedule_ms bigint[],
    -- Names of custom headers, which are no secret; their values are in headers_sealed.
    header_names text[] NOT NULL DEFAULT '{}'::text[],
    -- Values of custom headers, encrypted.
    headers_sealed bytea,
    has_authorization boolean NOT NULL DEFAULT false,
    -- 0 events, 1 notifications as they came.
    format smallint NOT NULL DEFAULT 0,
    -- Filter by event type: all but these. Empty where events is not.
    excepted_events text[] NOT NULL DEFAULT '{}'::text[],
    -- Whether each event carries the document of its customer.
    includes_subscriber boolean NOT NULL DEFAULT false,
    -- The version of RevenueCat's Firebase extension that receives the events, each in a token of its own. NULL: they
    -- are sent as they are.
    extension_version text,
    -- Grows with each change of the endpoint or of its secrets, except for pauses.
    revision bigint NOT NULL DEFAULT 0,
    CONSTRAINT endpoint_pkey PRIMARY KEY (id),
    CONSTRAINT endpoint_ordering_check CHECK ((ordering = ANY (ARRAY['none'::text, 'purchase'::text])))
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.endpoint TO entitled_worker;
GRANT SELECT (apps, created_ms, disabled_reason, environments, events, excepted_events, extension_version, format, has_authorization, header_names, id, includes_subscriber, ordering, paused_until_ms, removed_ms, retry_schedule_ms, url), UPDATE (created_ms) ON entitled.endpoint TO entitled_api;
GRANT SELECT (apps, created_ms, disabled_reason, environments, events, excepted_events, extension_version, format, has_authorization, header_names, id, includes_subscriber, ordering, paused_until_ms, removed_ms, retry_schedule_ms, url) ON entitled.endpoint TO entitled_console;

-- What webhooks are signed with. During a rotation an endpoint has several that are valid.
CREATE TABLE entitled.endpoint_secret (
    endpoint text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    -- The secret or private key, encrypted.
    sealed bytea NOT NULL,
    -- 0 HMAC secret, 1 Ed25519 key pair.
    kind smallint NOT NULL DEFAULT 0,
    public_key bytea,
    CONSTRAINT endpoint_secret_pkey PRIMARY KEY (endpoint, kind, created_ms)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.endpoint_secret TO entitled_worker;
GRANT SELECT (created_ms, endpoint, expires_ms, kind, public_key) ON entitled.endpoint_secret TO entitled_api;
GRANT SELECT (created_ms, endpoint, expires_ms, kind, public_key) ON entitled.endpoint_secret TO entitled_console;

-- How the consumers of endpoints are doing, from the samples of all workers. A streak of failures begins with the first
-- failure after the last success, and ends with a later success or when an operator enables the endpoint. Written
-- outside of data transactions: what a worker did not write before it died is missing here and nowhere else.
CREATE TABLE entitled.endpoint_health (
    endpoint text COLLATE "C" NOT NULL,
    -- Beginning of the streak.
    failing_since_ms bigint,
    failures bigint NOT NULL DEFAULT 0,
    last_success_ms bigint,
    last_failure_ms bigint,
    -- Outcome of the last failed attempt, as in attempt: timeout, status_500, …
    last_failure text,
    -- Number of warnings that were sent in this streak.
    warned smallint NOT NULL DEFAULT 0,
    -- End of a streak that operators were warned of, until the notice of its end is sent.
    recovered_ms bigint,
    recovered_since_ms bigint,
    -- Why the endpoint is disabled: operator, gone, asked or failing.
    disabled_code text,
    disabled_ms bigint,
    is_disabling_told boolean NOT NULL DEFAULT false,
    -- Number of dead deliveries that no notice has reported yet.
    dead bigint NOT NULL DEFAULT 0,
    -- The newest ten of them.
    dead_newest text[] NOT NULL DEFAULT '{}'::text[],
    -- When a notice last reported dead deliveries.
    dead_told_ms bigint NOT NULL DEFAULT 0,
    CONSTRAINT endpoint_health_pkey PRIMARY KEY (endpoint)
) WITH (fillfactor=50);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.endpoint_health TO entitled_worker;
GRANT SELECT ON entitled.endpoint_health TO entitled_api;
GRANT SELECT ON entitled.endpoint_health TO entitled_console;

-- Fingerprints of the keys that seal secrets, so that a process with another key reports it instead of failing later.
CREATE TABLE entitled.sealing_key (
    fingerprint text NOT NULL,
    created_ms bigint NOT NULL,
    -- Public half of the X25519 pair that follows from the key: operators' secrets are sealed to it, and workers open
    -- them.
    intake_key bytea,
    CONSTRAINT sealing_key_pkey PRIMARY KEY (fingerprint)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.sealing_key TO entitled_worker;
GRANT SELECT (created_ms, intake_key) ON entitled.sealing_key TO entitled_console;

-- REST keys that a command created. The key itself is not stored: it has 190 random bits, so that its SHA-256 reveals
-- nothing.
CREATE TABLE entitled.api_key (
    id text COLLATE "C" NOT NULL,
    -- public (of apps) or secret (of backends).
    kind text NOT NULL,
    -- NULL: every app.
    app text COLLATE "C",
    -- What a secret key may do: read or write.
    scope text NOT NULL,
    name text,
    -- The first characters of the key.
    hint text NOT NULL,
    -- SHA-256 of the key.
    hash bytea NOT NULL,
    created_ms bigint NOT NULL,
    last_used_ms bigint,
    revoked_ms bigint,
    CONSTRAINT api_key_pkey PRIMARY KEY (id),
    CONSTRAINT api_key_hash_key UNIQUE (hash)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.api_key TO entitled_worker;
GRANT SELECT, UPDATE (last_used_ms) ON entitled.api_key TO entitled_api;
GRANT SELECT (app, created_ms, hint, id, kind, last_used_ms, name, revoked_ms, scope) ON entitled.api_key TO entitled_console;

-- MARK: Refunds

-- Apple's consumption requests and their answers, one row for each transaction. A request that is repeated under other
-- UUIDs is the same one; a request after a decision or after the deadline replaces the row.
CREATE TABLE entitled.refund_request (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text NOT NULL,
    reasons text[] NOT NULL,
    repeats integer NOT NULL,
    asked_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    decided_ms bigint,
    decision text,
    -- open; ready: sent at next_ms; sending: written before the answer is sent, and repeated at next_ms if no result
    -- was recorded; sent; failed.
    state text NOT NULL DEFAULT 'open'::text,
    -- Body of the answer without the consent.
    answer text,
    answered_by text,
    answered_ms bigint,
    attempts integer NOT NULL DEFAULT 0,
    next_ms bigint,
    failure text,
    is_warned boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    CONSTRAINT refund_request_pkey PRIMARY KEY (lane, transaction_id, app, environment)
);
CREATE INDEX refund_request_asked ON entitled.refund_request USING btree (asked_ms);
CREATE INDEX refund_request_open ON entitled.refund_request USING btree (deadline_ms) WHERE ((decided_ms IS NULL) AND (state = ANY (ARRAY['open'::text, 'ready'::text, 'sending'::text])));
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.refund_request TO entitled_worker;
GRANT SELECT ON entitled.refund_request TO entitled_api;
GRANT SELECT ON entitled.refund_request TO entitled_console;

-- MARK: Jobs

-- Replays: work that outlives the command that began it. The driver's lease shows which process runs a job; another one
-- takes it over when the lease ends.
CREATE TABLE entitled.job (
    id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    kind text NOT NULL,
    -- What was asked for, in a spelling that is the same for the same command line.
    request text NOT NULL,
    -- JSON for this kind of job.
    parameters text NOT NULL,
    -- Where it is; written with every step.
    cursor text[] NOT NULL DEFAULT '{}'::text[],
    -- Entries that were found.
    matched bigint NOT NULL DEFAULT 0,
    -- Entries that were queued.
    queued bigint NOT NULL DEFAULT 0,
    -- Entries that could not be queued any more.
    skipped bigint NOT NULL DEFAULT 0,
    fraction double precision NOT NULL DEFAULT 0,
    rate integer,
    -- running, done, cancelled or failed.
    state text NOT NULL DEFAULT 'running'::text,
    error text,
    made_by text NOT NULL,
    -- Transaction that created it: one that began before may end after it.
    made_xid bigint NOT NULL DEFAULT ((pg_current_xact_id())::text)::bigint,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    finished_ms bigint,
    driver uuid,
    lease_until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
    -- Of a change: the id of what it is about.
    target text COLLATE "C",
    -- Of a change: why, as the operator wrote it.
    reason text,
    -- Of a change: the operator's own name for it, for a day. NULL: the job is no change.
    idempotency_key text COLLATE "C",
    -- Of a change: SHA-256 of what was asked for, to compare repetitions with.
    request_hash bytea,
    -- Of a change: `key ID` or `session ID` of the operator.
    credential text COLLATE "C",
    -- Of a change: of the client.
    address text COLLATE "C",
    -- Of a change: of the client, cut off.
    user_agent text,
    -- Of a change: how often it failed.
    attempts integer NOT NULL DEFAULT 0,
    -- Of a change: JSON of what was done. NULL: nothing was, or not yet.
    outcome text,
    -- Of a change: what was committed when it was asked for. NULL: the customer was not there, or the row is older than
    -- the column.
    made_snapshot pg_snapshot,
    CONSTRAINT job_pkey PRIMARY KEY (id)
) WITH (fillfactor=50);
CREATE INDEX job_change ON entitled.job USING btree (made_by, idempotency_key) WHERE (idempotency_key IS NOT NULL);
-- The same job does not run twice at a time.
CREATE UNIQUE INDEX job_running ON entitled.job USING btree (md5(request)) WHERE (state = 'running'::text);
CREATE INDEX job_target ON entitled.job USING btree ("left"(target, 256), id) WHERE ((state = 'running'::text) AND (idempotency_key IS NOT NULL));
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.job TO entitled_worker;
GRANT SELECT ON entitled.job TO entitled_api;
GRANT SELECT, INSERT (address, created_ms, credential, idempotency_key, kind, made_by, parameters, reason, request, request_hash, target, updated_ms, user_agent) ON entitled.job TO entitled_console;

-- How far rebuilds came, so that the next one with the same settings goes on there.
CREATE TABLE entitled.rebuild (
    id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    started_ms bigint NOT NULL,
    finished_ms bigint,
    settings text NOT NULL,
    -- The lane that it rebuilds. 256: the ids of the log; 257: customers; 258: done.
    lane smallint NOT NULL DEFAULT 0,
    cursor text[],
    purchases bigint NOT NULL DEFAULT 0,
    customers bigint NOT NULL DEFAULT 0,
    differences bigint NOT NULL DEFAULT 0,
    CONSTRAINT rebuild_pkey PRIMARY KEY (id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.rebuild TO entitled_worker;
GRANT SELECT ON entitled.rebuild TO entitled_api;
GRANT SELECT ON entitled.rebuild TO entitled_console;

-- Kinds of changes that operators ask for, and of entries in the audit. Programs know the same kinds; migrations write
-- the rows.
CREATE TABLE entitled.change_kind (
    kind text COLLATE "C" NOT NULL,
    -- Whether a job can be of this kind; else it is a look alone, such as an export, which the console notes in the
    -- audit.
    is_change boolean NOT NULL,
    -- Whether the target is an app user id.
    names_customer boolean NOT NULL,
    -- Whether a job of this kind is done in several steps.
    is_bulk boolean NOT NULL,
    -- Characters of the parameters that the console's role may write at most.
    longest_parameters integer NOT NULL,
    CONSTRAINT change_kind_pkey PRIMARY KEY (kind),
    CONSTRAINT change_kind_check CHECK ((is_change OR ((NOT is_bulk) AND (longest_parameters = 0)))),
    CONSTRAINT change_kind_longest_parameters_check CHECK (((longest_parameters >= 0) AND (longest_parameters <= 65536)))
);
GRANT SELECT ON entitled.change_kind TO entitled_worker;
GRANT SELECT ON entitled.change_kind TO entitled_console;

-- MARK: Deletions

-- Deletions of customers: what is left to do of them, and forever that they were done.
CREATE TABLE entitled.deletion (
    id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    -- pseudonymise or erase.
    policy text NOT NULL,
    at_ms bigint NOT NULL,
    actor text NOT NULL,
    reason text,
    -- The last of its entries in action.
    action bigint NOT NULL,
    -- Number of ids that named the customer.
    ids integer NOT NULL,
    -- JSON, each id with its pseudonym: the only personal data of this table. NULL once no stored row names the
    -- customer.
    names text,
    is_log_swept boolean NOT NULL DEFAULT false,
    -- sweeping; settling: deliveries that were being sent are examined once more at settle_ms; done.
    state text NOT NULL DEFAULT 'sweeping'::text,
    -- JSON, the rows that were changed or deleted, by table.
    counts text NOT NULL DEFAULT '{}'::text,
    settle_ms bigint,
    finished_ms bigint,
    -- Transaction that deleted the customer. NULL: the row is older than the column.
    made_xid xid8 DEFAULT pg_current_xact_id(),
    CONSTRAINT deletion_pkey PRIMARY KEY (id)
);
CREATE INDEX deletion_open ON entitled.deletion USING btree (id) WHERE (state <> 'done'::text);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.deletion TO entitled_worker;
GRANT SELECT, INSERT ON entitled.deletion TO entitled_api;
GRANT SELECT ON entitled.deletion TO entitled_console;

-- Purchases that a deletion has still to sweep; the transaction that does it deletes the row.
CREATE TABLE entitled.deletion_purchase (
    deletion bigint NOT NULL,
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The new owner. NULL: another customer owns the purchase, and the deleted one owned it before.
    owner text COLLATE "C",
    CONSTRAINT deletion_purchase_pkey PRIMARY KEY (deletion, lane, original_transaction_id, app, environment)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.deletion_purchase TO entitled_worker;
GRANT SELECT, INSERT ON entitled.deletion_purchase TO entitled_api;
GRANT SELECT ON entitled.deletion_purchase TO entitled_console;

-- Deliveries that may have been on their way: their responses arrive later, and are deleted then.
CREATE TABLE entitled.deletion_delivery (
    deletion bigint NOT NULL,
    lane smallint NOT NULL,
    delivery uuid NOT NULL,
    CONSTRAINT deletion_delivery_pkey PRIMARY KEY (deletion, lane, delivery)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.deletion_delivery TO entitled_worker;
GRANT SELECT ON entitled.deletion_delivery TO entitled_api;
GRANT SELECT ON entitled.deletion_delivery TO entitled_console;

-- HMAC-SHA256 of deleted ids and app account tokens in lower case, under the salt: whether a customer was deleted, and
-- what keeps later data from Apple from restoring it.
CREATE TABLE entitled.deletion_id (
    hash bytea NOT NULL,
    deletion bigint NOT NULL,
    at_ms bigint NOT NULL,
    action bigint NOT NULL,
    CONSTRAINT deletion_id_pkey PRIMARY KEY (hash, deletion)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.deletion_id TO entitled_worker;
GRANT SELECT, INSERT ON entitled.deletion_id TO entitled_api;
GRANT SELECT ON entitled.deletion_id TO entitled_console;

-- The key of the hashes in deletion_id.
CREATE TABLE entitled.deletion_salt (
    salt bytea NOT NULL
);
GRANT SELECT ON entitled.deletion_salt TO entitled_worker;
GRANT SELECT ON entitled.deletion_salt TO entitled_api;

-- MARK: Operators

-- People who operate this installation. `entitled users` on the host makes and removes them; removed ones keep their
-- row.
CREATE TABLE entitled.console_user (
    name text COLLATE "C" NOT NULL,
    -- support, integrator, operator, finance or read.
    role text COLLATE "C" NOT NULL,
    -- Parameters, salt and hash of the password. NULL: the user has none.
    password text COLLATE "C",
    -- IANA name of the time zone in which times are shown. NULL: UTC.
    zone text COLLATE "C",
    created_ms bigint NOT NULL,
    -- When the user was removed. NULL: the user is there.
    ended_ms bigint,
    CONSTRAINT console_user_pkey PRIMARY KEY (name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.console_user TO entitled_worker;
GRANT SELECT, UPDATE (password, zone) ON entitled.console_user TO entitled_console;

-- Keys of the operator API, of which only the hash is kept.
CREATE TABLE entitled.operator_key (
    id text COLLATE "C" NOT NULL,
    user_name text COLLATE "C" NOT NULL,
    -- At most that of the user, who decides anew at every request.
    role text COLLATE "C" NOT NULL,
    -- How the key begins.
    hint text COLLATE "C" NOT NULL,
    -- SHA-256 of the key.
    hash bytea NOT NULL,
    created_ms bigint NOT NULL,
    -- When the key ends by itself. NULL: never.
    until_ms bigint,
    last_used_ms bigint,
    -- When the key was revoked. NULL: it was not.
    ended_ms bigint,
    CONSTRAINT operator_key_pkey PRIMARY KEY (id),
    CONSTRAINT operator_key_hash_key UNIQUE (hash)
);
CREATE INDEX operator_key_user ON entitled.operator_key USING btree (user_name);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.operator_key TO entitled_worker;
GRANT SELECT, UPDATE (last_used_ms) ON entitled.operator_key TO entitled_console;

-- Browsers that operators are logged in with. Rows go a month after the session's end.
CREATE TABLE entitled.console_session (
    -- SHA-256 of the cookie's value, which is kept nowhere.
    hash bytea NOT NULL,
    -- As commands and pages name it; it opens nothing.
    id text COLLATE "C" NOT NULL,
    user_name text COLLATE "C" NOT NULL,
    -- Of the client at its start.
    address text COLLATE "C" NOT NULL,
    -- The User-Agent at its start, cut off.
    browser text COLLATE "C" NOT NULL,
    -- Whether a log-in link began it: its user may set a password without the one before.
    by_link boolean NOT NULL,
    started_ms bigint NOT NULL,
    -- The minute of its last use.
    seen_ms bigint NOT NULL,
    -- When it was logged out or revoked. NULL: neither.
    ended_ms bigint,
    CONSTRAINT console_session_pkey PRIMARY KEY (hash),
    CONSTRAINT console_session_id_key UNIQUE (id),
    CONSTRAINT console_session_user_name_fkey FOREIGN KEY (user_name) REFERENCES console_user(name)
);
CREATE INDEX console_session_user ON entitled.console_session USING btree (user_name, started_ms);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.console_session TO entitled_worker;
GRANT SELECT, INSERT, UPDATE (ended_ms, seen_ms) ON entitled.console_session TO entitled_console;

-- Log-in links, each for one use.
CREATE TABLE entitled.console_link (
    -- SHA-256 of the link's token, which is kept nowhere.
    hash bytea NOT NULL,
    user_name text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,
    -- When the link ends by itself.
    until_ms bigint NOT NULL,
    -- When it was used. NULL: it was not.
    used_ms bigint,
    CONSTRAINT console_link_pkey PRIMARY KEY (hash),
    CONSTRAINT console_link_user_name_fkey FOREIGN KEY (user_name) REFERENCES console_user(name)
);
CREATE INDEX console_link_user ON entitled.console_link USING btree (user_name);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.console_link TO entitled_worker;
GRANT SELECT, UPDATE (used_ms) ON entitled.console_link TO entitled_console;

-- Attempts to log in with a password, by name and by network, which decide how long the next one waits. Rows go after a
-- day.
CREATE TABLE entitled.console_try (
    -- SHA-256 of a name as it was typed, of a user, or of a network.
    subject bytea NOT NULL,
    at_ms bigint NOT NULL,
    is_failure boolean NOT NULL
);
CREATE INDEX console_try_at ON entitled.console_try USING btree (at_ms);
CREATE INDEX console_try_subject ON entitled.console_try USING btree (subject, at_ms);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.console_try TO entitled_worker;
GRANT SELECT, INSERT ON entitled.console_try TO entitled_console;

-- What operators did, and what was refused to them. Nothing but retention deletes rows; the deletion of a customer puts
-- pseudonyms in.
CREATE TABLE entitled.audit (
    id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    at_ms bigint NOT NULL,
    -- The name of the operator.
    actor text COLLATE "C" NOT NULL,
    credential text COLLATE "C",
    address text COLLATE "C",
    user_agent text,
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    reason text,
    -- done, refused or failed.
    outcome text COLLATE "C" NOT NULL,
    -- Why it was refused, or failed; of an export how many rows, and the filters. NULL: it was done.
    message text,
    -- The number of the change. NULL: it was refused before it became one.
    job bigint,
    -- Of an entry without a job: what was committed when it was made. NULL: as for jobs.
    made_snapshot pg_snapshot,
    CONSTRAINT audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_at ON entitled.audit USING btree (at_ms);
CREATE INDEX audit_target ON entitled.audit USING btree (target);
GRANT SELECT, INSERT, UPDATE (message, reason, target), DELETE ON entitled.audit TO entitled_worker;
GRANT SELECT, INSERT (actor, address, at_ms, credential, kind, message, outcome, reason, target, user_agent) ON entitled.audit TO entitled_console;

-- MARK: Reports

-- Purchases whose transactions and entitlements are in report_transaction and report_entitlement, and of which state.
CREATE TABLE entitled.report_purchase (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- The rows are those of the purchase while version and updated_ms are the same there.
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    -- Names the program and the settings that the rows were computed with.
    stamp text COLLATE "C" NOT NULL,
    -- What reports count of the purchase: dates, states and amounts by product, currency and country, in a form of the
    -- program's own. Empty: nothing is. NULL: not computed yet.
    history bytea,
    CONSTRAINT report_purchase_pkey PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor=85, autovacuum_vacuum_scale_factor=0.05);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.report_purchase TO entitled_worker;
GRANT SELECT ON entitled.report_purchase TO entitled_api;
GRANT SELECT ON entitled.report_purchase TO entitled_console;

-- One row for each transaction of a purchase, as its facts say last. Computed from facts and configuration.
CREATE TABLE entitled.report_transaction (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    product_id text NOT NULL,
    product_type text,
    period_type text NOT NULL,
    purchased_ms bigint NOT NULL,
    expires_ms bigint,
    -- Access end by this transaction, grace included. NULL: none.
    access_ends_ms bigint,
    refunded_ms bigint,
    renewal_number integer NOT NULL,
    offer_type smallint,
    offer_id text,
    country text,
    currency text,
    -- What was paid, in thousandths of the currency's unit. NULL: Apple signed no price.
    price_milliunits bigint,
    -- What of it went back. NULL: as price_milliunits.
    refunded_milliunits bigint,
    -- Apple's share of the price, in millionths.
    commission_millionths integer NOT NULL,
    -- The taxes' share of the price, in millionths.
    tax_millionths integer NOT NULL,
    -- The price in thousandths of a US dollar. NULL: no price, or no rate of its currency.
    price_usd_milliunits bigint,
    -- The same less what went back.
    net_usd_milliunits bigint,
    is_trial_conversion boolean NOT NULL,
    is_family_share boolean NOT NULL,
    is_upgraded boolean NOT NULL,
    CONSTRAINT report_transaction_pkey PRIMARY KEY (lane, original_transaction_id, app, environment, transaction_id)
) WITH (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=500000, autovacuum_analyze_scale_factor=0.01);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.report_transaction TO entitled_worker;
GRANT SELECT ON entitled.report_transaction TO entitled_api;
GRANT SELECT ON entitled.report_transaction TO entitled_console;

-- Entitlements that a purchase gave when it was computed, by product. Computed from facts and configuration.
CREATE TABLE entitled.report_entitlement (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    entitlement text NOT NULL,
    product_id text NOT NULL,
    purchased_ms bigint NOT NULL,
    -- Access end, grace included. NULL: none.
    expires_ms bigint,
    -- End of the grace period. NULL: there is none.
    grace_ends_ms bigint,
    CONSTRAINT report_entitlement_pkey PRIMARY KEY (lane, original_transaction_id, app, environment, entitlement, product_id)
) WITH (autovacuum_vacuum_scale_factor=0.05);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.report_entitlement TO entitled_worker;
GRANT SELECT ON entitled.report_entitlement TO entitled_api;
GRANT SELECT ON entitled.report_entitlement TO entitled_console;

-- One row: how far the tables of reports are.
CREATE TABLE entitled.report_refresh (
    is_only boolean NOT NULL DEFAULT true,
    -- Start of the last refresh that was finished: all changes from before it are in, but those of the failed
    -- purchases. NULL: none was.
    started_ms bigint,
    -- Purchases that the last refresh could not bring up to date.
    failed bigint NOT NULL DEFAULT 0,
    CONSTRAINT report_refresh_pkey PRIMARY KEY (is_only),
    CONSTRAINT report_refresh_is_only_check CHECK (is_only)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.report_refresh TO entitled_worker;
GRANT SELECT ON entitled.report_refresh TO entitled_api;
GRANT SELECT ON entitled.report_refresh TO entitled_console;

-- MARK: The schema's version

-- The migrations that were applied. A process works only with the version that its program carries.
CREATE TABLE entitled.schema_version (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    -- The schema of the oldest program that works with this version. NULL: before programs of several versions could
    -- work side by side; only a program of exactly this schema does.
    oldest_program integer,
    CONSTRAINT schema_version_pkey PRIMARY KEY (version)
);
GRANT SELECT (oldest_program, version) ON entitled.schema_version TO entitled_ingest;
GRANT SELECT (oldest_program, version) ON entitled.schema_version TO entitled_worker;
GRANT SELECT (oldest_program, version) ON entitled.schema_version TO entitled_api;
GRANT SELECT (oldest_program, version) ON entitled.schema_version TO entitled_console;

-- Index builds and backfills that a migration leaves to be done after its transaction, while the processes work.
-- `entitled migrate` runs them, and goes on where it was interrupted.
CREATE TABLE entitled.migration_step (
    version integer NOT NULL,
    name text NOT NULL,
    -- Where a backfill is; written with every batch.
    cursor text,
    -- Rows that a backfill has written.
    rows bigint NOT NULL DEFAULT 0,
    started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    moved_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamp with time zone,
    CONSTRAINT migration_step_pkey PRIMARY KEY (version, name)
);
GRANT SELECT ON entitled.migration_step TO entitled_worker;
GRANT SELECT ON entitled.migration_step TO entitled_api;
GRANT SELECT ON entitled.migration_step TO entitled_console;

-- MARK: Views for analysts

CREATE SCHEMA entitled_reports;
GRANT USAGE ON SCHEMA entitled_reports TO entitled_analyst;

-- Customers, one row each. Customers who were deleted are not in it; what they bought belongs to a pseudonym.
CREATE VIEW entitled_reports.customers AS
SELECT
    c.original_app_user_id AS customer_id,
    CASE WHEN c.first_seen_ms BETWEEN -62135596800000 AND 253402300799999 THEN to_timestamp(c.first_seen_ms / 1000.0) END
        AS first_seen_at,
    CASE WHEN c.last_seen_ms BETWEEN -62135596800000 AND 253402300799999 THEN to_timestamp(c.last_seen_ms / 1000.0) END
        AS last_seen_at,
    ARRAY(
        SELECT a.id FROM entitled.app_user_id a WHERE a.original_app_user_id = c.original_app_user_id
        ORDER BY a.first_seen_ms, a.id
    ) AS app_user_ids,
    c.original_application_version AS original_app_version,
    CASE WHEN c.app_purchased_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(c.app_purchased_ms / 1000.0) END AS app_purchased_at
FROM entitled.customer c;
GRANT SELECT ON entitled_reports.customers TO entitled_analyst;

-- Auto-renewable subscriptions as they are now, one row for each original transaction id. Always current.
CREATE VIEW entitled_reports.subscriptions AS
SELECT
    p.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    p.app,
    p.environment = 1 AS is_sandbox,
    p.product_id,
    d.subscription_group,
    CASE WHEN p.access_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.access_ends_ms / 1000.0) END AS access_ends_at,
    CASE WHEN p.grace_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.grace_ends_ms / 1000.0) END AS grace_ends_at,
    CASE WHEN p.revoked_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.revoked_ms / 1000.0) END AS revoked_at,
    p.will_renew,
    coalesce(p.access_ends_ms > extract(epoch FROM now()) * 1000, true) AS has_access,
    CASE WHEN p.updated_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.updated_ms / 1000.0) END AS updated_at
FROM entitled.purchase p
LEFT JOIN entitled.app_user_id a ON a.id = p.owner
LEFT JOIN entitled.product d ON d.product_id = p.product_id AND d.app = p.app AND d.environment = p.environment
WHERE NOT starts_with(p.app, '$') AND (
    d.kind = 'Auto-Renewable Subscription' OR p.access_ends_ms IS NOT NULL AND coalesce(d.kind, '')
        NOT IN ('Non-Consumable', 'Consumable', 'Non-Renewing Subscription'));
GRANT SELECT ON entitled_reports.subscriptions TO entitled_analyst;

-- Transactions with their money, one row for each period of a subscription, each single purchase and each grant by the
-- seller. As fresh as freshness says.
CREATE VIEW entitled_reports.transactions AS
SELECT
    t.transaction_id,
    t.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    CASE WHEN NOT starts_with(t.app, '$') THEN t.app END AS app,
    t.environment = 1 AS is_sandbox,
    CASE WHEN starts_with(t.app, '$') THEN 'promotional' ELSE 'app_store' END AS store,
    t.product_id,
    t.product_type,
    t.period_type,
    t.renewal_number,
    CASE WHEN t.purchased_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.purchased_ms / 1000.0) END AS purchased_at,
    CASE WHEN t.expires_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.expires_ms / 1000.0) END AS expires_at,
    CASE WHEN t.access_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.access_ends_ms / 1000.0) END AS access_ends_at,
    CASE WHEN t.refunded_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.refunded_ms / 1000.0) END AS refunded_at,
    t.is_trial_conversion,
    t.is_family_share,
    t.is_upgraded,
    CASE t.offer_type WHEN 1 THEN 'introductory' WHEN 2 THEN 'promotional' WHEN 3 THEN 'offer_code' WHEN 4 THEN 'win_back'
        ELSE t.offer_type::text END AS offer_type,
    t.offer_id,
    t.country,
    t.currency,
    t.price_milliunits,
    t.refunded_milliunits,
    round(t.price_milliunits / 1000.0, 3) AS price,
    round(t.refunded_milliunits / 1000.0, 3) AS refunded,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0, 3) AS net,
    round(t.commission_millionths / 1000000.0, 6) AS commission_share,
    round(t.tax_millionths / 1000000.0, 6) AS tax_share,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0 * t.commission_millionths / 1000000, 6) AS commission,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0 * t.tax_millionths / 1000000, 6) AS tax,
    round(
        (t.price_milliunits - t.refunded_milliunits) / 1000.0
            * (1000000 - t.commission_millionths - t.tax_millionths) / 1000000, 6) AS proceeds,
    round(t.price_usd_milliunits / 1000.0, 3) AS price_usd,
    round(t.net_usd_milliunits / 1000.0, 3) AS net_usd
FROM entitled.report_transaction t
JOIN entitled.purchase p ON p.lane = t.lane AND p.original_transaction_id = t.original_transaction_id AND p.app = t.app
    AND p.environment = t.environment
LEFT JOIN entitled.app_user_id a ON a.id = p.owner;
GRANT SELECT ON entitled_reports.transactions TO entitled_analyst;

-- Events for webhooks, one row each, without their bodies. Always current.
CREATE VIEW entitled_reports.events AS
SELECT
    e.id AS event_id,
    e.type,
    CASE WHEN NOT starts_with(e.app, '$') THEN e.app END AS app,
    e.environment = 1 AS is_sandbox,
    e.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    e.sequence AS purchase_sequence,
    CASE WHEN e.created_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(e.created_ms / 1000.0) END AS created_at,
    e.created_ms
FROM entitled.event e
LEFT JOIN entitled.purchase p ON p.lane = e.lane AND p.original_transaction_id = e.original_transaction_id
    AND p.app = e.app AND p.environment = e.environment
LEFT JOIN entitled.app_user_id a ON a.id = p.owner;
GRANT SELECT ON entitled_reports.events TO entitled_analyst;

-- Entitlements that customers have at the beginning of the transaction that reads it, one row for each customer,
-- entitlement and environment: the one that lasts longest. As fresh as freshness says.
CREATE VIEW entitled_reports.entitlements_now AS
SELECT DISTINCT ON (n.customer_id, n.entitlement, n.is_sandbox) n.*
FROM (
    SELECT
        coalesce(a.original_app_user_id, p.owner) AS customer_id,
        r.entitlement,
        r.environment = 1 AS is_sandbox,
        CASE WHEN NOT starts_with(r.app, '$') THEN r.app END AS app,
        CASE WHEN starts_with(r.app, '$') THEN 'promotional' ELSE 'app_store' END AS store,
        r.product_id,
        r.original_transaction_id,
        CASE WHEN r.purchased_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.purchased_ms / 1000.0) END AS purchased_at,
        CASE WHEN r.expires_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.expires_ms / 1000.0) END AS expires_at,
        CASE WHEN r.grace_ends_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.grace_ends_ms / 1000.0) END AS grace_ends_at
    FROM entitled.report_entitlement r
    JOIN entitled.purchase p ON p.lane = r.lane AND p.original_transaction_id = r.original_transaction_id
        AND p.app = r.app AND p.environment = r.environment
    LEFT JOIN entitled.app_user_id a ON a.id = p.owner
    WHERE r.expires_ms IS NULL OR r.expires_ms > extract(epoch FROM now()) * 1000
) n
ORDER BY n.customer_id, n.entitlement, n.is_sandbox, n.expires_at DESC NULLS FIRST, n.purchased_at DESC,
    n.original_transaction_id, n.product_id;
GRANT SELECT ON entitled_reports.entitlements_now TO entitled_analyst;

-- One row: how fresh transactions and entitlements_now are.
CREATE VIEW entitled_reports.freshness AS
SELECT
    CASE WHEN f.started_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(f.started_ms / 1000.0) END AS refreshed_at,
    f.failed AS failed_purchases
FROM entitled.report_refresh f;
GRANT SELECT ON entitled_reports.freshness TO entitled_analyst;

-- MARK: Functions and triggers

-- Makes the next action get a greater number than this one. Numbers are drawn and discarded, so that the counter never
-- goes back beside transactions that draw from it.
CREATE OR REPLACE FUNCTION entitled.advance_actions(passed bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    counter regclass := pg_get_serial_sequence('entitled.action', 'seq')::regclass;
    drawn bigint := nextval(counter);
BEGIN
    PERFORM nextval(counter) FROM generate_series(drawn + 1, least(passed, drawn + 100000000));
END $function$;
REVOKE ALL ON FUNCTION entitled.advance_actions(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.advance_actions(bigint) TO entitled_worker;

-- Refuses entries of the console's that say that something was done, but for exports.
CREATE OR REPLACE FUNCTION entitled.audit_allowed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    IF NEW.job IS NULL THEN
        SELECT CASE WHEN NOT EXISTS (SELECT FROM change_kind WHERE kind = NEW.kind AND names_customer)
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.job IS NULL
        AND EXISTS (
            SELECT FROM change_kind
            WHERE kind = NEW.kind
                AND (is_change AND NEW.outcome = 'refused'
                    OR NOT is_change AND NEW.outcome = 'done' AND NEW.reason IS NULL))
        AND octet_length(NEW.target) <= 1024 AND coalesce(length(NEW.reason), 0) <= 1000
        AND coalesce(length(NEW.message), 0) <= 4096 AND coalesce(length(NEW.credential), 0) <= 255
        AND coalesce(length(NEW.address), 0) <= 255 AND coalesce(length(NEW.user_agent), 0) <= 255
        AND EXISTS (SELECT FROM console_user WHERE name = NEW.actor AND ended_ms IS NULL)
    THEN
        NEW.at_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the role % notes nothing but what it refused to an operator, and what it exported', current_user
        USING ERRCODE = 'insufficient_privilege';
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.audit_allowed() TO PUBLIC;

-- Refuses jobs of the console's that are no change of an operator.
CREATE OR REPLACE FUNCTION entitled.changes_allowed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    IF NEW.idempotency_key IS NOT NULL THEN
        -- One query, so that both are of one moment.
        SELECT CASE WHEN NOT EXISTS (SELECT FROM change_kind WHERE kind = NEW.kind AND names_customer)
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF length(NEW.parameters)
            <= (SELECT longest_parameters FROM change_kind WHERE kind = NEW.kind AND is_change)
        AND octet_length(NEW.target) BETWEEN 1 AND 1024 AND length(NEW.reason) BETWEEN 1 AND 1000
        AND length(NEW.idempotency_key) BETWEEN 1 AND 255 AND octet_length(NEW.request_hash) = 32
        AND length(NEW.credential) <= 255 AND length(NEW.address) <= 255
        AND coalesce(length(NEW.user_agent), 0) <= 255
        AND EXISTS (SELECT FROM console_user WHERE name = NEW.made_by AND ended_ms IS NULL)
    THEN
        NEW.created_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
        NEW.updated_ms := NEW.created_ms;
        NEW.request := 'change ' || NEW.made_by || ' ' || NEW.idempotency_key;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the role % makes no such job', current_user USING ERRCODE = 'insufficient_privilege';
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.changes_allowed() TO PUBLIC;

-- Why a day of notifications must stay: pending, held or NULL. One short index scan of each lane.
CREATE OR REPLACE FUNCTION entitled.day_need(least_seq bigint, end_seq bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
    SELECT CASE
        WHEN EXISTS (
            SELECT 1 FROM entitled.lane l CROSS JOIN LATERAL (
                SELECT 1 FROM entitled.pending p
                WHERE p.lane = l.lane AND p.seq >= least_seq AND p.seq < end_seq LIMIT 1
            ) waiting) THEN 'pending'
        WHEN EXISTS (
            SELECT 1 FROM entitled.lane l CROSS JOIN LATERAL (
                SELECT 1 FROM entitled.held_notification h
                WHERE h.lane = l.lane AND h.seq >= least_seq AND h.seq < end_seq LIMIT 1
            ) waiting) THEN 'held'
    END
$function$;
REVOKE ALL ON FUNCTION entitled.day_need(bigint, bigint) FROM PUBLIC;

-- The least key of a day. kind is the name of the table: notification, partitioned by seq, or attempt, partitioned by
-- started_ms.
CREATE OR REPLACE FUNCTION entitled.day_start(kind text, day date)
 RETURNS bigint
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    instant bigint := (day - DATE '1970-01-01')::bigint * 86400000;
BEGIN
    CASE kind
        WHEN 'notification' THEN RETURN (instant - 1704067200000) << 22;
        WHEN 'attempt' THEN RETURN instant;
        ELSE RAISE EXCEPTION 'there are no days of %', kind USING ERRCODE = '22023';
    END CASE;
END $function$;
REVOKE ALL ON FUNCTION entitled.day_start(text, date) FROM PUBLIC;

-- Drops the partition of a day: dropped; absent; pending or held: some notification of it still is, which keeps it. It
-- refuses days that are younger than what deduplication and operators rely on, whatever the caller.
CREATE OR REPLACE FUNCTION entitled.drop_day(kind text, day date)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '50ms'
AS $function$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    least_key bigint := entitled.day_start(kind, day);
    end_key bigint := entitled.day_start(kind, day + 1);
    name text := kind || to_char(day, '_YYYYMMDD');
    need text;
BEGIN
    IF day IS NULL OR day >= today - (CASE kind WHEN 'notification' THEN 180 ELSE 7 END) THEN
        RAISE EXCEPTION 'too young to drop: %', day USING ERRCODE = '22023';
    END IF;
    IF to_regclass('entitled.' || name) IS NULL THEN
        RETURN 'absent';
    END IF;
    -- Before the lock, so that a day which is kept keeps nobody waiting; after it, because only that is certain.
    IF kind = 'notification' THEN
        need := entitled.day_need(least_key, end_key);
    END IF;
    IF need IS NOT NULL THEN
        RETURN need;
    END IF;
    EXECUTE format('LOCK TABLE ONLY entitled.%I IN ACCESS EXCLUSIVE MODE', kind);
    IF kind = 'notification' THEN
        need := entitled.day_need(least_key, end_key);
    END IF;
    IF need IS NOT NULL THEN
        RETURN need;
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS entitled.%I', name);
    RETURN 'dropped';
END $function$;
REVOKE ALL ON FUNCTION entitled.drop_day(text, date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.drop_day(text, date) TO entitled_worker;

-- Raises the revision of an endpoint that changes.
CREATE OR REPLACE FUNCTION entitled.endpoint_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    NEW.revision := greatest(OLD.revision + 1, NEW.revision);
    RETURN NEW;
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.endpoint_changed() TO PUBLIC;

-- Raises the revision of the endpoint whose secret changes.
CREATE OR REPLACE FUNCTION entitled.endpoint_secret_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    UPDATE entitled.endpoint SET revision = revision + 1
    WHERE id = CASE TG_OP WHEN 'INSERT' THEN NEW.endpoint ELSE OLD.endpoint END;
    RETURN NULL;
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.endpoint_secret_changed() TO PUBLIC;

-- The API adds assignments (4), grants (6), contexts (7) and posts (8). Facts that Apple signed come from the worker
-- alone, which has checked the signatures. Called once for each statement.
CREATE OR REPLACE FUNCTION entitled.facts_allowed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NULL; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NULL; END IF;
    IF EXISTS (
        SELECT FROM added WHERE kind NOT IN (4, 6, 7, 8) OR header IS NOT NULL OR signature IS NOT NULL)
    THEN
        RAISE EXCEPTION 'the role % adds no facts that Apple signed', current_user
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.facts_allowed() TO PUBLIC;

-- Keeps purchase_fold true to fact, whatever program writes facts. A program that keeps folds in step sets
-- entitled.folds in its transactions; after any other writer the fold is deleted and the lane is marked as touched.
CREATE OR REPLACE FUNCTION entitled.facts_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    IF current_setting('entitled.folds', true) = 'on' THEN RETURN NULL; END IF;
    -- First: it waits for a transaction that is about to keep a state, whose row is seen by the next statement then.
    UPDATE entitled.lane SET touched = touched + 1
    WHERE lane IN (SELECT lane FROM changed) AND lane IN (
        SELECT lane FROM entitled.lane WHERE lane IN (SELECT lane FROM changed) ORDER BY lane FOR NO KEY UPDATE);
    DELETE FROM entitled.purchase_fold s USING changed c
    WHERE s.lane = c.lane AND s.original_transaction_id = c.original_transaction_id AND s.app = c.app
        AND s.environment = c.environment;
    RETURN NULL;
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.facts_changed() TO PUBLIC;

-- Waits until what other transactions wrote of these accounts can be read on all servers of the cluster, and keeps
-- others waiting until this transaction has ended on all.
CREATE OR REPLACE FUNCTION entitled.hold_accounts(accounts bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    number int;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN RETURN; END IF;
    IF cardinality(accounts) > 2000 THEN RAISE EXCEPTION 'too many accounts for one call' USING ERRCODE = '54000'; END IF;
    FOR number IN SELECT DISTINCT hashint8(a) FROM unnest(accounts) AS a ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(4801, number);
    END LOOP;
END $function$;
REVOKE ALL ON FUNCTION entitled.hold_accounts(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.hold_accounts(bigint[]) TO entitled_worker;
GRANT EXECUTE ON FUNCTION entitled.hold_accounts(bigint[]) TO entitled_api;

-- The same for owners: shared by transactions that give purchases to them, alone by those that must see all of these.
CREATE OR REPLACE FUNCTION entitled.hold_owners(owners text[], is_shared boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
    number int;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN RETURN; END IF;
    IF cardinality(owners) > 2000 THEN RAISE EXCEPTION 'too many owners for one call' USING ERRCODE = '54000'; END IF;
    FOR number IN SELECT DISTINCT hashtext(o COLLATE "C") FROM unnest(owners) AS o ORDER BY 1 LOOP
        IF is_shared THEN
            PERFORM pg_advisory_xact_lock_shared(4802, number);
        ELSE
            PERFORM pg_advisory_xact_lock(4802, number);
        END IF;
    END LOOP;
END $function$;
REVOKE ALL ON FUNCTION entitled.hold_owners(text[], boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.hold_owners(text[], boolean) TO entitled_worker;
GRANT EXECUTE ON FUNCTION entitled.hold_owners(text[], boolean) TO entitled_api;

-- Creates the partition of a day and moves its rows from the default partition: made; there: it existed; crowded: the
-- default partition has so many rows of the day that moving them would block ingest. Runs as the owner, because the
-- worker's role may create no tables. Attaching blocks only readers of the default partition; only where rows of the
-- day arrive while they are moved, the whole table is locked.
CREATE OR REPLACE FUNCTION entitled.make_day(kind text, day date)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '50ms'
AS $function$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    least_key bigint := entitled.day_start(kind, day);
    end_key bigint := entitled.day_start(kind, day + 1);
    name text := kind || to_char(day, '_YYYYMMDD');
    reserve text := kind || '_default';
    key text := CASE kind WHEN 'notification' THEN 'seq' ELSE 'started_ms' END;
    search text := format(
        'SELECT count(*) FROM (SELECT 1 FROM entitled.%I WHERE %I >= $1 AND %I < $2 LIMIT 20001) few', reserve, key, key);
    found bigint;
    is_alone boolean;
BEGIN
    IF day IS NULL OR day < DATE '2024-01-01' OR day > today + 31 THEN
        RAISE EXCEPTION 'no day to make: %', day USING ERRCODE = '22023';
    END IF;
    EXECUTE search INTO found USING least_key, end_key;
    is_alone := day = today OR day > today AND found > 0;
    EXECUTE format(
        'LOCK TABLE ONLY entitled.%I IN %s MODE', kind,
        CASE WHEN is_alone THEN 'ACCESS EXCLUSIVE' ELSE 'SHARE UPDATE EXCLUSIVE' END);
    IF to_regclass('entitled.' || name) IS NOT NULL THEN
        RETURN 'there';
    END IF;
    EXECUTE format('LOCK TABLE ONLY entitled.%I IN ACCESS EXCLUSIVE MODE', reserve);
    EXECUTE search INTO found USING least_key, end_key;
    IF day >= today AND (found > 20000 OR found > 0 AND NOT is_alone) THEN
        RETURN 'crowded';
    END IF;
    EXECUTE format(
        'CREATE TABLE entitled.%I (LIKE entitled.%I INCLUDING DEFAULTS INCLUDING STORAGE)', name, kind);
    IF found > 0 THEN
        EXECUTE format(
            'WITH moved AS (DELETE FROM entitled.%I WHERE %I >= $1 AND %I < $2 RETURNING *) '
            'INSERT INTO entitled.%I SELECT * FROM moved', reserve, key, key, name) USING least_key, end_key;
    END IF;
    EXECUTE format(
        'ALTER TABLE entitled.%I ATTACH PARTITION entitled.%I FOR VALUES FROM (%s) TO (%s)', kind, name, least_key,
        end_key);
    RETURN 'made';
END $function$;
REVOKE ALL ON FUNCTION entitled.make_day(text, date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.make_day(text, date) TO entitled_worker;

-- An ingest process records the present minute by the server's clock, or the one before where the statement began in
-- it: other minutes would hide an outage or invent one.
CREATE OR REPLACE FUNCTION entitled.minutes_allowed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    IF floor(extract(epoch FROM clock_timestamp()) / 60) - NEW.minute BETWEEN 0 AND 1 THEN RETURN NEW; END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    RAISE EXCEPTION 'the role % notes no minute but the present one', current_user
        USING ERRCODE = 'insufficient_privilege';
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.minutes_allowed() TO PUBLIC;

-- Sets the time of a chosen offering, unless the statement does.
CREATE OR REPLACE FUNCTION entitled.offering_overridden()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'entitled', 'pg_temp'
AS $function$
BEGIN
    NEW.offering_override_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    RETURN NEW;
END
$function$;
GRANT EXECUTE ON FUNCTION entitled.offering_overridden() TO PUBLIC;

-- The console notes what it refused and exported, and nothing else.
CREATE TRIGGER audit_allowed BEFORE INSERT ON entitled.audit FOR EACH ROW EXECUTE FUNCTION audit_allowed();

-- Notes when the offering of a customer was chosen.
CREATE TRIGGER offering_overridden BEFORE UPDATE OF offering_override ON entitled.customer FOR EACH ROW WHEN (((old.offering_override IS DISTINCT FROM new.offering_override) AND (NOT (old.offering_override_ms IS DISTINCT FROM new.offering_override_ms)))) EXECUTE FUNCTION offering_overridden();

-- Counts the changes of an endpoint.
CREATE TRIGGER endpoint_changed BEFORE UPDATE ON entitled.endpoint FOR EACH ROW WHEN (((to_jsonb(old.*) - 'paused_until_ms'::text) IS DISTINCT FROM (to_jsonb(new.*) - 'paused_until_ms'::text))) EXECUTE FUNCTION endpoint_changed();

-- Counts a changed secret as a change of its endpoint.
CREATE TRIGGER endpoint_secret_changed AFTER INSERT OR DELETE OR UPDATE ON entitled.endpoint_secret FOR EACH ROW EXECUTE FUNCTION endpoint_secret_changed();

-- Drops stored folds that do not contain the new facts.
CREATE TRIGGER facts_added AFTER INSERT ON entitled.fact REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION facts_changed();

-- Rejects facts that only a worker may add, where a grant on the table would say too little. A trigger and no row level
-- policy: with a policy, a role that may read every table could not dump the database.
CREATE TRIGGER facts_allowed AFTER INSERT ON entitled.fact REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION facts_allowed();

-- Drops stored folds that contain deleted facts.
CREATE TRIGGER facts_removed AFTER DELETE ON entitled.fact REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION facts_changed();

-- The console asks for changes, and for no other job.
CREATE TRIGGER changes_allowed BEFORE INSERT ON entitled.job FOR EACH ROW EXECUTE FUNCTION changes_allowed();

-- Rejects minutes that only a worker may add.
CREATE TRIGGER minutes_allowed BEFORE INSERT ON entitled.listening FOR EACH ROW EXECUTE FUNCTION minutes_allowed();
