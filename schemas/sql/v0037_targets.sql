-- Targets of changes fit into indexes, a change says which customer it is about, and reports say what they lack.

-- Made again after this transaction, on the beginning of the target: a row of any length fits into that.
DROP INDEX IF EXISTS entitled.job_target;

-- An id has at most 1024 bytes. The guard counted characters, so that a console that is taken over could ask for what no index
-- takes, and what no worker could end.
WITH ended AS (
    UPDATE entitled.job SET state = 'failed', error = 'The target is longer than 1024 bytes.', fraction = 1,
        updated_ms = t.now, finished_ms = t.now
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) t
    WHERE state = 'running' AND idempotency_key IS NOT NULL AND octet_length(target) > 1024
    RETURNING id, made_by, credential, address, user_agent, kind, target, reason, error, t.now
)
INSERT INTO entitled.audit (at_ms, actor, credential, address, user_agent, kind, target, reason, outcome, message, job)
SELECT now, made_by, credential, address, user_agent, kind, left(target, 256), reason, 'failed', error, id FROM ended;

-- Whom a change means is decided by what was committed when it was asked for. Time does not tell: a deletion commits after its
-- instant, and an app may make another customer of the same id a moment later.
ALTER TABLE entitled.job ADD COLUMN made_snapshot pg_snapshot;
ALTER TABLE entitled.audit ADD COLUMN made_snapshot pg_snapshot;
-- Not in one statement: rows that are there have none.
ALTER TABLE entitled.deletion ADD COLUMN made_xid xid8;
ALTER TABLE entitled.deletion ALTER COLUMN made_xid SET DEFAULT pg_current_xact_id();

CREATE OR REPLACE FUNCTION entitled.changes_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF NEW.idempotency_key IS NOT NULL THEN
        -- One query, so that both are of one moment.
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke') OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause')
        AND octet_length(NEW.target) BETWEEN 1 AND 1024 AND length(NEW.reason) BETWEEN 1 AND 1000
        AND length(NEW.idempotency_key) BETWEEN 1 AND 255 AND octet_length(NEW.request_hash) = 32
        AND length(NEW.parameters) <= 16384 AND length(NEW.credential) <= 255 AND length(NEW.address) <= 255
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
$$;

CREATE OR REPLACE FUNCTION entitled.audit_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF NEW.job IS NULL THEN
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke') OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.outcome = 'refused' AND NEW.job IS NULL
        AND NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause')
        AND octet_length(NEW.target) <= 1024 AND coalesce(length(NEW.reason), 0) <= 1000
        AND coalesce(length(NEW.message), 0) <= 4096 AND coalesce(length(NEW.credential), 0) <= 255
        AND coalesce(length(NEW.address), 0) <= 255 AND coalesce(length(NEW.user_agent), 0) <= 255
        AND EXISTS (SELECT FROM console_user WHERE name = NEW.actor AND ended_ms IS NULL)
    THEN
        NEW.at_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the role % notes nothing but what it refused to an operator', current_user
        USING ERRCODE = 'insufficient_privilege';
END
$$;

ALTER TABLE entitled.report_refresh ADD COLUMN failed bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW entitled_reports.freshness AS
SELECT
    CASE WHEN f.started_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(f.started_ms / 1000.0) END AS refreshed_at,
    f.failed AS failed_purchases
FROM entitled.report_refresh f;

COMMENT ON COLUMN entitled.job.made_snapshot IS
    'Of a change: what was committed when it was asked for. NULL: the customer was not there, or the row is older than the '
    'column.';
COMMENT ON COLUMN entitled.audit.made_snapshot IS
    'Of an entry without a job: what was committed when it was made. NULL: as for jobs.';
COMMENT ON COLUMN entitled.deletion.made_xid IS
    'Transaction that deleted the customer. NULL: the row is older than the column.';
COMMENT ON COLUMN entitled.report_refresh.started_ms IS
    'Start of the last refresh that was finished: all changes from before it are in, but those of the failed purchases. NULL: '
    'none was.';
COMMENT ON COLUMN entitled.report_refresh.failed IS 'Purchases that the last refresh could not bring up to date.';
COMMENT ON COLUMN entitled_reports.freshness.refreshed_at IS
    'Every change from before this time is in them, but those of failed_purchases. NULL: no refresh was finished, so that they '
    'are empty or incomplete; reports.refresh is not set, or the first one still runs or made no rows.';
COMMENT ON COLUMN entitled_reports.freshness.failed_purchases IS
    'Purchases that the last refresh could not bring up to date: their rows are missing, or are those of an earlier state. The '
    'workers'' log names them.';
