-- Takes from all roles of this database what Postgres gives to PUBLIC and no process of entitled needs: large objects, which fill
-- the disk; advisory locks, which fill the server's lock table and could keep `entitled migrate` waiting; temporary tables.
--
-- The functions belong to the cluster's superuser, so that only a superuser can take them away:
--     sudo -u postgres psql -d entitled < schemas/sql/public_privileges.sql
-- `entitled migrate` does what its own user may, each time it runs. The owner of the database keeps advisory locks: migrating
-- takes one.
DO $$
DECLARE
    holder regrole := (SELECT datdba FROM pg_database WHERE datname = current_database());
    given record;
BEGIN
    IF has_database_privilege('public', current_database(), 'TEMPORARY') AND pg_has_role(current_user, holder::oid, 'USAGE')
    THEN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END IF;
    FOR given IN
        SELECT p.oid::regprocedure AS call, p.proname LIKE '%advisory%' AS is_lock FROM pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND pg_has_role(current_user, p.proowner, 'USAGE')
            AND (p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite', 'lo_truncate', 'lo_truncate64')
                OR p.proname ~ '^pg_(try_)?advisory_(xact_)?lock')
            -- The owner of the database may be another one than last time.
            AND (has_function_privilege('public', p.oid, 'EXECUTE')
                OR p.proname LIKE '%advisory%' AND NOT has_function_privilege(holder::oid, p.oid, 'EXECUTE'))
    LOOP
        IF given.is_lock THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', given.call, holder);
        END IF;
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', given.call);
    END LOOP;
END $$;
