-- Events of a purchase are numbered, and consumers may ask to get them one after the other.

-- Which event of its purchase it is, from 1. Made before there were numbers, or about no purchase: NULL.
ALTER TABLE entitled.event ADD COLUMN sequence integer;

-- The last number of a purchase. The events themselves are what counts: their rows stay for ever, so that no counter can
-- be lost or set back. By a hash, because there is an entry for each event: a purchase has few.
CREATE INDEX event_sequence ON entitled.event (hashtext(original_transaction_id)) WHERE sequence IS NOT NULL;

-- What a consumer gets in order: `none`, or the events of each purchase (`purchase`).
ALTER TABLE entitled.endpoint
    ADD COLUMN ordering text NOT NULL DEFAULT 'none' CHECK (ordering IN ('none', 'purchase'));

-- Deliveries of a consumer who gets them in order name their purchase and its event's number; others have neither. A new
-- state: 4, blocked, for those that wait for an earlier one of the same purchase; `next_ms` says since when. Of what is
-- open (pending, held or blocked) of a purchase, the first is never blocked.
ALTER TABLE entitled.delivery ADD COLUMN ordered_by uuid, ADD COLUMN sequence bigint;

-- The open ones of a purchase, in their order.
CREATE INDEX delivery_ordered ON entitled.delivery (lane, endpoint, ordered_by, sequence)
    WHERE ordered_by IS NOT NULL AND state IN (0, 3, 4);

-- The blocked ones, longest first; they are in no other index that a worker reads.
CREATE INDEX delivery_blocked ON entitled.delivery (lane, endpoint, next_ms) WHERE state = 4;

GRANT SELECT (ordering) ON entitled.endpoint TO entitled_api;
