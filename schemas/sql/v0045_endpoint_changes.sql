-- Operators add, change, remove and test endpoints, and delete customers; what is secret of an endpoint comes in sealed.

ALTER TABLE entitled.sealing_key ADD COLUMN intake_key bytea;
COMMENT ON COLUMN entitled.sealing_key.intake_key IS
    'Public half of the X25519 pair that follows from the key: operators'' secrets are sealed to it, and workers open them.';

CREATE OR REPLACE FUNCTION entitled.changes_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF NEW.idempotency_key IS NOT NULL THEN
        -- One query, so that both are of one moment.
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke', 'customer_resend', 'customer_give_up', 'note', 'note_remove', 'alias',
                    'transfer', 'claim', 'customer_delete')
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause',
            'event_resend', 'bulk_resend', 'bulk_give_up', 'bulk_reprocess', 'customer_resend', 'customer_give_up',
            'job_cancel', 'note', 'note_remove', 'alias', 'transfer', 'claim', 'refund_answer', 'endpoint_rotate_secret',
            'purchase_extend', 'endpoint_add', 'endpoint_change', 'endpoint_remove', 'endpoint_test',
            'customer_delete')
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
        SELECT CASE WHEN NEW.kind NOT IN ('grant', 'revoke', 'customer_resend', 'customer_give_up', 'customer_export',
                    'note', 'note_remove', 'alias', 'transfer', 'claim', 'customer_delete')
                OR EXISTS (SELECT FROM app_user_id WHERE id = NEW.target)
            THEN pg_current_snapshot() END INTO NEW.made_snapshot;
    END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.job IS NULL
        AND (NEW.outcome = 'refused'
                AND NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable',
                    'endpoint_pause', 'event_resend', 'bulk_resend', 'bulk_give_up', 'bulk_reprocess', 'customer_resend',
                    'customer_give_up', 'job_cancel', 'note', 'note_remove', 'alias', 'transfer', 'claim', 'refund_answer',
                    'endpoint_rotate_secret', 'purchase_extend', 'endpoint_add', 'endpoint_change', 'endpoint_remove',
                    'endpoint_test', 'customer_delete')
            OR NEW.outcome = 'done' AND NEW.kind IN ('export', 'customer_export') AND NEW.reason IS NULL)
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
