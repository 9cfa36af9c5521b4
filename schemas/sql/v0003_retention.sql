-- Notifications and attempts by the day (UTC), so that what was kept long enough goes at once; and the only two ways in
-- which the worker's role makes and drops days.
--
-- Facts and actions are never dropped. Events stay as rows for ever, because their ids must stay unique for ever; what
-- goes is their body, which is empty then, and their deliveries. The deduplication table is cleaned row by row.

-- MARK: the days

-- The least key of a day. `kind` is the name of the table: `notification`, divided by `seq`, whose upper 42 bits are
-- milliseconds since 2024, or `attempt`, divided by `started_ms`.
CREATE FUNCTION entitled.day_start(kind text, day date) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    instant bigint := (day - DATE '1970-01-01')::bigint * 86400000;
BEGIN
    CASE kind
        WHEN 'notification' THEN RETURN (instant - 1704067200000) << 22;
        WHEN 'attempt' THEN RETURN instant;
        ELSE RAISE EXCEPTION 'there are no days of %', kind USING ERRCODE = '22023';
    END CASE;
END $$;

-- What still needs a day of notifications: `pending`, `held` or nothing. One short index scan of each lane.
CREATE FUNCTION entitled.day_need(least_seq bigint, end_seq bigint) RETURNS text LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
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
$$;

-- Makes a day and moves there what the default partition has of it: `made`; `there` if it was there; `crowded` if so
-- much of a day that is not over is in the default partition that moving it would keep the endpoint waiting.
--
-- Everybody else goes on: attaching excludes only who looks into the default partition. Only where rows of the day are
-- coming while they are moved, nobody may use the table: they would be put where they do not belong any more.
CREATE FUNCTION entitled.make_day(kind text, day date) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms'
AS $$
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
END $$;

-- Drops a day: `dropped`; `absent` if there is none; `pending` or `held` if something of it still is, which keeps it.
-- Nothing that is younger than what deduplication and operators rely on, whoever asks.
--
-- DETACH … CONCURRENTLY would lock less, but neither in a transaction nor beside a default partition. So everybody who
-- uses the table has to end within the lock timeout, and who comes meanwhile waits no longer than that.
CREATE FUNCTION entitled.drop_day(kind text, day date) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms'
AS $$
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
END $$;

REVOKE ALL ON FUNCTION entitled.day_start(text, date), entitled.day_need(bigint, bigint),
    entitled.make_day(text, date), entitled.drop_day(text, date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION entitled.make_day(text, date), entitled.drop_day(text, date) TO entitled_worker;

-- MARK: what is there already

-- Rows are copied, by some ten thousands a second. The default partition takes what no day is made for, so that nothing
-- that arrives is ever refused for that.
ALTER TABLE entitled.notification RENAME TO notification_undivided;
ALTER TABLE entitled.notification_undivided RENAME CONSTRAINT notification_pkey TO notification_undivided_pkey;
-- The columns of a fixed width first: in the former order every row had ten bytes of padding.
CREATE TABLE entitled.notification (
    seq bigint NOT NULL,
    signed_ms bigint,
    received_ms bigint NOT NULL,
    lane smallint NOT NULL,
    environment smallint NOT NULL,
    source smallint NOT NULL,
    header uuid NOT NULL,
    app text COLLATE "C" NOT NULL,
    uuid text NOT NULL,
    type text NOT NULL,
    subtype text,
    original_transaction_id text COLLATE "C",
    payload bytea NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (lane, seq)
) PARTITION BY RANGE (seq);
ALTER TABLE entitled.notification ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE entitled.notification_default PARTITION OF entitled.notification DEFAULT;

ALTER TABLE entitled.attempt RENAME TO attempt_undivided;
ALTER TABLE entitled.attempt_undivided RENAME CONSTRAINT attempt_pkey TO attempt_undivided_pkey;
CREATE TABLE entitled.attempt (
    LIKE entitled.attempt_undivided INCLUDING DEFAULTS INCLUDING STORAGE,
    PRIMARY KEY (lane, delivery, started_ms)
) PARTITION BY RANGE (started_ms);
CREATE TABLE entitled.attempt_default PARTITION OF entitled.attempt DEFAULT;

DO $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    wanted record;
BEGIN
    FOR wanted IN
        SELECT kind, day FROM (
            SELECT 'notification' AS kind, DATE '2024-01-01' + ((seq >> 22) / 86400000)::int AS day
                FROM entitled.notification_undivided
            UNION SELECT 'attempt', DATE '1970-01-01' + (started_ms / 86400000)::int FROM entitled.attempt_undivided
            UNION SELECT kind, today + ahead
                FROM unnest('{notification,attempt}'::text[]) AS kind, generate_series(0, 7) AS ahead
        ) AS days WHERE day BETWEEN DATE '2024-01-01' AND today + 7 ORDER BY kind, day
    LOOP
        PERFORM entitled.make_day(wanted.kind, wanted.day);
    END LOOP;
END $$;

INSERT INTO entitled.notification (seq, signed_ms, received_ms, lane, environment, source, header, app, uuid, type,
        subtype, original_transaction_id, payload, signature)
    SELECT seq, signed_ms, received_ms, lane, environment, source, header, app, uuid, type, subtype,
        original_transaction_id, payload, signature
    FROM entitled.notification_undivided;
INSERT INTO entitled.attempt SELECT * FROM entitled.attempt_undivided;
DROP TABLE entitled.notification_undivided, entitled.attempt_undivided;

-- `seq` tells when it was.
ALTER TABLE entitled.notification_key DROP COLUMN received_ms;

-- MARK: who may do what

-- On the tables as a whole, as before; nobody has rights on a single day. What the default partitions hold is looked at
-- by who makes the days.
GRANT INSERT ON entitled.notification TO entitled_ingest;
GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.notification, entitled.attempt TO entitled_worker;
GRANT SELECT ON entitled.notification, entitled.attempt TO entitled_api;
GRANT SELECT ON entitled.notification_default, entitled.attempt_default TO entitled_worker;
