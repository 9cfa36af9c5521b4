-- What endpoints get besides events, and types that they do not get.

ALTER TABLE entitled.endpoint
    ADD COLUMN excepted_events text[] NOT NULL DEFAULT '{}',
    ADD COLUMN includes_subscriber boolean NOT NULL DEFAULT false,
    ADD COLUMN extension_version text;
COMMENT ON COLUMN entitled.endpoint.excepted_events IS 'Filter by event type: all but these. Empty where events is not.';
COMMENT ON COLUMN entitled.endpoint.includes_subscriber IS 'Whether each event carries the document of its customer.';
COMMENT ON COLUMN entitled.endpoint.extension_version IS
    'The version of RevenueCat''s Firebase extension that receives the events, each in a token of its own. NULL: they '
    'are sent as they are.';
