-- What the console may add to the audit is narrower, and the guards cannot be deceived by temporary tables.

-- The temporary schema is searched first where a search path does not name it: a role that may make temporary tables would put
-- one of its own before the table that a guard looks into.
ALTER FUNCTION entitled.facts_changed() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.facts_allowed() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.minutes_allowed() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.endpoint_changed() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.endpoint_secret_changed() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.offering_overridden() SET search_path = pg_catalog, entitled, pg_temp;
ALTER FUNCTION entitled.changes_allowed() SET search_path = pg_catalog, entitled, pg_temp;

-- The grant names the columns that the console fills in: numbers are those of the sequence, so an entry is neither put before
-- those of others nor in the place of one to come. An entry names an operator who is there and a change that there is.
CREATE OR REPLACE FUNCTION entitled.audit_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled, pg_temp AS $$
BEGIN
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    IF NEW.outcome = 'refused' AND NEW.job IS NULL
        AND NEW.kind IN ('grant', 'revoke', 'resend', 'reprocess', 'endpoint_enable', 'endpoint_disable', 'endpoint_pause')
        AND length(NEW.target) <= 1024 AND coalesce(length(NEW.reason), 0) <= 1000
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
