-- Attributes of customers, a customer's own restore behaviour, and what the API may do with identities.

-- What apps and backends know of a customer, under the id under which they said it: whoever is joined brings theirs, and
-- of one key the newest counts (of those that are set once, the first). NULL: it was deleted, and an older write does not
-- bring it back. No record depends on it, so it is in no log.
CREATE TABLE entitled.customer_attribute (
    app_user_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text,
    updated_ms bigint NOT NULL,
    PRIMARY KEY (app_user_id, key)
);

-- In place of the configuration's, for what this customer owns. Follows from the log: the last word about any id counts.
ALTER TABLE entitled.customer ADD COLUMN restore_behavior text;

-- MARK: who may do what

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer_attribute TO entitled_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.customer_attribute TO entitled_api;

-- Joining customers, moving purchases and deleting, as the command line does it. Locking a row needs the right to change
-- some column: of lanes it is the epoch, which a worker mends when it takes the lane anew; of endpoints their age.
GRANT INSERT, UPDATE, DELETE ON entitled.customer, entitled.app_user_id TO entitled_api;
GRANT UPDATE (epoch) ON entitled.lane TO entitled_api;
GRANT UPDATE (created_ms) ON entitled.endpoint TO entitled_api;
GRANT INSERT ON entitled.action, entitled.fact, entitled.event, entitled.delivery TO entitled_api;
GRANT UPDATE (owner, version, updated_ms) ON entitled.purchase TO entitled_api;

-- MARK: ids that nobody can guess

-- What the anonymous ids of owners are made with: whoever knows the id of a customer may act for them in an app. Empty where
-- there are customers already: the ids that they were given have to be found again.
CREATE TABLE entitled.owner_salt (
    salt bytea NOT NULL
);
INSERT INTO entitled.owner_salt
    SELECT CASE WHEN EXISTS (SELECT FROM entitled.customer) THEN ''::bytea
        ELSE uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) END;
GRANT SELECT ON entitled.owner_salt TO entitled_worker, entitled_api;

-- MARK: room

-- Tables of the API's own cost a little of what a notification may take on disk; purchases give it back. A tenth of a page is
-- room for the next version of four rows of it.
ALTER TABLE entitled.purchase SET (fillfactor = 90);
