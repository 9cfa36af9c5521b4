-- What Apple sends while the tables of the log are locked for long, as when they are moved onto a cluster.

CREATE TABLE entitled.diverted_notification (
    seq bigint PRIMARY KEY,
    signed_ms bigint,
    received_ms bigint NOT NULL,
    environment smallint NOT NULL,
    source smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    uuid text NOT NULL,
    type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    header bytea NOT NULL,
    payload bytea NOT NULL,
    signature bytea NOT NULL
);

COMMENT ON TABLE entitled.diverted_notification IS
    'Verified notifications that ingest accepted while the log could not be written; the leader puts them into the log.';
COMMENT ON COLUMN entitled.diverted_notification.seq IS
    'Made like the seq of notifications: the order in which they came. In the log they get another one.';
COMMENT ON COLUMN entitled.diverted_notification.header IS
    'The base64url header segment itself: jws_header may be locked, too.';
COMMENT ON COLUMN entitled.diverted_notification.payload IS 'Packed as in notification.';
COMMENT ON COLUMN entitled.diverted_notification.source IS 'As in notification.';
