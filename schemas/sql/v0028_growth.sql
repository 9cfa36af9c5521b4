-- Tables that grow with every notification are vacuumed after each 500,000 new rows, whatever their size: less often than
-- by default while they are small. The defaults wait for a fifth of a table, which is hundreds of millions of rows after
-- some years. Rows that never change are frozen at the first vacuum, so that none reads them again.

ALTER TABLE entitled.fact SET (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE entitled.event SET (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE entitled.purchase_identifier SET (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE entitled.notification_key SET (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);

-- Rows that change, and leave a dead one in every index each time.
ALTER TABLE entitled.delivery SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE entitled.purchase SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE entitled.purchase_fold SET (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE entitled.purchase_snapshot SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE entitled.customer SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE entitled.app_user_id SET (autovacuum_vacuum_scale_factor = 0.05);

-- Senders that are gone are deleted after their attempts.
ALTER TABLE entitled.sender ADD COLUMN gone_ms bigint;
COMMENT ON COLUMN entitled.sender.gone_ms IS
    'When retention first found no worker of this id. NULL: there is one, or it was not looked for.';
COMMENT ON TABLE entitled.sender IS
    'Processes that made attempts, so that an attempt names one by four bytes. Rows outlive those of worker, until the '
    'last attempt is gone.';
COMMENT ON TABLE entitled.endpoint IS
    'Webhook endpoints. Removed ones keep their row until their last delivery is gone.';
COMMENT ON TABLE entitled.rebuild IS
    'How far rebuilds came, so that the next one with the same settings goes on there.';
