-- Changes of many rows: they are jobs of several steps, which the console may ask for, and which say what became of the
-- deliveries that they sent again.

-- NULL for all others, which take no byte for it.
ALTER TABLE entitled.delivery ADD COLUMN job bigint;

CREATE OR REPLACE FUNCTION entitled.changes_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF NEW.idempotency_key IS NOT NULL THEN
        -- One query, so that both are of one moment.
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke', 'customer_resend', 'customer_give_up')
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause',
            'event_resend', 'bulk_resend', 'bulk_give_up', 'bulk_reprocess', 'customer_resend', 'customer_give_up',
            'job_cancel')
        AND octet_length(NEW.target) BETWEEN 1 AND 1024 AND length(NEW.reason) BETWEEN 1 AND 1000
        AND length(NEW.idempotency_key) BETWEEN 1 AND 255 AND octet_length(NEW.request_hash) = 32
        AND length(NEW.parameters) <= (CASE WHEN NEW.kind LIKE 'bulk\_%' THEN 65536 ELSE 16384 END)
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
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke', 'customer_resend', 'customer_give_up')
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.outcome = 'refused' AND NEW.job IS NULL
        AND NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause',
            'event_resend', 'bulk_resend', 'bulk_give_up', 'bulk_reprocess', 'customer_resend', 'customer_give_up',
            'job_cancel')
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

COMMENT ON COLUMN entitled.delivery.job IS
    'The last job of an operator''s that sent it again or gave it up. NULL: none did.';
