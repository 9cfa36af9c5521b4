-- Which id of a customer was used last: events name the customer by it.

-- When an app or a backend used this id last, in ms, to the hour. Of two ids of one customer the one with the later instant
-- was used later, also within the hour. NULL: none did, as far as is known: the id came with a purchase that Apple signed or
-- from an operator, or was last used before there was this column.
ALTER TABLE entitled.app_user_id ADD COLUMN last_seen_ms bigint;

-- The worker reads it and the api writes it: both have these rights on the whole table.
