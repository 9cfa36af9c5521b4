-- What Apple asks before it decides on a refund (CONSUMPTION_REQUEST), and what it was told.
--
-- One row a transaction: a question that comes again, under other UUIDs, is the same one. Only what is asked after a
-- decision, or when the time was over, is another, which takes the row. `answer` is the body without the consent.
-- `state`: `open`; `ready`: to be sent at `next_ms`; `sending`: written before it is sent, and sent again at `next_ms` if
-- nobody wrote what came of it; `sent`; `failed`.
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
    state text NOT NULL DEFAULT 'open',
    answer text,
    answered_by text,
    answered_ms bigint,
    attempts integer NOT NULL DEFAULT 0,
    next_ms bigint,
    failure text,
    is_warned boolean NOT NULL DEFAULT false,
    is_told boolean NOT NULL DEFAULT false,
    PRIMARY KEY (lane, transaction_id, app, environment)
);

-- What is undecided and unanswered: by its deadline, so that what is over costs nothing.
CREATE INDEX refund_request_open ON entitled.refund_request (deadline_ms)
    WHERE decided_ms IS NULL AND state IN ('open', 'ready', 'sending');
CREATE INDEX refund_request_asked ON entitled.refund_request (asked_ms);

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.refund_request TO entitled_worker;
GRANT SELECT ON entitled.refund_request TO entitled_api;
