-- What a role may add, row by row, where the right to add to a table would say too little.
--
-- Grants say which roles use a table; a restrictive policy narrows what one of them adds. Roles of an operator's own are not
-- concerned: for them grants alone decide, as before.

-- MARK: facts

-- The api adds what was done here: assignments (4), grants (6), what apps said (7) and that they posted (8). What Apple signed,
-- and what a notification says, comes from the worker alone, which has checked the signatures: facts are read without checking
-- them again.
ALTER TABLE entitled.fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_grants ON entitled.fact USING (true);
CREATE POLICY unsigned ON entitled.fact AS RESTRICTIVE FOR INSERT TO entitled_api
    WITH CHECK (kind IN (4, 6, 7, 8) AND header IS NULL AND signature IS NULL);

-- MARK: listening

-- The public process notes the present minute, by the server's clock, or the one before it where the statement began in that:
-- minutes of the past would hide an outage, or make one.
ALTER TABLE entitled.listening ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_grants ON entitled.listening USING (true);
CREATE POLICY present ON entitled.listening AS RESTRICTIVE FOR INSERT TO entitled_ingest
    WITH CHECK (floor(extract(epoch FROM clock_timestamp()) / 60) - minute BETWEEN 0 AND 1);
