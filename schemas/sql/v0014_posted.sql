-- What apps post: transactions, and the purchase of the app itself.

-- Of the app transaction that was posted for the customer: what they bought the app as, and when.
ALTER TABLE entitled.customer ADD COLUMN original_application_version text;
ALTER TABLE entitled.customer ADD COLUMN app_purchased_ms bigint;
ALTER TABLE entitled.customer ADD COLUMN app_environment smallint;

-- The api process writes down what was posted, for whom, and whose the purchase is from then on. It locks the lanes that
-- it changes something in, which Postgres counts as changing them: a column that says nothing keeps their owners safe.
ALTER TABLE entitled.lane ADD COLUMN held boolean;
GRANT UPDATE (held) ON entitled.lane TO entitled_api;
GRANT INSERT ON entitled.jws_header, entitled.notification_key, entitled.notification, entitled.pending,
    entitled.fact, entitled.action TO entitled_api;
GRANT UPDATE (owner, version, updated_ms) ON entitled.purchase TO entitled_api;
GRANT UPDATE, DELETE ON entitled.customer TO entitled_api;
GRANT UPDATE (original_app_user_id) ON entitled.app_user_id TO entitled_api;

-- That purchases moved is told to consumers: in the same transaction, with their endpoints locked.
ALTER TABLE entitled.endpoint ADD COLUMN held boolean;
GRANT UPDATE (held) ON entitled.endpoint TO entitled_api;
GRANT INSERT ON entitled.event, entitled.delivery TO entitled_api;
