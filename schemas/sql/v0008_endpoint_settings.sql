-- What an endpoint can be set to, key pairs beside secrets, and deliveries of notifications as they came.

-- NULL: the configuration's schedule. The headers' names, and whether there is an authorization, are no secret; the values
-- are sealed. `format`: 0 events, 1 notifications as they came.
ALTER TABLE entitled.endpoint
    ADD COLUMN retry_schedule_ms bigint[],
    ADD COLUMN header_names text[] NOT NULL DEFAULT '{}',
    ADD COLUMN headers_sealed bytea,
    ADD COLUMN has_authorization boolean NOT NULL DEFAULT false,
    ADD COLUMN format smallint NOT NULL DEFAULT 0;
UPDATE entitled.endpoint SET has_authorization = true WHERE authorization_sealed IS NOT NULL;

-- `kind`: 0 the secret of HMAC signatures, 1 an ed25519 key pair, whose public half is no secret.
ALTER TABLE entitled.endpoint_secret
    ADD COLUMN kind smallint NOT NULL DEFAULT 0,
    ADD COLUMN public_key bytea;
ALTER TABLE entitled.endpoint_secret
    DROP CONSTRAINT endpoint_secret_pkey, ADD PRIMARY KEY (endpoint, kind, created_ms);

-- A delivery of a notification as it came has no event: it names the notification, in its own lane, and the id that the
-- consumer sees. For all others both are NULL, which takes no room.
ALTER TABLE entitled.delivery
    ADD COLUMN notification_seq bigint,
    ADD COLUMN webhook_id text;
-- For cleaning: what has come to its end. Empty where nobody gets notifications as they came.
CREATE INDEX delivery_notification ON entitled.delivery (notification_seq)
    WHERE notification_seq IS NOT NULL AND state IN (1, 2);

-- The keys that a worker could open secrets with, so that nothing is sealed with one that it lacks.
ALTER TABLE entitled.worker ADD COLUMN sealing_keys text[] NOT NULL DEFAULT '{}';

-- MARK: who may do what

GRANT SELECT (retry_schedule_ms, header_names, has_authorization, format) ON entitled.endpoint TO entitled_api;
GRANT SELECT (endpoint, kind, created_ms, expires_ms, public_key) ON entitled.endpoint_secret TO entitled_api;
