-- Apple accounts of which something was posted: whether Apple was asked for everything that they bought.

CREATE TABLE entitled.account_look (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    account text COLLATE "C",
    looked_ms bigint,
    since_ms bigint,
    next_ms bigint,
    turn smallint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    revision text COLLATE "C",
    others text[] COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (lane, original_transaction_id, app, environment)
);
CREATE INDEX account_look_due ON entitled.account_look (app, environment, turn, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX account_look_account ON entitled.account_look (account, app, environment)
    WHERE account IS NOT NULL AND looked_ms IS NOT NULL;

COMMENT ON TABLE entitled.account_look IS
    'Purchases that apps posted, and whether Apple was asked for everything of their Apple accounts. The API asks while the '
    'app waits; where Apple does not answer in time, a row becomes due in the transaction that keeps the post, and the leader '
    'asks until Apple answers.';
COMMENT ON COLUMN entitled.account_look.transaction_id IS 'The transaction by which Apple is asked.';
COMMENT ON COLUMN entitled.account_look.account IS
    'Apple''s id of the account (appTransactionId). NULL: not known; then the row stands for its purchase alone.';
COMMENT ON COLUMN entitled.account_look.looked_ms IS
    'When everything that Apple knows of the account was here last. NULL: never.';
COMMENT ON COLUMN entitled.account_look.since_ms IS
    'The first of the posts to which Apple''s answer belongs. NULL: no post waits for it.';
COMMENT ON COLUMN entitled.account_look.next_ms IS 'When Apple is asked next. NULL: nothing is due.';
COMMENT ON COLUMN entitled.account_look.turn IS
    'Which line it waits in: 0 restores, 1 restores that Apple was asked about in vain, 2 everything else.';
COMMENT ON COLUMN entitled.account_look.attempts IS 'How often Apple was asked in vain since it became due.';
COMMENT ON COLUMN entitled.account_look.revision IS
    'Apple''s name of the page of the history up to which everything is here. NULL: it is read from its beginning.';
COMMENT ON COLUMN entitled.account_look.others IS
    'Transactions that the app named without their signed data, and that Apple is asked for one by one where the history '
    'lacks them.';
