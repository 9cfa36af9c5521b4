-- Payloads of notifications and facts and bodies of events are compressed with dictionaries that have entropy tables (RFC 8878
-- §5) from here on: their frames name dictionary 1. What is there stays as it is, and is read as before. No table changes; the
-- version keeps programs out that cannot read such frames.

COMMENT ON TABLE entitled.schema_version IS 'the migrations that were applied, each once';
