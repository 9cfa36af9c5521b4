-- In which lanes the purchases of an owner and of an account lie: on a cluster it says which servers have to be asked.

CREATE TABLE entitled.owner_lane (
    owner text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    PRIMARY KEY (owner, lane)
);

CREATE TABLE entitled.account_lane (
    account bigint NOT NULL,
    lane smallint NOT NULL,
    PRIMARY KEY (account, lane)
);

COMMENT ON TABLE entitled.owner_lane IS
    'Lanes in which purchases with this owner lie, or lay: a question about an owner asks only the servers that have them. '
    'Written on the coordinator of a cluster, together with the purchase; empty on one Postgres.';
COMMENT ON TABLE entitled.account_lane IS
    'Lanes in which purchases of this account lie, or lay, and of the purchases that go on as others. Written on the coordinator '
    'of a cluster, together with the purchase; empty on one Postgres.';
COMMENT ON COLUMN entitled.account_lane.account IS 'As in account.';

-- A transaction over several servers is committed on the coordinator first, and row locks keep nothing waiting from then on, though
-- the servers commit a moment later. Advisory locks last until they have. The roles may take no other ones, and these do nothing on
-- one Postgres. Their keys have two parts, unlike the one of migrations.

CREATE FUNCTION entitled.hold_accounts(accounts bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    number int;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN RETURN; END IF;
    IF cardinality(accounts) > 2000 THEN RAISE EXCEPTION 'too many accounts for one call' USING ERRCODE = '54000'; END IF;
    FOR number IN SELECT DISTINCT hashint8(a) FROM unnest(accounts) AS a ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(4801, number);
    END LOOP;
END $$;

CREATE FUNCTION entitled.hold_owners(owners text[], is_shared boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
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
END $$;

COMMENT ON FUNCTION entitled.hold_accounts(bigint[]) IS
    'Waits until what other transactions wrote of these accounts can be read on all servers of the cluster, and keeps others '
    'waiting until this transaction has ended on all.';
COMMENT ON FUNCTION entitled.hold_owners(text[], boolean) IS
    'The same for owners: shared by transactions that give purchases to them, alone by those that must see all of these.';
