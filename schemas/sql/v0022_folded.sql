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

-- A state is what the rows of `fact` come to, whoever changes them. This program says that it keeps states in step
-- (`entitled.folds`, in its transactions); what any other writer changes, such as the version before it while both run, is noticed
-- by the owners of the lanes, and folded anew.
CREATE FUNCTION entitled.facts_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, entitled AS $$
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
$$;
CREATE TRIGGER facts_added AFTER INSERT ON entitled.fact REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entitled.facts_changed();
CREATE TRIGGER facts_removed AFTER DELETE ON entitled.fact REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION entitled.facts_changed();

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.purchase_fold TO entitled_worker, entitled_api;
GRANT UPDATE (touched) ON entitled.lane TO entitled_api;
