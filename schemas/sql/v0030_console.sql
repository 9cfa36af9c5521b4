-- Operators: who may use the console and the operator API, and with which keys.

CREATE TABLE entitled.console_user (
    name text COLLATE "C" PRIMARY KEY,
    role text COLLATE "C" NOT NULL,
    password text COLLATE "C",
    zone text COLLATE "C",
    created_ms bigint NOT NULL,
    ended_ms bigint
);

CREATE TABLE entitled.operator_key (
    id text COLLATE "C" PRIMARY KEY,
    user_name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    hint text COLLATE "C" NOT NULL,
    hash bytea NOT NULL UNIQUE,
    created_ms bigint NOT NULL,
    until_ms bigint,
    last_used_ms bigint,
    ended_ms bigint
);
CREATE INDEX operator_key_user ON entitled.operator_key (user_name);

COMMENT ON TABLE entitled.console_user IS
    'People who operate this installation. `entitled users` on the host makes and removes them; removed ones keep their row.';
COMMENT ON COLUMN entitled.console_user.role IS 'support, integrator, operator, finance or read.';
COMMENT ON COLUMN entitled.console_user.password IS
    'Parameters, salt and hash of the password. NULL: the user has none.';
COMMENT ON COLUMN entitled.console_user.zone IS 'IANA name of the time zone in which times are shown. NULL: UTC.';
COMMENT ON COLUMN entitled.console_user.ended_ms IS 'When the user was removed. NULL: the user is there.';
COMMENT ON TABLE entitled.operator_key IS 'Keys of the operator API, of which only the hash is kept.';
COMMENT ON COLUMN entitled.operator_key.role IS 'At most that of the user, who decides anew at every request.';
COMMENT ON COLUMN entitled.operator_key.hint IS 'How the key begins.';
COMMENT ON COLUMN entitled.operator_key.hash IS 'SHA-256 of the key.';
COMMENT ON COLUMN entitled.operator_key.until_ms IS 'When the key ends by itself. NULL: never.';
COMMENT ON COLUMN entitled.operator_key.ended_ms IS 'When the key was revoked. NULL: it was not.';
