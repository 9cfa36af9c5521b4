-- What a role may add, row by row, where the right to add to a table would say too little.
--
-- Grants say which roles use a table; triggers refuse rows that only the worker, the owner of the table and superusers
-- add. They are no row level policies: with those, a role that may read every table could not dump the database.

-- MARK: facts

-- The api adds what was done here: assignments (4), grants (6), what apps said (7) and that they posted (8). What Apple
-- signed, and what a notification says, comes from the worker alone, which has checked the signatures: facts are read
-- without checking them again. It is called once for each statement, and looks at no row of the worker's.
CREATE FUNCTION entitled.facts_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled AS $$
BEGIN
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NULL; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NULL; END IF;
    IF EXISTS (
        SELECT FROM added WHERE kind NOT IN (4, 6, 7, 8) OR header IS NOT NULL OR signature IS NOT NULL)
    THEN
        RAISE EXCEPTION 'the role % adds no facts that Apple signed', current_user
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER facts_allowed AFTER INSERT ON entitled.fact REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION entitled.facts_allowed();

-- MARK: listening

-- The public process notes the present minute, by the server's clock, or the one before it where the statement began in
-- that: minutes of the past would hide an outage, or make one.
CREATE FUNCTION entitled.minutes_allowed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, entitled AS $$
BEGIN
    IF floor(extract(epoch FROM clock_timestamp()) / 60) - NEW.minute BETWEEN 0 AND 1 THEN RETURN NEW; END IF;
    IF pg_has_role(to_regrole('entitled_worker'), 'USAGE') THEN RETURN NEW; END IF;
    IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN RETURN NEW; END IF;
    RAISE EXCEPTION 'the role % notes no minute but the present one', current_user
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER minutes_allowed BEFORE INSERT ON entitled.listening
    FOR EACH ROW EXECUTE FUNCTION entitled.minutes_allowed();
