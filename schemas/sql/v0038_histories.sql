-- What reports count of a purchase, as bytes: charts of any time are computed from these, and not from all facts.

ALTER TABLE entitled.report_purchase ADD COLUMN history bytea;

COMMENT ON COLUMN entitled.report_purchase.history IS
    'What reports count of the purchase: dates, states and amounts by product, currency and country, in a form of the program''s '
    'own. Empty: nothing is. NULL: not computed yet.';
