-- What operators can ask for, and what the audit notes besides, are rows of a table, which the guards of jobs and of the audit read.

CREATE TABLE entitled.change_kind (
    kind text COLLATE "C" PRIMARY KEY,
    is_change boolean NOT NULL,
    names_customer boolean NOT NULL,
    is_bulk boolean NOT NULL,
    longest_parameters integer NOT NULL CHECK (longest_parameters BETWEEN 0 AND 65536),
    CHECK (is_change OR NOT is_bulk AND longest_parameters = 0)
);

COMMENT ON TABLE entitled.change_kind IS
    'Kinds of changes that operators ask for, and of entries in the audit. Programs know the same kinds; migrations write the rows.';
COMMENT ON COLUMN entitled.change_kind.is_change IS
    'Whether a job can be of this kind; else it is a look alone, such as an export, which the console notes in the audit.';
COMMENT ON COLUMN entitled.change_kind.names_customer IS 'Whether the target is an app user id.';
COMMENT ON COLUMN entitled.change_kind.is_bulk IS 'Whether a job of this kind is done in several steps.';
COMMENT ON COLUMN entitled.change_kind.longest_parameters IS
    'Characters of the parameters that the console''s role may write at most.';

INSERT INTO entitled.change_kind (kind, is_change, names_customer, is_bulk, longest_parameters)
SELECT kind, true, names_customer, is_bulk, CASE WHEN kind LIKE 'bulk\_%' THEN 65536 ELSE 16384 END
FROM (
    SELECT unnest(ARRAY['grant', 'revoke', 'note', 'note_remove', 'alias', 'transfer', 'claim', 'customer_delete']) AS kind,
        true AS names_customer, false AS is_bulk
    UNION ALL
    SELECT unnest(ARRAY['customer_resend', 'customer_give_up']), true, true
    UNION ALL
    SELECT unnest(ARRAY['bulk_resend', 'bulk_give_up', 'bulk_reprocess', 'bulk_grant', 'replay_webhooks', 'replay_history',
        'outage_look']), false, true
    UNION ALL
    SELECT unnest(ARRAY['resend', 'event_resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause',
        'endpoint_rotate_secret', 'endpoint_add', 'endpoint_change', 'endpoint_remove', 'endpoint_test', 'job_cancel',
        'refund_answer', 'purchase_extend', 'status_poll', 'order_lookup']), false, false
) kinds;

INSERT INTO entitled.change_kind (kind, is_change, names_customer, is_bulk, longest_parameters)
VALUES ('export', false, false, false, 0), ('customer_export', false, true, false, 0);

CREATE OR REPLACE FUNCTION entitled.changes_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF NEW.idempotency_key IS NOT NULL THEN
        -- One query, so that both are of one moment.
        SELECT CASE WHEN NOT EXISTS (SELECT FROM change_kind WHERE kind = NEW.kind AND names_customer)
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF length(NEW.parameters)
            <= (SELECT longest_parameters FROM change_kind WHERE kind = NEW.kind AND is_change)
        AND octet_length(NEW.target) BETWEEN 1 AND 1024 AND length(NEW.reason) BETWEEN 1 AND 1000
        AND length(NEW.idempotency_key) BETWEEN 1 AND 255 AND octet_length(NEW.request_hash) = 32
        AND length(NEW.credential) <= 255 AND length(NEW.address) <= 255
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
        SELECT CASE WHEN NOT EXISTS (SELECT FROM change_kind WHERE kind = NEW.kind AND names_customer)
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.job IS NULL
        AND EXISTS (
            SELECT FROM change_kind
            WHERE kind = NEW.kind
                AND (is_change AND NEW.outcome = 'refused'
                    OR NOT is_change AND NEW.outcome = 'done' AND NEW.reason IS NULL))
        AND octet_length(NEW.target) <= 1024 AND coalesce(length(NEW.reason), 0) <= 1000
        AND coalesce(length(NEW.message), 0) <= 4096 AND coalesce(length(NEW.credential), 0) <= 255
        AND coalesce(length(NEW.address), 0) <= 255 AND coalesce(length(NEW.user_agent), 0) <= 255
        AND EXISTS (SELECT FROM console_user WHERE name = NEW.actor AND ended_ms IS NULL)
    THEN
        NEW.at_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the role % notes nothing but what it refused to an operator, and what it exported', current_user
        USING ERRCODE = 'insufficient_privilege';
END
$$;
