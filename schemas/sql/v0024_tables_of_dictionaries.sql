-- Payloads and bodies are compressed with tables of how often bytes are to be expected (RFC 8878 §5), which programs
-- that need version 23 do not have. What is there stays as it is.

COMMENT ON COLUMN entitled.notification.payload IS
    'zstd with the header and a dictionary; frames that name dictionary 1 are made with its tables, others without';
COMMENT ON COLUMN entitled.fact.payload IS
    'zstd with a dictionary; frames that name dictionary 1 are made with its tables, others without';
COMMENT ON COLUMN entitled.event.body IS
    'zstd with a dictionary; frames that name dictionary 1 are made with its tables, others without';
