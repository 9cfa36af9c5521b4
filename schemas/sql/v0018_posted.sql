-- What apps post: transactions, and the purchase of the app itself.

-- Of the app transaction that was posted for the customer: what they bought the app as, and when.
ALTER TABLE entitled.customer ADD COLUMN original_application_version text;
ALTER TABLE entitled.customer ADD COLUMN app_purchased_ms bigint;
ALTER TABLE entitled.customer ADD COLUMN app_environment smallint;

-- The api process puts what was posted into the log, and joins the customers whom it turns out to be about.
GRANT INSERT ON entitled.jws_header, entitled.notification_key, entitled.notification, entitled.pending
    TO entitled_api;
GRANT UPDATE (original_application_version, app_purchased_ms, app_environment), DELETE ON entitled.customer
    TO entitled_api;
GRANT UPDATE (original_app_user_id) ON entitled.app_user_id TO entitled_api;
