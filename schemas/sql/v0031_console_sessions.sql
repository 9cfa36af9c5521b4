-- Operators on the web: their sessions, the links by which they log in, and their attempts.

CREATE TABLE entitled.console_session (
    hash bytea PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    user_name text COLLATE "C" NOT NULL REFERENCES entitled.console_user (name),
    address text COLLATE "C" NOT NULL,
    browser text COLLATE "C" NOT NULL,
    by_link boolean NOT NULL,
    started_ms bigint NOT NULL,
    seen_ms bigint NOT NULL,
    ended_ms bigint
);
CREATE INDEX console_session_user ON entitled.console_session (user_name, started_ms);

CREATE TABLE entitled.console_link (
    hash bytea PRIMARY KEY,
    user_name text COLLATE "C" NOT NULL REFERENCES entitled.console_user (name),
    created_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    used_ms bigint
);
CREATE INDEX console_link_user ON entitled.console_link (user_name);

CREATE TABLE entitled.console_try (
    subject bytea NOT NULL,
    at_ms bigint NOT NULL,
    is_failure boolean NOT NULL
);
CREATE INDEX console_try_subject ON entitled.console_try (subject, at_ms);
CREATE INDEX console_try_at ON entitled.console_try (at_ms);

COMMENT ON TABLE entitled.console_session IS
    'Browsers that operators are logged in with. Rows go a month after the session''s end.';
COMMENT ON COLUMN entitled.console_session.hash IS 'SHA-256 of the cookie''s value, which is kept nowhere.';
COMMENT ON COLUMN entitled.console_session.id IS 'As commands and pages name it; it opens nothing.';
COMMENT ON COLUMN entitled.console_session.address IS 'Of the client at its start.';
COMMENT ON COLUMN entitled.console_session.browser IS 'The User-Agent at its start, cut off.';
COMMENT ON COLUMN entitled.console_session.by_link IS
    'Whether a log-in link began it: its user may set a password without the one before.';
COMMENT ON COLUMN entitled.console_session.seen_ms IS 'The minute of its last use.';
COMMENT ON COLUMN entitled.console_session.ended_ms IS 'When it was logged out or revoked. NULL: neither.';
COMMENT ON TABLE entitled.console_link IS 'Log-in links, each for one use.';
COMMENT ON COLUMN entitled.console_link.hash IS 'SHA-256 of the link''s token, which is kept nowhere.';
COMMENT ON COLUMN entitled.console_link.until_ms IS 'When the link ends by itself.';
COMMENT ON COLUMN entitled.console_link.used_ms IS 'When it was used. NULL: it was not.';
COMMENT ON TABLE entitled.console_try IS
    'Attempts to log in with a password, by name and by network, which decide how long the next one waits. Rows go after a day.';
COMMENT ON COLUMN entitled.console_try.subject IS 'SHA-256 of a name as it was typed, of a user, or of a network.';
