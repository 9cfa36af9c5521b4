-- Views for analysts in a schema of their own, and the tables behind those whose values no column had: transactions with
-- their money, and the entitlements that purchases give. A worker fills these tables where `reports.refresh` says so.

CREATE TABLE entitled.report_purchase (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    updated_ms bigint NOT NULL,
    stamp text COLLATE "C" NOT NULL,
    PRIMARY KEY (lane, original_transaction_id, app, environment)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE entitled.report_transaction (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    product_id text NOT NULL,
    product_type text,
    period_type text NOT NULL,
    purchased_ms bigint NOT NULL,
    expires_ms bigint,
    access_ends_ms bigint,
    refunded_ms bigint,
    renewal_number integer NOT NULL,
    offer_type smallint,
    offer_id text,
    country text,
    currency text,
    price_milliunits bigint,
    refunded_milliunits bigint,
    commission_millionths integer NOT NULL,
    tax_millionths integer NOT NULL,
    price_usd_milliunits bigint,
    net_usd_milliunits bigint,
    is_trial_conversion boolean NOT NULL,
    is_family_share boolean NOT NULL,
    is_upgraded boolean NOT NULL,
    PRIMARY KEY (lane, original_transaction_id, app, environment, transaction_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE entitled.report_entitlement (
    lane smallint NOT NULL,
    app text COLLATE "C" NOT NULL,
    environment smallint NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    entitlement text NOT NULL,
    product_id text NOT NULL,
    purchased_ms bigint NOT NULL,
    expires_ms bigint,
    grace_ends_ms bigint,
    PRIMARY KEY (lane, original_transaction_id, app, environment, entitlement, product_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE entitled.report_refresh (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    started_ms bigint
);
INSERT INTO entitled.report_refresh DEFAULT VALUES;

COMMENT ON TABLE entitled.report_purchase IS
    'Purchases whose transactions and entitlements are in report_transaction and report_entitlement, and of which state.';
COMMENT ON COLUMN entitled.report_purchase.version IS
    'The rows are those of the purchase while version and updated_ms are the same there.';
COMMENT ON COLUMN entitled.report_purchase.stamp IS 'Names the program and the settings that the rows were computed with.';
COMMENT ON TABLE entitled.report_transaction IS
    'One row for each transaction of a purchase, as its facts say last. Computed from facts and configuration.';
COMMENT ON COLUMN entitled.report_transaction.access_ends_ms IS 'Access end by this transaction, grace included. NULL: none.';
COMMENT ON COLUMN entitled.report_transaction.price_milliunits IS
    'What was paid, in thousandths of the currency''s unit. NULL: Apple signed no price.';
COMMENT ON COLUMN entitled.report_transaction.refunded_milliunits IS 'What of it went back. NULL: as price_milliunits.';
COMMENT ON COLUMN entitled.report_transaction.commission_millionths IS 'Apple''s share of the price, in millionths.';
COMMENT ON COLUMN entitled.report_transaction.tax_millionths IS 'The taxes'' share of the price, in millionths.';
COMMENT ON COLUMN entitled.report_transaction.price_usd_milliunits IS
    'The price in thousandths of a US dollar. NULL: no price, or no rate of its currency.';
COMMENT ON COLUMN entitled.report_transaction.net_usd_milliunits IS 'The same less what went back.';
COMMENT ON TABLE entitled.report_entitlement IS
    'Entitlements that a purchase gave when it was computed, by product. Computed from facts and configuration.';
COMMENT ON COLUMN entitled.report_entitlement.expires_ms IS 'Access end, grace included. NULL: none.';
COMMENT ON COLUMN entitled.report_entitlement.grace_ends_ms IS 'End of the grace period. NULL: there is none.';
COMMENT ON TABLE entitled.report_refresh IS 'One row: how far the tables of reports are.';
COMMENT ON COLUMN entitled.report_refresh.started_ms IS
    'Start of the last refresh that was finished: all changes from before it are in. NULL: none was.';

-- Views run with their owner's privileges, so that a role can read them and no table. They show every row of what they are
-- about, and none is secret: a predicate of the reader's that is evaluated early sees nothing that the view hides, so
-- none needs a security barrier, which would keep indexes from being used.
CREATE SCHEMA entitled_reports;

-- What lies outside of the years 1 to 9999 is no time for Postgres' clients: NULL.
CREATE VIEW entitled_reports.customers AS
SELECT
    c.original_app_user_id AS customer_id,
    CASE WHEN c.first_seen_ms BETWEEN -62135596800000 AND 253402300799999 THEN to_timestamp(c.first_seen_ms / 1000.0) END
        AS first_seen_at,
    CASE WHEN c.last_seen_ms BETWEEN -62135596800000 AND 253402300799999 THEN to_timestamp(c.last_seen_ms / 1000.0) END
        AS last_seen_at,
    ARRAY(
        SELECT a.id FROM entitled.app_user_id a WHERE a.original_app_user_id = c.original_app_user_id
        ORDER BY a.first_seen_ms, a.id
    ) AS app_user_ids,
    c.original_application_version AS original_app_version,
    CASE WHEN c.app_purchased_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(c.app_purchased_ms / 1000.0) END AS app_purchased_at
FROM entitled.customer c;

CREATE VIEW entitled_reports.subscriptions AS
SELECT
    p.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    p.app,
    p.environment = 1 AS is_sandbox,
    p.product_id,
    d.subscription_group,
    CASE WHEN p.access_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.access_ends_ms / 1000.0) END AS access_ends_at,
    CASE WHEN p.grace_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.grace_ends_ms / 1000.0) END AS grace_ends_at,
    CASE WHEN p.revoked_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.revoked_ms / 1000.0) END AS revoked_at,
    p.will_renew,
    coalesce(p.access_ends_ms > extract(epoch FROM now()) * 1000, true) AS has_access,
    CASE WHEN p.updated_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(p.updated_ms / 1000.0) END AS updated_at
FROM entitled.purchase p
LEFT JOIN entitled.app_user_id a ON a.id = p.owner
LEFT JOIN entitled.product d ON d.product_id = p.product_id AND d.app = p.app AND d.environment = p.environment
WHERE NOT starts_with(p.app, '$') AND (
    d.kind = 'Auto-Renewable Subscription' OR p.access_ends_ms IS NOT NULL AND coalesce(d.kind, '')
        NOT IN ('Non-Consumable', 'Consumable', 'Non-Renewing Subscription'));

CREATE VIEW entitled_reports.transactions AS
SELECT
    t.transaction_id,
    t.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    CASE WHEN NOT starts_with(t.app, '$') THEN t.app END AS app,
    t.environment = 1 AS is_sandbox,
    CASE WHEN starts_with(t.app, '$') THEN 'promotional' ELSE 'app_store' END AS store,
    t.product_id,
    t.product_type,
    t.period_type,
    t.renewal_number,
    CASE WHEN t.purchased_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.purchased_ms / 1000.0) END AS purchased_at,
    CASE WHEN t.expires_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.expires_ms / 1000.0) END AS expires_at,
    CASE WHEN t.access_ends_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.access_ends_ms / 1000.0) END AS access_ends_at,
    CASE WHEN t.refunded_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(t.refunded_ms / 1000.0) END AS refunded_at,
    t.is_trial_conversion,
    t.is_family_share,
    t.is_upgraded,
    CASE t.offer_type WHEN 1 THEN 'introductory' WHEN 2 THEN 'promotional' WHEN 3 THEN 'offer_code' WHEN 4 THEN 'win_back'
        ELSE t.offer_type::text END AS offer_type,
    t.offer_id,
    t.country,
    t.currency,
    t.price_milliunits,
    t.refunded_milliunits,
    round(t.price_milliunits / 1000.0, 3) AS price,
    round(t.refunded_milliunits / 1000.0, 3) AS refunded,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0, 3) AS net,
    round(t.commission_millionths / 1000000.0, 6) AS commission_share,
    round(t.tax_millionths / 1000000.0, 6) AS tax_share,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0 * t.commission_millionths / 1000000, 6) AS commission,
    round((t.price_milliunits - t.refunded_milliunits) / 1000.0 * t.tax_millionths / 1000000, 6) AS tax,
    round(
        (t.price_milliunits - t.refunded_milliunits) / 1000.0
            * (1000000 - t.commission_millionths - t.tax_millionths) / 1000000, 6) AS proceeds,
    round(t.price_usd_milliunits / 1000.0, 3) AS price_usd,
    round(t.net_usd_milliunits / 1000.0, 3) AS net_usd
FROM entitled.report_transaction t
JOIN entitled.purchase p ON p.lane = t.lane AND p.original_transaction_id = t.original_transaction_id AND p.app = t.app
    AND p.environment = t.environment
LEFT JOIN entitled.app_user_id a ON a.id = p.owner;

CREATE VIEW entitled_reports.events AS
SELECT
    e.id AS event_id,
    e.type,
    CASE WHEN NOT starts_with(e.app, '$') THEN e.app END AS app,
    e.environment = 1 AS is_sandbox,
    e.original_transaction_id,
    coalesce(a.original_app_user_id, p.owner) AS customer_id,
    e.sequence AS purchase_sequence,
    CASE WHEN e.created_ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(e.created_ms / 1000.0) END AS created_at,
    e.created_ms
FROM entitled.event e
LEFT JOIN entitled.purchase p ON p.lane = e.lane AND p.original_transaction_id = e.original_transaction_id
    AND p.app = e.app AND p.environment = e.environment
LEFT JOIN entitled.app_user_id a ON a.id = p.owner;

CREATE VIEW entitled_reports.entitlements_now AS
SELECT DISTINCT ON (n.customer_id, n.entitlement, n.is_sandbox) n.*
FROM (
    SELECT
        coalesce(a.original_app_user_id, p.owner) AS customer_id,
        r.entitlement,
        r.environment = 1 AS is_sandbox,
        CASE WHEN NOT starts_with(r.app, '$') THEN r.app END AS app,
        CASE WHEN starts_with(r.app, '$') THEN 'promotional' ELSE 'app_store' END AS store,
        r.product_id,
        r.original_transaction_id,
        CASE WHEN r.purchased_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.purchased_ms / 1000.0) END AS purchased_at,
        CASE WHEN r.expires_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.expires_ms / 1000.0) END AS expires_at,
        CASE WHEN r.grace_ends_ms BETWEEN -62135596800000 AND 253402300799999
            THEN to_timestamp(r.grace_ends_ms / 1000.0) END AS grace_ends_at
    FROM entitled.report_entitlement r
    JOIN entitled.purchase p ON p.lane = r.lane AND p.original_transaction_id = r.original_transaction_id
        AND p.app = r.app AND p.environment = r.environment
    LEFT JOIN entitled.app_user_id a ON a.id = p.owner
    WHERE r.expires_ms IS NULL OR r.expires_ms > extract(epoch FROM now()) * 1000
) n
ORDER BY n.customer_id, n.entitlement, n.is_sandbox, n.expires_at DESC NULLS FIRST, n.purchased_at DESC,
    n.original_transaction_id, n.product_id;

CREATE VIEW entitled_reports.freshness AS
SELECT CASE WHEN f.started_ms BETWEEN -62135596800000 AND 253402300799999
    THEN to_timestamp(f.started_ms / 1000.0) END AS refreshed_at
FROM entitled.report_refresh f;

COMMENT ON VIEW entitled_reports.customers IS
    'Customers, one row each. Customers who were deleted are not in it; what they bought belongs to a pseudonym.';
COMMENT ON COLUMN entitled_reports.customers.customer_id IS
    'The first of the customer''s app user ids; rc_original_app_user_id of exports.';
COMMENT ON COLUMN entitled_reports.customers.first_seen_at IS 'When the customer was first seen.';
COMMENT ON COLUMN entitled_reports.customers.last_seen_at IS
    'Last request of the customer''s apps, to the hour. NULL: there was none.';
COMMENT ON COLUMN entitled_reports.customers.app_user_ids IS
    'All ids of the customer, customer_id among them, the earliest first.';
COMMENT ON COLUMN entitled_reports.customers.original_app_version IS
    'Version of the app that the customer downloaded first, as Apple signed it. NULL: no app has posted it.';
COMMENT ON COLUMN entitled_reports.customers.app_purchased_at IS
    'When the customer downloaded the app first, as Apple signed it. NULL: no app has posted it.';

COMMENT ON VIEW entitled_reports.subscriptions IS
    'Auto-renewable subscriptions as they are now, one row for each original transaction id. Always current.';
COMMENT ON COLUMN entitled_reports.subscriptions.original_transaction_id IS
    'Apple''s id of the subscription, unique within app and environment.';
COMMENT ON COLUMN entitled_reports.subscriptions.customer_id IS
    'The owner: customer_id of customers. An anonymous id where no app has named the buyer, and after a deletion.';
COMMENT ON COLUMN entitled_reports.subscriptions.app IS 'The app, by its id in the configuration.';
COMMENT ON COLUMN entitled_reports.subscriptions.is_sandbox IS
    'Whether it was bought in Apple''s sandbox: such a purchase is no money.';
COMMENT ON COLUMN entitled_reports.subscriptions.product_id IS 'The product of the latest period.';
COMMENT ON COLUMN entitled_reports.subscriptions.subscription_group IS
    'Apple''s subscriptionGroupIdentifier. NULL: not known yet.';
COMMENT ON COLUMN entitled_reports.subscriptions.access_ends_at IS
    'When access ends or ended, grace included. NULL: it has no end.';
COMMENT ON COLUMN entitled_reports.subscriptions.grace_ends_at IS
    'End of the grace period of a charge that failed. NULL: there is none.';
COMMENT ON COLUMN entitled_reports.subscriptions.revoked_at IS
    'When the latest period was refunded or revoked. NULL: it was not.';
COMMENT ON COLUMN entitled_reports.subscriptions.will_renew IS
    'Whether Apple renews it, as far as it is known: false once it is switched off or has ended.';
COMMENT ON COLUMN entitled_reports.subscriptions.has_access IS
    'Whether it gives access at the beginning of the transaction that reads it.';
COMMENT ON COLUMN entitled_reports.subscriptions.updated_at IS 'When the record changed last.';

COMMENT ON VIEW entitled_reports.transactions IS
    'Transactions with their money, one row for each period of a subscription, each single purchase and each grant by the '
    'seller. As fresh as freshness says.';
COMMENT ON COLUMN entitled_reports.transactions.transaction_id IS
    'Apple''s id of the transaction, unique within app and environment; store_transaction_id of exports. Of a grant, the id of '
    'the grant.';
COMMENT ON COLUMN entitled_reports.transactions.original_transaction_id IS
    'Apple''s id of the purchase that it belongs to; original_store_transaction_id of exports.';
COMMENT ON COLUMN entitled_reports.transactions.customer_id IS
    'The owner now: customer_id of customers; rc_original_app_user_id of exports.';
COMMENT ON COLUMN entitled_reports.transactions.app IS
    'The app, by its id in the configuration. NULL: a grant, which belongs to no app.';
COMMENT ON COLUMN entitled_reports.transactions.is_sandbox IS
    'Whether it was bought in Apple''s sandbox. Its amounts are no money: leave such rows out of sums.';
COMMENT ON COLUMN entitled_reports.transactions.store IS 'app_store, or promotional for a grant.';
COMMENT ON COLUMN entitled_reports.transactions.product_id IS 'The product; product_identifier of exports.';
COMMENT ON COLUMN entitled_reports.transactions.product_type IS
    'Auto-Renewable Subscription, Non-Consumable, Consumable or Non-Renewing Subscription. NULL: a grant.';
COMMENT ON COLUMN entitled_reports.transactions.period_type IS
    'TRIAL, INTRO, NORMAL or PROMOTIONAL (a grant), as in webhooks.';
COMMENT ON COLUMN entitled_reports.transactions.renewal_number IS
    'Its place among the periods of the subscription, from 1.';
COMMENT ON COLUMN entitled_reports.transactions.purchased_at IS 'When it was charged; start_time of exports.';
COMMENT ON COLUMN entitled_reports.transactions.expires_at IS
    'End of the paid period as Apple signed it. NULL: it has none.';
COMMENT ON COLUMN entitled_reports.transactions.access_ends_at IS
    'When access by it ends or ended, with grace, refunds and upgrades; effective_end_time of exports. NULL: it has no end.';
COMMENT ON COLUMN entitled_reports.transactions.refunded_at IS
    'When it was refunded, or an upgrade gave a part of it back. NULL: it was not, or the refund was reversed.';
COMMENT ON COLUMN entitled_reports.transactions.is_trial_conversion IS 'Whether it is the first paid period after a trial.';
COMMENT ON COLUMN entitled_reports.transactions.is_family_share IS
    'Whether a family member shares it: then it cost this customer nothing.';
COMMENT ON COLUMN entitled_reports.transactions.is_upgraded IS 'Whether an upgrade replaced it before its end.';
COMMENT ON COLUMN entitled_reports.transactions.offer_type IS
    'introductory, promotional, offer_code or win_back; a code of Apple''s that is not known as its number. NULL: no offer.';
COMMENT ON COLUMN entitled_reports.transactions.offer_id IS 'The offer''s id or code. NULL: it has none.';
COMMENT ON COLUMN entitled_reports.transactions.country IS
    'Country of the storefront, ISO 3166 alpha-2. NULL: not signed, or not known.';
COMMENT ON COLUMN entitled_reports.transactions.currency IS
    'ISO 4217 code of price, refunded, net, commission, tax and proceeds. NULL: Apple signed none.';
COMMENT ON COLUMN entitled_reports.transactions.price_milliunits IS
    'What the customer paid, taxes included, in thousandths of the currency''s unit. 0: it was free. NULL: Apple signed no '
    'price, as in 2022 and before.';
COMMENT ON COLUMN entitled_reports.transactions.refunded_milliunits IS
    'What of it went back, in thousandths of the currency''s unit. NULL: price_milliunits is.';
COMMENT ON COLUMN entitled_reports.transactions.price IS
    'price_milliunits in units of the currency; purchase_price_in_purchased_currency of exports.';
COMMENT ON COLUMN entitled_reports.transactions.refunded IS 'refunded_milliunits in units of the currency.';
COMMENT ON COLUMN entitled_reports.transactions.net IS
    'price less refunded, in units of the currency; price_in_purchased_currency of exports. NULL: price is.';
COMMENT ON COLUMN entitled_reports.transactions.commission_share IS
    'Apple''s share of the price, 0 to 1, by apps[].commission; commission_percentage of exports. Not signed: an estimate.';
COMMENT ON COLUMN entitled_reports.transactions.tax_share IS
    'The taxes'' share of the price, 0 to 1, by reports.tax; tax_percentage of exports. Not signed: an estimate.';
COMMENT ON COLUMN entitled_reports.transactions.commission IS
    'net times commission_share, in units of the currency. NULL: price is.';
COMMENT ON COLUMN entitled_reports.transactions.tax IS 'net times tax_share, in units of the currency. NULL: price is.';
COMMENT ON COLUMN entitled_reports.transactions.proceeds IS
    'net less commission and tax, in units of the currency. NULL: price is.';
COMMENT ON COLUMN entitled_reports.transactions.price_usd IS
    'price in US dollars, by webhooks.usd_rates; purchase_price_in_usd of exports. NULL: no price, or no rate.';
COMMENT ON COLUMN entitled_reports.transactions.net_usd IS
    'net in US dollars, by webhooks.usd_rates; price_in_usd of exports. NULL: no price, or no rate.';

COMMENT ON VIEW entitled_reports.events IS
    'Events for webhooks, one row each, without their bodies. Always current.';
COMMENT ON COLUMN entitled_reports.events.event_id IS 'The id of the event, webhook-id of its deliveries.';
COMMENT ON COLUMN entitled_reports.events.type IS 'The type of the event, such as RENEWAL.';
COMMENT ON COLUMN entitled_reports.events.app IS
    'The app, by its id in the configuration. NULL: an event about a grant, which belongs to no app.';
COMMENT ON COLUMN entitled_reports.events.is_sandbox IS 'Whether it is about Apple''s sandbox.';
COMMENT ON COLUMN entitled_reports.events.original_transaction_id IS
    'The purchase that it is about. NULL: it is about none.';
COMMENT ON COLUMN entitled_reports.events.customer_id IS
    'The owner of that purchase now, who may be another customer than when it was sent. NULL: it is about no purchase, or '
    'the purchase was erased.';
COMMENT ON COLUMN entitled_reports.events.purchase_sequence IS
    'Its number among the events of the purchase, from 1. NULL: about no purchase, or older than the numbers.';
COMMENT ON COLUMN entitled_reports.events.created_at IS 'When it was made.';
COMMENT ON COLUMN entitled_reports.events.created_ms IS
    'The same in milliseconds since 1970 UTC. A period is found fast by this column.';

COMMENT ON VIEW entitled_reports.entitlements_now IS
    'Entitlements that customers have at the beginning of the transaction that reads it, one row for each customer, '
    'entitlement and environment: the one that lasts longest. As fresh as freshness says.';
COMMENT ON COLUMN entitled_reports.entitlements_now.customer_id IS 'The owner: customer_id of customers.';
COMMENT ON COLUMN entitled_reports.entitlements_now.entitlement IS 'The entitlement, by its id in the configuration.';
COMMENT ON COLUMN entitled_reports.entitlements_now.is_sandbox IS
    'Whether a purchase in Apple''s sandbox gives it. entitlements_from_sandbox is not applied.';
COMMENT ON COLUMN entitled_reports.entitlements_now.app IS
    'The app, by its id in the configuration. NULL: a grant, which belongs to no app.';
COMMENT ON COLUMN entitled_reports.entitlements_now.store IS 'app_store, or promotional for a grant.';
COMMENT ON COLUMN entitled_reports.entitlements_now.product_id IS 'The product that gives it.';
COMMENT ON COLUMN entitled_reports.entitlements_now.original_transaction_id IS 'The purchase that gives it.';
COMMENT ON COLUMN entitled_reports.entitlements_now.purchased_at IS 'When the latest transaction of the product was charged.';
COMMENT ON COLUMN entitled_reports.entitlements_now.expires_at IS 'When it ends, grace included. NULL: it has no end.';
COMMENT ON COLUMN entitled_reports.entitlements_now.grace_ends_at IS 'End of the grace period. NULL: there is none.';

COMMENT ON VIEW entitled_reports.freshness IS 'One row: how fresh transactions and entitlements_now are.';
COMMENT ON COLUMN entitled_reports.freshness.refreshed_at IS
    'Every change from before this time is in them. NULL: no refresh was finished, so that they are empty or incomplete; '
    'reports.refresh is not set, or the first one still runs.';
