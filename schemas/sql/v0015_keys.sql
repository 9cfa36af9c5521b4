-- Keys of the REST api, the offering of single customers, and the groups of products.

-- Keys that a command made. The key itself is nowhere: it has 190 bits of randomness, so that its SHA-256 tells nothing.
-- `kind`: `public` (of apps) or `secret` (of backends); `app` null: every app; `scope` (of secret ones): `read` or `write`.
-- `hint` is how the key begins.
CREATE TABLE entitled.api_key (
    id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    app text COLLATE "C",
    scope text NOT NULL,
    name text,
    hint text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    created_ms bigint NOT NULL,
    last_used_ms bigint,
    revoked_ms bigint
);

GRANT SELECT, INSERT, UPDATE, DELETE ON entitled.api_key TO entitled_worker;
GRANT SELECT ON entitled.api_key TO entitled_api;
GRANT UPDATE (last_used_ms) ON entitled.api_key TO entitled_api;

-- The offering that is current for this customer; null: that of the configuration.
ALTER TABLE entitled.customer ADD COLUMN offering_override text;
GRANT UPDATE (offering_override) ON entitled.customer TO entitled_api;

-- Apple's subscription group (`subscriptionGroupIdentifier`): introductory offers are once a group. Null: not known yet.
ALTER TABLE entitled.product ADD COLUMN subscription_group text;
