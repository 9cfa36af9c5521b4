-- Notifications that could not be applied are tried again by themselves.

-- How often applying failed, and when it is tried next: NULL once nobody tries any more but a person. What is held
-- already is due at once.
ALTER TABLE entitled.held_notification
    ADD COLUMN attempts integer NOT NULL DEFAULT 1,
    ADD COLUMN next_ms bigint DEFAULT 0;
ALTER TABLE entitled.held_notification ALTER COLUMN next_ms DROP DEFAULT;

-- What is due, lane by lane; thousands that wait cost nothing.
CREATE INDEX held_notification_due ON entitled.held_notification (lane, next_ms) WHERE next_ms IS NOT NULL;
