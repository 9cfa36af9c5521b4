-- Postgres gathers statistics of an index's expression, but plans by those of whole indexes only. Of the partial ones it takes
-- each value for a two hundredth of the table: events of a purchase were looked for by a scan of their lane or of the table.

CREATE STATISTICS entitled.event_purchase ON (hashtext(original_transaction_id)) FROM entitled.event;
COMMENT ON STATISTICS entitled.event_purchase IS
    'How many events a purchase has: the planner passes over what is known of the expression by event_sequence, which is '
    'partial.';
CREATE STATISTICS entitled.customer_attribute_hash ON (hashtextextended(lower(value COLLATE "C"), 0))
    FROM entitled.customer_attribute;
COMMENT ON STATISTICS entitled.customer_attribute_hash IS
    'The same for customer_attribute_value.';

-- Deliveries change in their first seconds as a rule: the first vacuum freezes them, so that none has to read the table again for
-- that. Autovacuum comes to rows of reports, of which most are only added, as it comes to facts; and to attributes before a fifth of
-- them changed.
ALTER TABLE entitled.delivery SET (autovacuum_freeze_min_age = 0);
ALTER TABLE entitled.report_transaction SET (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 500000,
    autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE entitled.customer_attribute SET (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
