import Base
import Database
import EntitledApp
import Glibc
import Postgres
import TestSupport
import Testing

/// A database that is not as it should be.
extension DoctorDamageTests {
    static let database = [
        Damage(
            "too much for ingest", "database.privileges error entitled_ingest may DELETE, UPDATE entitled.pending",
            "REVOKE DELETE, UPDATE ON entitled.pending FROM entitled_ingest",
            sql: "GRANT UPDATE, DELETE ON entitled.pending TO entitled_ingest"),
        Damage(
            "whole rows for ingest", "database.privileges error entitled_ingest may SELECT entitled.notification",
            "REVOKE", sql: "GRANT SELECT ON entitled.notification TO entitled_ingest"),
        Damage(
            "too little for the worker", "database.privileges error entitled_worker may not DELETE entitled.pending",
            "GRANT DELETE ON entitled.pending TO entitled_worker",
            sql: "REVOKE DELETE ON entitled.pending FROM entitled_worker"),
        Damage(
            "too much for the api", "database.privileges error entitled_api may DELETE entitled.fact",
            "REVOKE DELETE ON entitled.fact FROM entitled_api", sql: "GRANT DELETE ON entitled.fact TO entitled_api"),
        Damage(
            "a column too much for the api", "database.privileges error entitled_api may UPDATE entitled.endpoint.url",
            "REVOKE UPDATE (url) ON entitled.endpoint FROM entitled_api",
            sql: "GRANT UPDATE (url) ON entitled.endpoint TO entitled_api"),
        Damage(
            "too little for the api", "database.privileges error entitled_api may not DELETE entitled.app_user_id",
            "GRANT DELETE ON entitled.app_user_id TO entitled_api",
            sql: "REVOKE DELETE ON entitled.app_user_id FROM entitled_api"),
        Damage(
            "secrets for the api",
            "database.privileges error entitled_api may read the secrets in entitled.endpoint.auth",
            "REVOKE SELECT (authorization_sealed)",
            sql: "GRANT SELECT (authorization_sealed) ON entitled.endpoint TO entitled_api"),
        Damage(
            "whole lanes for the api", "database.privileges error entitled_api may UPDATE entitled.lane",
            "REVOKE UPDATE", sql: "GRANT UPDATE ON entitled.lane TO entitled_api"),
        Damage(
            "days that everybody may drop", "database.privileges error entitled_api may call entitled.drop_day",
            "REVOKE EXECUTE", sql: "GRANT EXECUTE ON FUNCTION entitled.drop_day(text, date) TO PUBLIC"),
        Damage(
            "a table for every role of the database",
            "database.privileges error entitled_ingest may SELECT entitled.fact", "or run `entitled migrate`",
            sql: "GRANT SELECT ON entitled.fact TO PUBLIC"),
        Damage(
            "too much for the worker",
            "database.privileges error entitled_worker may DELETE, UPDATE entitled.owner_salt",
            "REVOKE DELETE, UPDATE ON entitled.owner_salt FROM entitled_worker",
            sql: "GRANT UPDATE, DELETE ON entitled.owner_salt TO entitled_worker"),
        Damage(
            "a column too little for the api",
            "database.privileges error entitled_api may not UPDATE (owner, version) entitled.purchase",
            "GRANT UPDATE (owner, version) ON entitled.purchase TO entitled_api",
            sql: "REVOKE UPDATE (owner, version) ON entitled.purchase FROM entitled_api"),
        Damage(
            "a column too little for ingest",
            "database.privileges error entitled_ingest may not SELECT (seq) entitled.pending",
            "GRANT SELECT (seq) ON entitled.pending TO entitled_ingest",
            sql: "REVOKE SELECT (seq) ON entitled.pending FROM entitled_ingest"),
        Damage(
            "a column of a table that is not for ingest",
            "database.privileges error entitled_ingest may INSERT entitled.fact.payload",
            "REVOKE INSERT (payload) ON entitled.fact FROM entitled_ingest",
            sql: "GRANT INSERT (payload) ON entitled.fact TO entitled_ingest"),
        Damage(
            "single days for ingest",
            "database.privileges error entitled_ingest has privileges on single days of entitled.notification (1)",
            "entitled migrate",
            sql: """
                DO $$ BEGIN
                    EXECUTE 'GRANT SELECT ON entitled.notification' || to_char(now() AT TIME ZONE 'UTC', '_YYYYMMDD')
                        || ' TO entitled_ingest';
                END $$
                """),
        Damage(
            "no days for the worker",
            "database.privileges error entitled_worker may not call entitled.make_day(text,date)",
            "GRANT EXECUTE ON FUNCTION entitled.make_day(text,date) TO entitled_worker",
            sql: "REVOKE EXECUTE ON FUNCTION entitled.make_day(text, date) FROM entitled_worker"),
        Damage(
            "large objects for everybody",
            "database.privileges warning the roles of the processes may use large objects,",
            "public_privileges.sql", sql: "GRANT EXECUTE ON FUNCTION lo_create(oid) TO PUBLIC"),
        Damage(
            "advisory locks for one", "database.privileges warning the roles of the processes may use advisory locks,",
            "entitled migrate", sql: "GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) TO entitled_ingest"),
        Damage(
            "temporary tables", "database.privileges warning the roles of the processes may use temporary tables,",
            "entitled migrate",
            sql: """
                DO $$ BEGIN EXECUTE 'GRANT TEMPORARY ON DATABASE ' || current_database() || ' TO PUBLIC'; END $$
                """),
        Damage(
            "facts of any kind for the api", "database.privileges error entitled_api may add any row to entitled.fact",
            "ENABLE TRIGGER facts_allowed", sql: "ALTER TABLE entitled.fact DISABLE TRIGGER facts_allowed"),
        Damage(
            "any minute for ingest", "database.privileges error entitled_ingest may add any row to entitled.listening",
            "schemas/sql", sql: "DROP TRIGGER minutes_allowed ON entitled.listening"),
        Damage(
            "any job for the console", "database.privileges error entitled_console may add any row to entitled.job",
            "ENABLE TRIGGER changes_allowed", sql: "ALTER TABLE entitled.job DISABLE TRIGGER changes_allowed"),
        Damage(
            "any entry of the audit for the console",
            "database.privileges error entitled_console may add any row to entitled.audit", "schemas/sql",
            sql: "DROP TRIGGER audit_allowed ON entitled.audit"),
        Damage(
            "a role that changed its settings",
            "database.privileges warning entitled_ingest logs in with search_path=else",
            "ALTER ROLE entitled_ingest RESET search_path",
            sql: """
                DO $$ BEGIN
                    EXECUTE 'ALTER ROLE entitled_ingest IN DATABASE ' || current_database() || ' SET search_path = elsewhere';
                END $$
                """),
        Damage(
            "no day ahead", "database.days error there is no partition for tomorrow", "start a worker",
            sql: """
                DO $$ BEGIN FOR ahead IN 1..7 LOOP
                    EXECUTE 'DROP TABLE entitled.attempt' || to_char((now() AT TIME ZONE 'UTC') + ahead * interval '1 day', '_YYYYMMDD');
                END LOOP; END $$
                """),
        Damage(
            "a setting that loses commits", "database.server error synchronous_commit is off",
            "synchronous_commit = on",
            sql: """
                DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$
                """),
    ]
}
