-- Entitlements that the seller grants, through the api.
--
-- A grant is a purchase of an app that no configuration can have, `$promotional`, in its own lane. Its versions are facts
-- of a kind of their own, 6, which nobody signed: like assignments (4) they have an action of the log behind them.

-- MARK: who may do what

-- An action holds the lane as its owner does, and the customer; locking a row takes the right to update some column of it.
GRANT UPDATE (lane) ON entitled.lane TO entitled_api;
GRANT INSERT, UPDATE (first_seen_ms) ON entitled.customer TO entitled_api;
GRANT INSERT ON entitled.app_user_id, entitled.action, entitled.fact, entitled.purchase_identifier TO entitled_api;
GRANT INSERT, UPDATE (owner, product_id, access_ends_ms, grace_ends_ms, revoked_ms, will_renew, wake_ms, version,
    updated_ms) ON entitled.purchase TO entitled_api;

-- Events with a delivery for each endpoint that wants them; these are locked meanwhile.
GRANT INSERT ON entitled.event, entitled.delivery TO entitled_api;
GRANT UPDATE (created_ms) ON entitled.endpoint TO entitled_api;
