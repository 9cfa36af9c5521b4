-- The measurements of deploy/growth, which explains them. Shapes are schemas with the same tables: entitled (whole), and
-- lanes_N (by hash of the lane into N partitions). Statements name tables without their schema, and are those of the
-- program, which has the server plan each anew.

CREATE SCHEMA growth;
CREATE EXTENSION pageinspect WITH SCHEMA growth;
CREATE EXTENSION pg_prewarm WITH SCHEMA growth;
CREATE EXTENSION tsm_system_rows WITH SCHEMA growth;

CREATE TABLE growth.result (
    at timestamptz NOT NULL DEFAULT clock_timestamp(), rows bigint, tbl text, shape text, measure text, value float8);
CREATE TABLE growth.index_definition (tbl text, name text, is_key boolean, definition text);
CREATE TABLE growth.stop (at timestamptz);

CREATE FUNCTION growth.note(rows bigint, tbl text, shape text, measure text, value float8) RETURNS void
LANGUAGE sql AS $$ INSERT INTO growth.result (rows, tbl, shape, measure, value) VALUES ($1, $2, $3, $4, $5) $$;

-- Milliseconds of processor time, user and system, that this backend has used.
CREATE FUNCTION growth.cpu() RETURNS float8 LANGUAGE sql AS $$
    SELECT 10.0 * (f[12]::float8 + f[13]::float8)
    FROM (SELECT string_to_array(split_part(pg_read_file('/proc/self/stat'), ') ', 2), ' ') f) s
$$;

-- MARK: Rows as the program writes them

-- Random bytes, of which payloads are cut: as incompressible as those of the program.
CREATE TABLE growth.pool AS SELECT string_agg(uuid_send(gen_random_uuid()), '') AS bytes FROM generate_series(1, 64);

CREATE FUNCTION growth.lane(purchase bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT (hashint8(purchase) & 255)::int2 $$;
CREATE FUNCTION growth.otid(purchase bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT (2000570000000000 + purchase * 1000)::text $$;
-- Purchases take turns in no order.
CREATE FUNCTION growth.purchase(i bigint, purchases bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT (hashint8extended(i, 7) & 4611686018427387903) % purchases $$;

-- `$1` the first row, `$2` the last, `$3` how many purchases there are. The lengths are the averages of a run of
-- `storesim play`: payloads by kind, 65 bytes with a signature, ids of 16 digits, bodies of 216 bytes.
CREATE FUNCTION growth.source(tbl text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE tbl
    WHEN 'fact' THEN $q$
        SELECT growth.lane(p) AS lane, 'demo'::text AS app, 1::int2 AS environment,
            growth.otid(p) AS original_transaction_id, gen_random_uuid() AS digest, kind, signed_ms, signed_ms << 22 AS seq,
            CASE WHEN kind <> 3 THEN 'b0d1a3c4-0000-4000-8000-000000000001'::uuid END AS header,
            substr(pool.bytes, 1 + (i % 800)::int, CASE kind WHEN 1 THEN 142 WHEN 2 THEN 108 ELSE 71 END) AS payload,
            CASE WHEN kind <> 3 THEN substr(pool.bytes, 1 + (i % 900)::int, 64) END AS signature,
            0::int2 AS source, NULL::int8[] AS signed_again
        FROM (SELECT i, growth.purchase(i, $3) AS p, 1700000000000 + i * 70 AS signed_ms,
            (CASE WHEN i % 100 < 26 THEN 1 WHEN i % 100 < 61 THEN 2 ELSE 3 END)::int2 AS kind
            FROM generate_series($1::int8, $2::int8) i) r, growth.pool
        $q$
    WHEN 'event' THEN $q$
        SELECT growth.lane(p) AS lane, gen_random_uuid() AS id,
            CASE WHEN i % 10 < 4 THEN 'RENEWAL' WHEN i % 10 < 6 THEN 'INITIAL_PURCHASE' ELSE 'CANCELLATION' END AS type,
            'demo'::text AS app, 1::int2 AS environment, growth.otid(p) AS original_transaction_id,
            1700000000000 + i * 70 AS created_ms, substr(pool.bytes, 1 + (i % 800)::int, 216) AS body,
            (i / $3 + 1)::int4 AS sequence
        FROM (SELECT i, growth.purchase(i, $3) AS p FROM generate_series($1::int8, $2::int8) i) r, growth.pool
        $q$
    WHEN 'delivery' THEN $q$
        SELECT growth.lane(p) AS lane, gen_random_uuid() AS id, 'we_98a6ec8b4415c210'::text AS endpoint,
            gen_random_uuid() AS event,
            CASE WHEN i % 10 < 4 THEN 'RENEWAL' WHEN i % 10 < 6 THEN 'INITIAL_PURCHASE' ELSE 'CANCELLATION' END
                AS event_type, 1::int2 AS state, 1::int2 AS attempts, 0::int2 AS round_start,
            1700000000000 + i * 70 AS next_ms, 200::int2 AS last_status, NULL::text AS reason,
            1700000000000 + i * 70 AS created_ms, NULL::uuid AS ordered_by, NULL::int8 AS sequence,
            NULL::int8 AS notification_seq, NULL::text AS webhook_id, NULL::int8 AS job
        FROM (SELECT i, growth.purchase(i, $3) AS p FROM generate_series($1::int8, $2::int8) i) r
        $q$
    WHEN 'purchase_identifier' THEN $q$
        SELECT (2000570000000000 + p * 1000 + 1 + i / $3)::text AS identifier, 'demo'::text AS app, 1::int2 AS environment,
            growth.otid(p) AS original_transaction_id, growth.lane(p) AS lane
        FROM (SELECT i, (i * 7919) % $3 AS p FROM generate_series($1::int8, $2::int8) i) r
        $q$
    END
$$;

-- Rows of a purchase after three years: 14 notifications a year with 2.56 facts and 1.08 events and identifiers each.
CREATE FUNCTION growth.purchases(tbl text, rows bigint) RETURNS bigint LANGUAGE sql AS
    $$ SELECT greatest(1000, rows / CASE tbl WHEN 'fact' THEN 107 ELSE 45 END) $$;

-- MARK: Shapes

CREATE FUNCTION growth.forget_indexes(tbl text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
    DELETE FROM growth.index_definition d WHERE d.tbl = $1;
    INSERT INTO growth.index_definition
    SELECT $1, c.relname, i.indisprimary, CASE WHEN i.indisprimary THEN pg_get_constraintdef(k.oid)
        ELSE pg_get_indexdef(c.oid) END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.contype = 'p'
    WHERE i.indrelid = ('entitled.' || $1)::regclass;
    FOR one IN SELECT * FROM growth.index_definition d WHERE d.tbl = $1 LOOP
        IF one.is_key THEN EXECUTE format('ALTER TABLE entitled.%I DROP CONSTRAINT %I', $1, one.name);
        ELSE EXECUTE format('DROP INDEX entitled.%I', one.name); END IF;
    END LOOP;
END $$;

CREATE FUNCTION growth.fill(tbl text, rows bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('TRUNCATE entitled.%I', tbl);
    EXECUTE format('INSERT INTO entitled.%I (%s) SELECT * FROM (%s) r', tbl, growth.columns(tbl), growth.source(tbl))
        USING 1::int8, rows, growth.purchases(tbl, rows);
END $$;

CREATE FUNCTION growth.columns(tbl text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE tbl
    WHEN 'fact' THEN 'lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, header, payload, signature, source, signed_again'
    WHEN 'event' THEN 'lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence'
    WHEN 'delivery' THEN 'lane, id, endpoint, event, event_type, state, attempts, round_start, next_ms, last_status, reason, created_ms, ordered_by, sequence, notification_seq, webhook_id, job'
    ELSE 'identifier, app, environment, original_transaction_id, lane' END
$$;

-- Indexes of rows that came in no order are two thirds full; they are built like that.
CREATE FUNCTION growth.build_indexes(tbl text, shape text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM growth.index_definition d WHERE d.tbl = $1 ORDER BY is_key DESC, name LOOP
        IF one.is_key THEN
            -- A partitioned table needs the lane in its key.
            IF shape <> 'entitled' AND tbl = 'purchase_identifier' THEN
                one.definition = replace(one.definition, ')', ', lane)');
            END IF;
            EXECUTE format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s WITH (fillfactor = 70)', shape, tbl, one.name, one.definition);
        ELSE
            EXECUTE replace(one.definition, ' ON entitled.', format(' ON %I.', shape));
        END IF;
    END LOOP;
    -- What the planner knows of an expression whose index is partial, as the schema has it of the table as one.
    IF tbl = 'event' THEN
        FOR one IN SELECT relname FROM growth.leaves(tbl, shape) l JOIN pg_class c ON c.oid = l LOOP
            EXECUTE format('CREATE STATISTICS IF NOT EXISTS %I.%I ON (hashtext(original_transaction_id)) FROM %I.%I',
                shape, one.relname || '_purchase', shape, one.relname);
        END LOOP;
    END IF;
END $$;

CREATE FUNCTION growth.make_partitioned(tbl text, parts int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE shape text := 'lanes_' || parts; options text;
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', shape);
    EXECUTE format('CREATE TABLE %I.%I (LIKE entitled.%I INCLUDING DEFAULTS) PARTITION BY HASH (lane)', shape, tbl, tbl);
    SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' INTO options
    FROM pg_class WHERE oid = ('entitled.' || tbl)::regclass;
    FOR part IN 0..parts - 1 LOOP
        EXECUTE format('CREATE TABLE %I.%I PARTITION OF %I.%I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
            shape, tbl || '_' || part, shape, tbl, parts, part, coalesce(options, ''));
    END LOOP;
END $$;

-- What a measured command took: seconds, processor seconds, megabytes of WAL.
CREATE PROCEDURE growth.took(rows bigint, tbl text, shape text, measure text, command text) LANGUAGE plpgsql AS $$
DECLARE began timestamptz := clock_timestamp(); cpu float8 := growth.cpu(); wal pg_lsn := pg_current_wal_insert_lsn();
BEGIN
    EXECUTE command;
    PERFORM growth.note(rows, tbl, shape, measure || ', s', extract(epoch FROM clock_timestamp() - began));
    PERFORM growth.note(rows, tbl, shape, measure || ', CPU s', (growth.cpu() - cpu) / 1000);
    PERFORM growth.note(rows, tbl, shape, measure || ', WAL MB', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), wal) / 1e6);
END $$;

CREATE FUNCTION growth.leaves(tbl text, shape text) RETURNS SETOF regclass LANGUAGE sql AS $$
    SELECT c.oid::regclass FROM pg_class c WHERE c.oid = format('%I.%I', shape, tbl)::regclass AND c.relkind = 'r'
    UNION ALL SELECT relid FROM pg_partition_tree(format('%I.%I', shape, tbl)::regclass) WHERE isleaf AND level > 0
$$;

CREATE FUNCTION growth.sizes(rows bigint, tbl text, shape text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
    PERFORM growth.note(rows, tbl, shape, 'table, bytes a row',
        (SELECT sum(pg_table_size(l)) FROM growth.leaves(tbl, shape) l)::float8 / rows);
    PERFORM growth.note(rows, tbl, shape, 'indexes, bytes a row',
        (SELECT sum(pg_indexes_size(l)) FROM growth.leaves(tbl, shape) l)::float8 / rows);
    PERFORM growth.note(rows, tbl, shape, 'levels of the key''s index',
        (WITH key AS MATERIALIZED (
            SELECT i.indexrelid::regclass::text AS name FROM growth.leaves(tbl, shape) l
            JOIN pg_index i ON i.indrelid = l AND i.indisprimary
        ) SELECT max((growth.bt_metap(name)).level) + 1 FROM key));
END $$;

-- MARK: Writing

-- Of events, the lane is a condition for an index here, which the program avoids, so that partitions can be ruled out by it.
CREATE FUNCTION growth.insert_statement(tbl text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE tbl
    WHEN 'fact' THEN $q$
        INSERT INTO fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, header,
            payload, signature, source, signed_again)
        SELECT lane, app, environment, otid, digest, kind, signed, seq, header, payload, signature, source,
            string_to_array(again, ' ')::int8[]
        FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::uuid[], $6::int2[], $7::int8[],
            $8::int8[], $9::uuid[], $10::bytea[], $11::bytea[], $12::int2[], $13::text[])
            AS t(lane, app, environment, otid, digest, kind, signed, seq, header, payload, signature, source, again)
        ON CONFLICT DO NOTHING
        $q$
    WHEN 'event' THEN $q$
        WITH fresh AS MATERIALIZED (
            SELECT t.* FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::text[], $5::int2[], $6::text[], $7::bytea[],
                $9::int8[]) WITH ORDINALITY AS t(lane, id, type, app, environment, otid, body, sequence, place)
            WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.lane = t.lane AND e.id = t.id)
        )
        INSERT INTO event
            (lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence)
        SELECT f.lane, f.id, f.type, f.app, f.environment, f.otid, $8, f.body,
            CASE WHEN f.otid IS NULL THEN f.sequence ELSE coalesce(last.sequence, 0)
                + row_number() OVER (PARTITION BY f.lane, f.otid, f.app, f.environment ORDER BY f.place) END
        FROM fresh f LEFT JOIN LATERAL (
            SELECT e.sequence FROM event e
            WHERE hashtext(e.original_transaction_id) = hashtext(f.otid) AND e.sequence IS NOT NULL
                AND e.lane = f.lane AND e.original_transaction_id = f.otid AND e.app = f.app
                AND e.environment = f.environment
            ORDER BY e.sequence DESC LIMIT 1
        ) last ON true
        ON CONFLICT DO NOTHING RETURNING lane, id, sequence
        $q$
    WHEN 'delivery' THEN $q$
        INSERT INTO delivery (lane, id, endpoint, event, event_type, state, reason, next_ms, created_ms)
        SELECT t.lane, t.id, t.endpoint, t.event, t.event_type, t.state, t.reason, $8, $8
        FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::int2[], $7::text[])
            AS t(lane, id, endpoint, event, event_type, state, reason)
        ON CONFLICT DO NOTHING
        $q$
    ELSE $q$
        INSERT INTO purchase_identifier (identifier, app, environment, original_transaction_id, lane)
        SELECT * FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[], $5::int2[]) ON CONFLICT DO NOTHING
        $q$
    END
$$;

CREATE FUNCTION growth.settle_statement() RETURNS text LANGUAGE sql AS $$ SELECT $q$
    WITH settled AS (
    UPDATE delivery d
    SET state = CASE WHEN t.state = 1 OR d.state = 0 AND d.attempts = t.began AND d.round_start = t.round THEN t.state
            ELSE d.state END,
        reason = CASE WHEN t.state = 1 OR d.state = 0 AND d.attempts = t.began AND d.round_start = t.round THEN t.reason
            ELSE d.reason END,
        next_ms = CASE WHEN d.state = 0 AND d.attempts = t.began AND d.round_start = t.round THEN $7::int8 + t.wait
            ELSE d.next_ms END,
        attempts = greatest(d.attempts, t.attempts), last_status = coalesce(t.status, d.last_status)
    FROM unnest($1::int2[], $2::uuid[], $3::int2[], $4::int2[], $5::int8[], $6::int2[], $8::text[],
        $9::int2[], $10::int2[]) AS t(lane, id, state, attempts, wait, status, reason, began, round)
    WHERE d.lane = t.lane AND d.id = t.id
    RETURNING d.lane, d.endpoint, d.ordered_by, d.state
    )
    SELECT DISTINCT lane, endpoint, ordered_by FROM settled WHERE ordered_by IS NOT NULL AND state IN (1, 2)
    $q$
$$;

-- Batches of new rows, as arrays, so that making them is not measured.
CREATE TABLE growth.batch (no int, lane int2[], app text[], environment int2[], otid text[], id uuid[], kind int2[],
    at int8[], seq int8[], header uuid[], payload bytea[], signature bytea[], source int2[], again text[], type text[],
    body bytea[], event uuid[], endpoint text[], state int2[], identifier text[], nothing text[], zero int8[]);
ALTER TABLE growth.batch ALTER payload SET STORAGE EXTERNAL, ALTER signature SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;

CREATE SEQUENCE growth.row;

-- Has the kernel read table and indexes, so that no shape pays for what another pushed out of memory.
CREATE FUNCTION growth.warm(tbl text, shape text) RETURNS void LANGUAGE sql AS $$
    SELECT growth.pg_prewarm(r, 'read') FROM (
        SELECT l AS r FROM growth.leaves(tbl, shape) l
        UNION ALL SELECT i.indexrelid::regclass FROM growth.leaves(tbl, shape) l JOIN pg_index i ON i.indrelid = l) x
$$;

CREATE PROCEDURE growth.make_batches(tbl text, rows bigint, batches int, size int) LANGUAGE plpgsql AS $$
DECLARE first bigint := rows + 1 + nextval('growth.row') * 1000000;
BEGIN
    TRUNCATE growth.batch;
    CASE tbl
    WHEN 'fact' THEN
        EXECUTE format('INSERT INTO growth.batch (no, lane, app, environment, otid, id, kind, at, seq, header, payload, signature, source, again)
            SELECT (n - 1) / %s, array_agg(lane), array_agg(app), array_agg(environment), array_agg(original_transaction_id),
                array_agg(digest), array_agg(kind), array_agg(signed_ms), array_agg(seq), array_agg(header), array_agg(payload),
                array_agg(signature), array_agg(source), array_agg(NULL::text)
            FROM (SELECT *, row_number() OVER () AS n FROM (%s) r) r GROUP BY 1', size, growth.source(tbl))
            USING first, first + batches * size - 1, growth.purchases(tbl, rows);
    WHEN 'event' THEN
        EXECUTE format('INSERT INTO growth.batch (no, lane, id, type, app, environment, otid, body, zero)
            SELECT (n - 1) / %s, array_agg(lane), array_agg(id), array_agg(type), array_agg(app), array_agg(environment),
                array_agg(original_transaction_id), array_agg(body), array_agg(NULL::int8)
            FROM (SELECT *, row_number() OVER () AS n FROM (%s) r) r GROUP BY 1', size, growth.source(tbl))
            USING first, first + batches * size - 1, growth.purchases(tbl, rows);
    WHEN 'delivery' THEN
        EXECUTE format('INSERT INTO growth.batch (no, lane, id, endpoint, event, type, state, nothing, zero, kind)
            SELECT (n - 1) / %s, array_agg(lane), array_agg(id), array_agg(endpoint), array_agg(event), array_agg(event_type),
                array_agg(0::int2), array_agg(NULL::text), array_agg(0::int8), array_agg(1::int2)
            FROM (SELECT *, row_number() OVER () AS n FROM (%s) r) r GROUP BY 1', size, growth.source(tbl))
            USING first, first + batches * size - 1, growth.purchases(tbl, rows);
    ELSE
        EXECUTE format('INSERT INTO growth.batch (no, identifier, app, environment, otid, lane)
            SELECT (n - 1) / %s, array_agg(identifier), array_agg(app), array_agg(environment),
                array_agg(original_transaction_id), array_agg(lane)
            FROM (SELECT *, row_number() OVER () AS n FROM (%s) r) r GROUP BY 1', size, growth.source(tbl))
            USING first, first + batches * size - 1, growth.purchases(tbl, rows);
    END CASE;
    COMMIT;
    CHECKPOINT;
END $$;

CREATE PROCEDURE growth.write_batch(tbl text, b growth.batch, settles boolean) LANGUAGE plpgsql AS $$
BEGIN
    IF settles THEN
        EXECUTE growth.settle_statement() USING b.lane, b.id, b.kind, b.kind, b.zero, b.kind, 1800000000000, b.nothing,
            b.state, b.state;
    ELSE
        CASE tbl
        WHEN 'fact' THEN EXECUTE growth.insert_statement(tbl) USING b.lane, b.app, b.environment, b.otid, b.id, b.kind,
            b.at, b.seq, b.header, b.payload, b.signature, b.source, b.again;
        WHEN 'event' THEN EXECUTE growth.insert_statement(tbl) USING b.lane, b.id, b.type, b.app, b.environment, b.otid,
            b.body, 1800000000000, b.zero;
        WHEN 'delivery' THEN EXECUTE growth.insert_statement(tbl) USING b.lane, b.id, b.endpoint, b.event, b.type,
            b.state, b.nothing, 1800000000000;
        ELSE EXECUTE growth.insert_statement(tbl) USING b.identifier, b.app, b.environment, b.otid, b.lane;
        END CASE;
    END IF;
END $$;

-- Inserts the batches, a transaction each; of deliveries, sets them to delivered afterwards.
CREATE PROCEDURE growth.write(rows bigint, tbl text, shape text, size int) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz; cpu float8; wal pg_lsn; b growth.batch; count int; what text; settles boolean;
BEGIN
    PERFORM set_config('search_path', shape || ', pg_catalog', false);
    SELECT max(no) + 1 INTO count FROM growth.batch;
    FOREACH settles IN ARRAY CASE tbl WHEN 'delivery' THEN '{false,true}'::bool[] ELSE '{false}' END LOOP
        what := CASE WHEN settles THEN 'settle' ELSE 'insert' END || ' by ' || size;
        COMMIT;
        began := clock_timestamp(); cpu := growth.cpu(); wal := pg_current_wal_insert_lsn();
        FOR n IN 0..count - 1 LOOP
            SELECT * INTO b FROM growth.batch WHERE no = n;
            CALL growth.write_batch(tbl, b, settles);
            COMMIT;
        END LOOP;
        PERFORM growth.note(rows, tbl, shape, what || ', rows/s',
            count * size / extract(epoch FROM clock_timestamp() - began));
        PERFORM growth.note(rows, tbl, shape, what || ', CPU µs a row', 1000 * (growth.cpu() - cpu) / (count * size));
        PERFORM growth.note(rows, tbl, shape, what || ', WAL bytes a row',
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), wal) / (count * size));
        COMMIT;
    END LOOP;
    PERFORM set_config('search_path', 'public', false);
END $$;

-- MARK: Reading

-- Plans and runs a statement for many keys: times and pages that were touched, with plans for the parameters (custom, as the
-- program asks) and with plans that were kept (generic).
CREATE FUNCTION growth.read(rows bigint, tbl text, shape text, name text, types text, statement text, keys text, rounds int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE key text; plan json; mode text; planning float8[]; execution float8[]; pages float8[];
BEGIN
    PERFORM set_config('search_path', shape || ', pg_catalog', true);
    EXECUTE format('PREPARE growth_read (%s) AS %s', types, statement);
    FOREACH mode IN ARRAY '{custom,generic}'::text[] LOOP
        PERFORM set_config('plan_cache_mode', 'force_' || mode || '_plan', true);
        planning := '{}'; execution := '{}'; pages := '{}';
        FOR key IN EXECUTE keys LOOP
            EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE growth_read (%s)', key) INTO plan;
            planning := planning || (plan->0->>'Planning Time')::float8;
            execution := execution || (plan->0->>'Execution Time')::float8;
            pages := pages || (plan->0->'Plan'->>'Shared Hit Blocks')::float8 + (plan->0->'Plan'->>'Shared Read Blocks')::float8;
        END LOOP;
        PERFORM growth.note(rows, tbl, shape, format('%s, %s: planning ms', name, mode), growth.median(planning[3:]));
        PERFORM growth.note(rows, tbl, shape, format('%s, %s: execution ms', name, mode), growth.median(execution[3:]));
        PERFORM growth.note(rows, tbl, shape, format('%s, %s: pages', name, mode), growth.median(pages[3:]));
    END LOOP;
    DEALLOCATE growth_read;
    PERFORM set_config('search_path', 'public', true);
    PERFORM set_config('plan_cache_mode', 'auto', true);
END $$;

CREATE FUNCTION growth.median(v float8[]) RETURNS float8 LANGUAGE sql AS
    $$ SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(v) x $$;

CREATE FUNCTION growth.reads(rows bigint, tbl text, shape text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE purchases bigint := growth.purchases(tbl, rows); rounds int := 42;
BEGIN
    CASE tbl
    WHEN 'fact' THEN
        PERFORM growth.read(rows, tbl, shape, 'facts of a purchase', 'int2[], text[], text[], int2[], int4[], int8', $q$
            SELECT t.place, f.kind, f.signed_ms, f.payload, f.seq, f.source, f.digest,
                array_to_string(f.signed_again, ' ') AS again
            FROM unnest($1::int2[], $2::text[], $3::text[], $4::int2[], $5::int4[])
                AS t(lane, otid, app, environment, place)
            CROSS JOIN LATERAL (
                SELECT * FROM fact f WHERE f.lane = t.lane AND f.original_transaction_id = t.otid AND f.app = t.app
                    AND f.environment = t.environment LIMIT $6
            ) f $q$,
            format('SELECT format(''%%L, %%L, ''''{demo}'''', ''''{1}'''', ''''{0}'''', 1001'', ARRAY[growth.lane(p)], ARRAY[growth.otid(p)])
                FROM (SELECT growth.purchase(n, %s) AS p FROM generate_series(1, %s) n) k', purchases, rounds), rounds);
        PERFORM growth.read(rows, tbl, shape, 'facts of one, by page', 'int2, text, text, int2, uuid, int8', $q$
            SELECT kind, signed_ms, payload, seq, source, digest, array_to_string(signed_again, ' ') AS again,
                coalesce(hash_array_extended(signed_again, 0), 0) AS signing
            FROM fact WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
                AND digest > $5 ORDER BY digest LIMIT $6 $q$,
            format('SELECT format(''%%L, %%L, ''''demo'''', 1::int2, ''''00000000-0000-0000-0000-000000000000'''', 1000'', growth.lane(p), growth.otid(p))
                FROM (SELECT growth.purchase(n, %s) AS p FROM generate_series(1, %s) n) k', purchases, rounds), rounds);
    WHEN 'event' THEN
        PERFORM growth.read(rows, tbl, shape, 'event by id, 256 lanes', 'int2[], uuid', $q$
            SELECT e.lane, e.id, e.type, e.app, e.environment, e.original_transaction_id, e.created_ms
            FROM unnest($1::int2[]) AS l(lane) JOIN event e ON e.lane = l.lane AND e.id = $2 $q$,
            format('SELECT format(''%%L, %%L'', (SELECT array_agg(l::int2) FROM generate_series(0, 255) l), id)
                FROM (SELECT id FROM entitled.event TABLESAMPLE growth.system_rows (%s)) k', rounds), rounds);
        PERFORM growth.read(rows, tbl, shape, 'events of a purchase', 'text[]', $q$
            SELECT e.lane, e.id, e.type, e.created_ms, e.sequence FROM unnest($1::text[]) AS t(otid)
            JOIN event e ON hashtext(e.original_transaction_id) = hashtext(t.otid)
                AND e.original_transaction_id = t.otid AND e.sequence IS NOT NULL $q$,
            format('SELECT quote_literal(ARRAY[growth.otid(p)]::text)
                FROM (SELECT growth.purchase(n, %s) AS p FROM generate_series(1, %s) n) k', purchases, rounds), rounds);
    WHEN 'delivery' THEN
        PERFORM growth.read(rows, tbl, shape, 'due deliveries of 256 lanes', 'text[], int8[], int2[], int8, int8', $q$
            SELECT d.lane, d.id, d.endpoint, d.event, d.attempts, d.notification_seq, d.webhook_id
            FROM unnest($1::text[], $2::int8[]) AS wanted(endpoint, room)
            CROSS JOIN LATERAL (
                SELECT due.* FROM unnest($3::int2[]) AS owned(lane)
                CROSS JOIN LATERAL (
                    SELECT * FROM delivery
                    WHERE lane = owned.lane AND endpoint = wanted.endpoint AND state = 0 AND next_ms <= $4
                    ORDER BY next_ms LIMIT least(wanted.room, $5)
                ) due
                ORDER BY due.next_ms LIMIT wanted.room
            ) d $q$,
            format('SELECT format(''''''{we_98a6ec8b4415c210}'''', ''''{100}'''', %%L, 1900000000000, 16'',
                (SELECT array_agg(l::int2) FROM generate_series(0, 255) l)) FROM generate_series(1, %s)', rounds), rounds);
        PERFORM growth.read(rows, tbl, shape, 'delivery by id', 'int2, uuid', $q$
            SELECT state, attempts, next_ms FROM delivery d WHERE d.lane = $1 AND d.id = $2 $q$,
            format('SELECT format(''%%L, %%L'', lane, id)
                FROM (SELECT lane, id FROM entitled.delivery TABLESAMPLE growth.system_rows (%s)) k', rounds), rounds);
    ELSE
        PERFORM growth.read(rows, tbl, shape, 'purchase by identifier', 'text', $q$
            SELECT app, environment, original_transaction_id FROM purchase_identifier WHERE identifier = $1 $q$,
            format('SELECT quote_literal((2000570000000000 + p * 1000 + 1)::text)
                FROM (SELECT growth.purchase(n, %s) AS p FROM generate_series(1, %s) n) k', purchases, rounds), rounds);
    END CASE;
END $$;

-- MARK: Beside maintenance

-- Inserts a row each 5 ms until growth.stop has a row, and notes the longest wait.
CREATE PROCEDURE growth.probe(rows bigint, tbl text, shape text, measure text) LANGUAGE plpgsql AS $$
DECLARE
    longest interval := '0'; began timestamptz; b growth.batch; count int;
BEGIN
    PERFORM set_config('search_path', shape || ', pg_catalog', false);
    SELECT max(no) + 1 INTO count FROM growth.batch;
    FOR n IN 0..count - 1 LOOP
        EXIT WHEN EXISTS (SELECT FROM growth.stop);
        SELECT * INTO b FROM growth.batch WHERE no = n;
        COMMIT;
        began := clock_timestamp();
        CALL growth.write_batch(tbl, b, false);
        COMMIT;
        longest := greatest(longest, clock_timestamp() - began);
        PERFORM pg_sleep(0.005);
    END LOOP;
    PERFORM growth.note(rows, tbl, shape, measure || ': a writer''s longest wait, ms', 1000 * extract(epoch FROM longest));
END $$;

-- A twentieth of the rows, as the program changes them.
CREATE FUNCTION growth.change_some(tbl text, shape text) RETURNS text LANGUAGE sql AS $$
    SELECT format(CASE tbl
        WHEN 'fact' THEN 'UPDATE %I.%I SET signed_again = ARRAY[signed_ms + 1] WHERE seq / 4194304 / 70 %% 20 = 3'
        WHEN 'event' THEN 'UPDATE %I.%I SET body = '''' WHERE created_ms / 70 %% 20 = 3'
        WHEN 'delivery' THEN 'UPDATE %I.%I SET state = 2, attempts = 2 WHERE created_ms / 70 %% 20 = 3'
        ELSE 'DELETE FROM %I.%I WHERE hashtext(identifier) %% 20 = 3' END, shape, tbl)
$$;

-- Retention of one day: a two hundredth of the rows, those that came in a row, a thousand at a time, by their keys.
CREATE PROCEDURE growth.clean(rows bigint, tbl text, shape text) LANGUAGE plpgsql AS $$
DECLARE
    until bigint := 1700000000000 + 70 * (rows / 200); began timestamptz; cpu float8; wal pg_lsn; total int := 0;
    lanes int2[]; ids uuid[]; keys record;
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS day (lanes int2[], ids uuid[]);
    TRUNCATE day;
    EXECUTE format('INSERT INTO day SELECT array_agg(lane), array_agg(id) FROM (SELECT lane, id, row_number() OVER () / 1000 AS g
        FROM entitled.%I WHERE created_ms < %s) r GROUP BY g', tbl, until);
    COMMIT;
    PERFORM set_config('search_path', shape || ', pg_catalog', false);
    CHECKPOINT;
    began := clock_timestamp(); cpu := growth.cpu(); wal := pg_current_wal_insert_lsn();
    FOR keys IN SELECT * FROM pg_temp.day LOOP
        IF tbl = 'event' THEN
            EXECUTE 'UPDATE event e SET body = '''' FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
                WHERE e.lane = t.lane AND e.id = t.id' USING keys.lanes, keys.ids;
        ELSE
            EXECUTE 'DELETE FROM delivery d USING unnest($1::int2[], $2::uuid[]) AS t(lane, id)
                WHERE d.lane = t.lane AND d.id = t.id AND d.state IN (1, 2) AND d.next_ms < $3'
                USING keys.lanes, keys.ids, 1900000000000;
        END IF;
        total := total + cardinality(keys.ids);
        COMMIT;
    END LOOP;
    PERFORM growth.note(rows, tbl, shape, 'retention, rows/s', total / extract(epoch FROM clock_timestamp() - began));
    PERFORM growth.note(rows, tbl, shape, 'retention, CPU µs a row', 1000 * (growth.cpu() - cpu) / total);
    PERFORM growth.note(rows, tbl, shape, 'retention, WAL bytes a row',
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), wal) / total);
    PERFORM set_config('search_path', 'public', false);
END $$;

-- MARK: Autovacuum

-- For so many seconds, inserts deliveries and sets them to delivered, a tenth of a second's at a time, in one of two tables that
-- differ in their settings.
CREATE PROCEDURE growth.sustain(shape text, rows bigint, rate int, seconds int) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 second'; next timestamptz := clock_timestamp();
    size int := rate / 10; lanes int2[]; ids uuid[]; events uuid[]; total bigint := 0; now_ms bigint; cpu float8 := growth.cpu();
BEGIN
    PERFORM set_config('search_path', shape || ', pg_catalog', false);
    WHILE clock_timestamp() < until LOOP
        SELECT array_agg((random() * 255)::int2), array_agg(gen_random_uuid()), array_agg(gen_random_uuid())
        INTO lanes, ids, events FROM generate_series(1, size);
        now_ms := 1800000000000 + total;
        EXECUTE growth.insert_statement('delivery') USING lanes, ids, array_fill('we_98a6ec8b4415c210'::text, ARRAY[size]),
            events, array_fill('RENEWAL'::text, ARRAY[size]), array_fill(0::int2, ARRAY[size]),
            array_fill(NULL::text, ARRAY[size]), now_ms;
        COMMIT;
        EXECUTE growth.settle_statement() USING lanes, ids, array_fill(1::int2, ARRAY[size]), array_fill(1::int2, ARRAY[size]),
            array_fill(0::int8, ARRAY[size]), array_fill(200::int2, ARRAY[size]), now_ms, array_fill(NULL::text, ARRAY[size]),
            array_fill(0::int2, ARRAY[size]), array_fill(0::int2, ARRAY[size]);
        COMMIT;
        total := total + size;
        next := next + interval '100 ms';
        PERFORM pg_sleep(greatest(0, extract(epoch FROM next - clock_timestamp())));
    END LOOP;
    PERFORM growth.note(rows, 'delivery', shape, format('sustained for %s s, deliveries', seconds), total);
    PERFORM growth.note(rows, 'delivery', shape, 'sustained, CPU µs a delivery', 1000 * (growth.cpu() - cpu) / total);
END $$;
