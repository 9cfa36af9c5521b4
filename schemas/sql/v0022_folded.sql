-- What applying costs depends on what is new, not on how long a purchase has lived.

-- The same content is signed again and again; one row stands for it. `signed_again`: the other times, in ms; NULL: once.
ALTER TABLE entitled.fact ADD COLUMN signed_again bigint[];

-- What the facts of a purchase with many of them come to, so that they need not be read from the beginning each time. `state`: in a
-- form of the program's (`codec`), compressed; `tail`: the same of what came since, so that the whole is written now and then only.
-- It follows from `fact`, and is made again where it is missing or of another form. `facts`: how many rows it stands for.
CREATE TABLE entitled.purchase_fold (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    codec smallint NOT NULL,
    facts bigint NOT NULL,
    folded_ms bigint NOT NULL,
    state bytea NOT NULL,
    tail bytea,
    PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor = 50);
ALTER TABLE entitled.purchase_fold ALTER COLUMN state SET STORAGE EXTERNAL;
ALTER TABLE entitled.purchase_fold ALTER COLUMN tail SET STORAGE MAIN;

-- How often other processes than the owner of a lane changed something in it: what the owner read before is read again then.
ALTER TABLE entitled.lane ADD COLUMN touched bigint NOT NULL DEFAULT 0;

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_fold TO entitled_worker, entitled_api;
GRANT UPDATE (touched) ON entitled.lane TO entitled_api;
