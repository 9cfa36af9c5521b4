-- What a journal outside of the database needs to tell which of two states is the later one.

ALTER TABLE entitled.endpoint ADD COLUMN revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN entitled.endpoint.revision IS
    'Grows with each change of the endpoint or of its secrets, except for pauses.';

CREATE FUNCTION entitled.endpoint_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, entitled AS $$
BEGIN
    NEW.revision := greatest(OLD.revision + 1, NEW.revision);
    RETURN NEW;
END
$$;
CREATE TRIGGER endpoint_changed BEFORE UPDATE ON entitled.endpoint FOR EACH ROW
    WHEN ((to_jsonb(OLD) - 'paused_until_ms') IS DISTINCT FROM (to_jsonb(NEW) - 'paused_until_ms'))
    EXECUTE FUNCTION entitled.endpoint_changed();
COMMENT ON FUNCTION entitled.endpoint_changed() IS 'Raises the revision of an endpoint that changes.';
COMMENT ON TRIGGER endpoint_changed ON entitled.endpoint IS 'Counts the changes of an endpoint.';

CREATE FUNCTION entitled.endpoint_secret_changed() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, entitled AS $$
BEGIN
    UPDATE entitled.endpoint SET revision = revision + 1
    WHERE id = CASE TG_OP WHEN 'INSERT' THEN NEW.endpoint ELSE OLD.endpoint END;
    RETURN NULL;
END
$$;
CREATE TRIGGER endpoint_secret_changed AFTER INSERT OR UPDATE OR DELETE ON entitled.endpoint_secret FOR EACH ROW
    EXECUTE FUNCTION entitled.endpoint_secret_changed();
COMMENT ON FUNCTION entitled.endpoint_secret_changed() IS 'Raises the revision of the endpoint whose secret changes.';
COMMENT ON TRIGGER endpoint_secret_changed ON entitled.endpoint_secret IS 'Counts a changed secret as a change of its endpoint.';

ALTER TABLE entitled.customer ADD COLUMN offering_override_ms bigint;
COMMENT ON COLUMN entitled.customer.offering_override_ms IS
    'When offering_override changed last. NULL: it did not change since this column exists.';

CREATE FUNCTION entitled.offering_overridden() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, entitled AS $$
BEGIN
    NEW.offering_override_ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    RETURN NEW;
END
$$;
CREATE TRIGGER offering_overridden BEFORE UPDATE OF offering_override ON entitled.customer FOR EACH ROW
    WHEN (OLD.offering_override IS DISTINCT FROM NEW.offering_override
        AND OLD.offering_override_ms IS NOT DISTINCT FROM NEW.offering_override_ms)
    EXECUTE FUNCTION entitled.offering_overridden();
COMMENT ON FUNCTION entitled.offering_overridden() IS 'Sets the time of a chosen offering, unless the statement does.';
COMMENT ON TRIGGER offering_overridden ON entitled.customer IS 'Notes when the offering of a customer was chosen.';

CREATE FUNCTION entitled.advance_actions(passed bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'pg_temp' AS $function$
DECLARE
    counter regclass := pg_get_serial_sequence('entitled.action', 'seq')::regclass;
    drawn bigint := nextval(counter);
BEGIN
    PERFORM nextval(counter) FROM generate_series(drawn + 1, least(passed, drawn + 100000000));
END $function$;
COMMENT ON FUNCTION entitled.advance_actions(bigint) IS
    'Makes the next action get a greater number than this one. Numbers are drawn and discarded, so that the counter never '
    'goes back beside transactions that draw from it.';
