-- The reasons of tables and columns, in the catalogue: psql's \d+ shows them, and schemas/schema.sql.
--
-- From here on grants stand in Privileges.swift, which `entitled migrate` applies after the migrations.

COMMENT ON TABLE entitled.schema_version IS
    'The migrations that were applied. A process works only with the version that its program carries.';

-- MARK: the log

COMMENT ON TABLE entitled.jws_header IS
    'The first part of a JWS: algorithm and certificates. Few different ones exist at a time. Stored payloads name theirs '
    'and are compressed with it as the dictionary, because the parts inside a notification repeat it.';

COMMENT ON TABLE entitled.notification_key IS
    'The notifications that are known. Narrow, and not partitioned by time, so that a copy that arrives months later is '
    'recognised.';
COMMENT ON COLUMN entitled.notification_key.key IS 'The UUID of the notification; of a text that is no UUID, the beginning of its SHA-256.';
COMMENT ON COLUMN entitled.notification_key.seq IS 'Position in the lane; its upper 42 bits are the time of arrival.';

COMMENT ON TABLE entitled.notification IS
    'Notifications as Apple signed them, partitioned by the day (UTC) of arrival, so that a day past its retention is '
    'dropped at once. Rows never change. Columns of a fixed width come first: in another order every row has ten bytes of '
    'padding.';
COMMENT ON COLUMN entitled.notification.seq IS
    'Grows with time: the upper 42 bits are milliseconds since 2024-01-01 UTC.';
COMMENT ON COLUMN entitled.notification.source IS
    '0: Apple sent it. 1: found in Apple''s notification history. 2: the same, and its events are sent however old they '
    'are. 3: Apple''s answer to a question for the status of a purchase. 4: an app posted the transaction.';
COMMENT ON COLUMN entitled.notification.uuid IS 'notificationUUID of the payload.';
COMMENT ON COLUMN entitled.notification.header IS 'The row of jws_header.';
COMMENT ON COLUMN entitled.notification.payload IS
    'Second part of the JWS, compressed by the program: Postgres does not compress it again.';
COMMENT ON TABLE entitled.notification_default IS
    'Takes the rows that no partition was created for, so that a missing day never rejects a notification. Empty as a rule.';

COMMENT ON TABLE entitled.pending IS
    'Notifications that are not applied yet. One row is inserted and deleted for each notification, hence the eager '
    'autovacuum.';

COMMENT ON TABLE entitled.held_notification IS
    'Notifications that could not be applied. They are retried with growing pauses.';
COMMENT ON COLUMN entitled.held_notification.attempts IS 'How often applying failed.';
COMMENT ON COLUMN entitled.held_notification.next_ms IS
    'Time of the next retry. NULL: none follows, an operator has to act.';
COMMENT ON INDEX entitled.held_notification_due IS
    'Due retries by lane: held notifications that wait cost nothing.';

COMMENT ON TABLE entitled.action IS
    'What operators and apps did with customers and nobody signed: records are rebuilt from actions and facts. Rows never '
    'change, except that a deletion replaces ids by pseudonyms.';
COMMENT ON COLUMN entitled.action.seq IS
    'Drawn while the customers are locked: the order of the actions on a customer.';
COMMENT ON COLUMN entitled.action.kind IS
    'alias, identify and merge join ids (identify: an app logged in; merge: the program found out that two are one '
    'customer); transfer, claim and move change owners; post: a purchase was posted; grant and revoke: access by the '
    'seller; restore_behavior: a customer''s own; delete: one row for each id; keep: purchases stay with the owners that an '
    'upgrade found.';
COMMENT ON COLUMN entitled.action.actor IS 'The operator, the app or the worker that did it.';
COMMENT ON COLUMN entitled.action.other IS 'The second id of a join, or the receiver of a transfer.';

COMMENT ON TABLE entitled.listening IS
    'Minutes in which an ingest process could store notifications. A gap is an outage of ours: Apple sends again what it '
    'could not deliver then, so that silence proves nothing.';
COMMENT ON COLUMN entitled.listening.minute IS 'Minutes since 1970 UTC.';

COMMENT ON TABLE entitled.history_look IS
    'How far Apple''s notification history has been scanned, for each app and environment with a Server API key.';
COMMENT ON COLUMN entitled.history_look.covered_ms IS
    'At least the notifications that Apple could not deliver have been scanned up to here. NULL: no scan was finished.';
COMMENT ON COLUMN entitled.history_look.whole_ms IS
    'All notifications have been scanned up to here. NULL: no such scan was finished.';
COMMENT ON COLUMN entitled.history_look.tried_ms IS 'End of the last scan, whether it succeeded or not.';
COMMENT ON COLUMN entitled.history_look.cursor IS 'Where the running scan is; empty without one.';
COMMENT ON COLUMN entitled.history_look.found IS 'Notifications that the running scan read.';
COMMENT ON COLUMN entitled.history_look.missed IS 'Notifications among them that were not in the log.';
COMMENT ON COLUMN entitled.history_look.refused IS 'Notifications among them that admission rejected.';

COMMENT ON TABLE entitled.status_look IS
    'Purchases whose end Apple has not explained, and when Apple is asked for their status. The worker of the lane inserts '
    'a row when access ends without a notification or a charge is being retried; reconciliation deletes it once nothing '
    'is missing.';
COMMENT ON COLUMN entitled.status_look.end_ms IS 'The unexplained end of access.';
COMMENT ON COLUMN entitled.status_look.next_ms IS 'When Apple is asked next.';

-- MARK: lanes

COMMENT ON TABLE entitled.lane IS
    'One row for each of the 256 lanes. Every data transaction locks the row and compares the epoch first: that is the '
    'fence against a worker whose lease has ended. The fill factor leaves room for updates within the page.';
COMMENT ON COLUMN entitled.lane.owner IS 'The worker that holds the lease.';
COMMENT ON COLUMN entitled.lane.epoch IS 'Term of the lease; a takeover raises it.';
COMMENT ON COLUMN entitled.lane.lease_until IS 'End of the lease, by the clock of the server.';
COMMENT ON COLUMN entitled.lane.touched IS
    'How often a process other than the holder changed facts of the lane: the holder then reads its cached state again.';

COMMENT ON TABLE entitled.worker IS
    'Workers that were seen recently, so that each takes its share of the lanes.';
COMMENT ON COLUMN entitled.worker.sealing_keys IS
    'Fingerprints of the keys with which the worker can open secrets: no secret is sealed with a key that a worker lacks.';

-- MARK: facts and purchases

COMMENT ON TABLE entitled.fact IS
    'Everything that was said of a purchase, each version of it; mostly signed by Apple. Retention never drops facts: '
    'records are folded from them. A trigger lets the API add only the kinds that Apple does not sign.';
COMMENT ON COLUMN entitled.fact.digest IS 'First 16 bytes of the SHA-256 of kind and payload.';
COMMENT ON COLUMN entitled.fact.kind IS
    '1 transaction, 2 renewal info, 3 the notification''s own type, subtype and status, 5 announcement about no purchase: '
    'signed by Apple. 4 assignment of an owner, 6 grant, 7 what an app said of a transaction, 8 that it was posted: not '
    'signed.';
COMMENT ON COLUMN entitled.fact.seq IS 'Position of the log entry that brought it.';
COMMENT ON COLUMN entitled.fact.header IS 'The row of jws_header. NULL: not signed by itself.';
COMMENT ON COLUMN entitled.fact.source IS
    'Source of the notification that brought it, coded as in notification. That a fact came late says something about '
    'Apple''s sending only where Apple sent it.';
COMMENT ON COLUMN entitled.fact.signed_again IS
    'Further times at which Apple signed the same content, which has one row. NULL: none.';
COMMENT ON TRIGGER facts_added ON entitled.fact IS 'Drops stored folds that do not contain the new facts.';
COMMENT ON TRIGGER facts_removed ON entitled.fact IS 'Drops stored folds that contain deleted facts.';
COMMENT ON TRIGGER facts_allowed ON entitled.fact IS
    'Rejects facts that only a worker may add, where a grant on the table would say too little. A trigger and no row level '
    'policy: with a policy, a role that may read every table could not dump the database.';

COMMENT ON TABLE entitled.purchase IS
    'The record of a purchase: what the facts of one original transaction id fold to.';
COMMENT ON COLUMN entitled.purchase.owner IS 'The id of the customer who owns it.';
COMMENT ON COLUMN entitled.purchase.access_ends_ms IS 'Access end. NULL: access does not end.';
COMMENT ON COLUMN entitled.purchase.wake_ms IS
    'Timer: when the worker folds it again without a new fact. NULL: never.';
COMMENT ON COLUMN entitled.purchase.version IS 'Grows with each change of the record.';
COMMENT ON COLUMN entitled.purchase.account IS 'Number of its account.';
COMMENT ON COLUMN entitled.purchase.claims IS
    'What its facts say of owners, in a format of the program. NULL: a record from before accounts, which keeps its owner.';
COMMENT ON COLUMN entitled.purchase.tell_ms IS
    'Its first events wait until then, or until the buyer is known. NULL: they do not wait.';
COMMENT ON COLUMN entitled.purchase.told_owner IS
    'The id under which events named the owner, where the record has another id of the same customer: if the two become '
    'different customers, a TRANSFER is due.';

COMMENT ON TABLE entitled.purchase_fold IS
    'Folded state of purchases with many facts, so that applying a notification costs what is new. It follows from fact, '
    'and is computed again where it is missing or has another format.';
COMMENT ON COLUMN entitled.purchase_fold.codec IS 'Format of state and tail.';
COMMENT ON COLUMN entitled.purchase_fold.facts IS 'How many rows of fact it contains.';
COMMENT ON COLUMN entitled.purchase_fold.state IS 'Compressed by the program.';
COMMENT ON COLUMN entitled.purchase_fold.tail IS
    'The facts since state was written, so that the whole is written now and then only.';

COMMENT ON TABLE entitled.purchase_identifier IS
    'Transaction ids and web order line item ids, for finding the purchase that one belongs to.';

COMMENT ON TABLE entitled.purchase_snapshot IS
    'Cached fold of a purchase for REST. The API writes it when it reads a customer; workers never wait for it.';
COMMENT ON COLUMN entitled.purchase_snapshot.version IS
    'The snapshot is valid while version and updated_ms are those of the purchase.';
COMMENT ON COLUMN entitled.purchase_snapshot.body IS
    'Its first bytes name the program and the settings that it was computed with.';

COMMENT ON TABLE entitled.product IS
    'Product ids that purchases had, for finding those that the catalogue leaves out.';
COMMENT ON COLUMN entitled.product.subscription_group IS
    'subscriptionGroupIdentifier: introductory offers are once a group. NULL: not known yet.';

-- MARK: customers

COMMENT ON TABLE entitled.customer IS 'Customers, by the first of their ids.';
COMMENT ON COLUMN entitled.customer.offering_override IS
    'The current offering of this customer. NULL: that of the configuration.';
COMMENT ON COLUMN entitled.customer.last_seen_ms IS
    'Last request of the customer''s apps, to the hour. NULL: none.';
COMMENT ON COLUMN entitled.customer.original_application_version IS
    'From the app transaction that was posted for the customer.';
COMMENT ON COLUMN entitled.customer.app_environment IS 'Environment of that app transaction.';
COMMENT ON COLUMN entitled.customer.restore_behavior IS
    'Replaces the configured behaviour for what this customer owns. Follows from the log: the newest action on any of the '
    'ids counts.';

COMMENT ON TABLE entitled.app_user_id IS 'Every id that names a customer.';
COMMENT ON COLUMN entitled.app_user_id.last_seen_ms IS
    'Last use of this id by an app or a backend, which decides the id that events name. NULL: the id came with a purchase '
    'or from an operator, or was not used since this column exists.';
COMMENT ON COLUMN entitled.app_user_id.of_account IS
    'The program made this id for an Apple account; it belongs to no device.';

COMMENT ON TABLE entitled.customer_attribute IS
    'Attributes of customers, under the id under which they were set. Of several ids of one customer the newest value of a '
    'key counts. No record depends on attributes, so they are not in the log.';
COMMENT ON COLUMN entitled.customer_attribute.value IS
    'NULL: deleted. The row stays, so that an older write does not bring the attribute back.';

COMMENT ON TABLE entitled.account IS
    'Apple accounts of an app and environment. Judging the owners of an account''s purchases locks its row, after the '
    'lanes.';
COMMENT ON COLUMN entitled.account.number IS
    '64 bits of a hash of app, environment and appTransactionId, or of the purchase where Apple signed none.';
COMMENT ON COLUMN entitled.account.judges_activity IS
    'Some act was judged by whether a subscription was active, so that any new fact may change the result.';
COMMENT ON COLUMN entitled.account.rules_differ IS
    'An upgrade kept an owner whom the rules would not give. Only then the row names the account.';
COMMENT ON INDEX entitled.account_rules_differ IS 'The accounts that `entitled doctor` names.';

COMMENT ON TABLE entitled.account_join IS
    'Ids that are one customer because of what an account bought. With the joins in action these are all. They follow from '
    'facts: a row goes when a later fact says otherwise.';
COMMENT ON COLUMN entitled.account_join.at_ms IS 'Since when they are one customer.';

COMMENT ON TABLE entitled.account_due IS
    'Accounts that a worker judges again, because customers were joined or separated elsewhere.';

COMMENT ON TABLE entitled.owner_setting IS
    'The configured rules for owners, and since when: tokens that were signed at a time are judged by the rules of then.';

COMMENT ON TABLE entitled.owner_salt IS
    'The secret from which anonymous ids of owners follow: a program that knows the id of a customer may act for them in '
    'an app. Empty in databases that had customers before it.';

COMMENT ON TABLE entitled.app_post IS
    'When an app last posted, to the hour: first events wait for the name of the buyer only where posts arrive.';

-- MARK: events and deliveries

COMMENT ON TABLE entitled.event IS
    'Events for webhooks. Rows stay forever, because their ids must remain unique; retention empties the body.';
COMMENT ON COLUMN entitled.event.sequence IS
    'Number among the events of its purchase, from 1. NULL: about no purchase, or older than the numbers.';
COMMENT ON INDEX entitled.event_sequence IS
    'Finds the last number of a purchase. Rows of events stay, so that no counter can be lost or set back. By a hash, '
    'because there is an entry for each event.';
COMMENT ON INDEX entitled.event_unnumbered IS 'The events that event_sequence leaves out.';
COMMENT ON INDEX entitled.event_created IS
    'Some 150 bytes for each megabyte: rows come nearly in that order. Ranges keep several intervals, so that a page that '
    'is filled again after years does not widen its range.';

COMMENT ON TABLE entitled.event_copy IS
    'Events that were made to be sent to one endpoint again under another id. No other endpoint gets them.';

COMMENT ON TABLE entitled.delivery IS
    'One row for each event and endpoint; its id follows from both.';
COMMENT ON COLUMN entitled.delivery.state IS
    '0 pending, 1 delivered, 2 dead, 3 held (the endpoint is disabled), 4 blocked (waits for an earlier delivery of the '
    'same purchase). Of the open deliveries of a purchase, the first is never blocked.';
COMMENT ON COLUMN entitled.delivery.round_start IS
    'Attempts before the last resend: the retry schedule counts from here.';
COMMENT ON COLUMN entitled.delivery.next_ms IS
    'When a pending delivery is due; since when a blocked one is blocked.';
COMMENT ON COLUMN entitled.delivery.reason IS 'Why it is dead or held.';
COMMENT ON COLUMN entitled.delivery.ordered_by IS
    'The purchase, for endpoints that get events in order. NULL for the others.';
COMMENT ON COLUMN entitled.delivery.sequence IS 'Number of the event of that purchase.';
COMMENT ON COLUMN entitled.delivery.notification_seq IS
    'The notification, in the same lane, of a delivery that forwards it as it came; such a delivery has no event.';
COMMENT ON COLUMN entitled.delivery.webhook_id IS 'The id that the consumer sees of such a delivery.';
COMMENT ON INDEX entitled.delivery_ordered IS 'The open deliveries of a purchase, in order.';
COMMENT ON INDEX entitled.delivery_blocked IS 'The blocked deliveries, the longest wait first.';
COMMENT ON INDEX entitled.delivery_notification IS
    'Finished deliveries of notifications, for retention. Empty where no endpoint gets notifications as they came.';

COMMENT ON TABLE entitled.attempt IS
    'Requests of deliveries and their outcomes, partitioned by the day (UTC) of their start. What is usual or unknown is '
    'NULL and takes no room: nearly every attempt succeeds at once over an open connection.';
COMMENT ON COLUMN entitled.attempt.number IS 'As the consumer saw it in the header entitled-attempt.';
COMMENT ON COLUMN entitled.attempt.duration_ms IS 'The whole attempt.';
COMMENT ON COLUMN entitled.attempt.response IS 'Beginning of the response body.';
COMMENT ON COLUMN entitled.attempt.first_byte_ms IS 'From the request to the first byte of the response.';
COMMENT ON COLUMN entitled.attempt.sender IS 'The process that made it.';
COMMENT ON COLUMN entitled.attempt.connect_ms IS 'TCP. NULL: an open connection was used.';
COMMENT ON COLUMN entitled.attempt.tls_ms IS 'TLS handshake. NULL: an open connection was used.';
COMMENT ON COLUMN entitled.attempt.lookup_ms IS 'Name lookup. NULL: none was needed.';
COMMENT ON COLUMN entitled.attempt.http_version IS '10 or 20. NULL: HTTP/1.1.';
COMMENT ON COLUMN entitled.attempt.peer IS 'Address that was reached: that of the proxy where there is one.';
COMMENT ON COLUMN entitled.attempt.truncated IS 'The response was longer than what is stored.';
COMMENT ON COLUMN entitled.attempt.head IS 'Status line and headers of a response that was no success.';
COMMENT ON TABLE entitled.attempt_default IS
    'Takes the rows that no partition was created for. Empty as a rule.';

COMMENT ON TABLE entitled.sender IS
    'Processes that made attempts, so that an attempt names one by four bytes. Rows stay, other than those of worker.';

-- MARK: endpoints and keys

COMMENT ON TABLE entitled.endpoint IS 'Webhook endpoints. Removed ones keep their row.';
COMMENT ON COLUMN entitled.endpoint.authorization_sealed IS
    'Value of the header authorization, encrypted; only workers read it.';
COMMENT ON COLUMN entitled.endpoint.environments IS 'Filter; empty: all.';
COMMENT ON COLUMN entitled.endpoint.events IS 'Filter by event type; empty: all that are not only for endpoints that name them.';
COMMENT ON COLUMN entitled.endpoint.apps IS 'Filter by app; empty: all.';
COMMENT ON COLUMN entitled.endpoint.ordering IS
    'purchase: the events of each purchase arrive in order. none: in any order.';
COMMENT ON COLUMN entitled.endpoint.retry_schedule_ms IS 'Pauses between attempts. NULL: as configured.';
COMMENT ON COLUMN entitled.endpoint.header_names IS
    'Names of custom headers, which are no secret; their values are in headers_sealed.';
COMMENT ON COLUMN entitled.endpoint.headers_sealed IS 'Values of custom headers, encrypted.';
COMMENT ON COLUMN entitled.endpoint.format IS '0 events, 1 notifications as they came.';

COMMENT ON TABLE entitled.endpoint_secret IS
    'What webhooks are signed with. During a rotation an endpoint has several that are valid.';
COMMENT ON COLUMN entitled.endpoint_secret.kind IS '0 HMAC secret, 1 Ed25519 key pair.';
COMMENT ON COLUMN entitled.endpoint_secret.sealed IS 'The secret or private key, encrypted.';

COMMENT ON TABLE entitled.endpoint_health IS
    'How the consumers of endpoints are doing, from the samples of all workers. A streak of failures begins with the first '
    'failure after the last success, and ends with a later success or when an operator enables the endpoint. Written '
    'outside of data transactions: what a worker did not write before it died is missing here and nowhere else.';
COMMENT ON COLUMN entitled.endpoint_health.failing_since_ms IS 'Beginning of the streak.';
COMMENT ON COLUMN entitled.endpoint_health.last_failure IS
    'Outcome of the last failed attempt, as in attempt: timeout, status_500, …';
COMMENT ON COLUMN entitled.endpoint_health.warned IS 'Number of warnings that were sent in this streak.';
COMMENT ON COLUMN entitled.endpoint_health.recovered_ms IS
    'End of a streak that operators were warned of, until the notice of its end is sent.';
COMMENT ON COLUMN entitled.endpoint_health.disabled_code IS
    'Why the endpoint is disabled: operator, gone, asked or failing.';
COMMENT ON COLUMN entitled.endpoint_health.dead IS 'Number of dead deliveries that no notice has reported yet.';
COMMENT ON COLUMN entitled.endpoint_health.dead_newest IS 'The newest ten of them.';
COMMENT ON COLUMN entitled.endpoint_health.dead_told_ms IS 'When a notice last reported dead deliveries.';

COMMENT ON TABLE entitled.sealing_key IS
    'Fingerprints of the keys that seal secrets, so that a process with another key reports it instead of failing later.';

COMMENT ON TABLE entitled.api_key IS
    'REST keys that a command created. The key itself is not stored: it has 190 random bits, so that its SHA-256 reveals '
    'nothing.';
COMMENT ON COLUMN entitled.api_key.kind IS 'public (of apps) or secret (of backends).';
COMMENT ON COLUMN entitled.api_key.app IS 'NULL: every app.';
COMMENT ON COLUMN entitled.api_key.scope IS 'What a secret key may do: read or write.';
COMMENT ON COLUMN entitled.api_key.hint IS 'The first characters of the key.';
COMMENT ON COLUMN entitled.api_key.hash IS 'SHA-256 of the key.';

-- MARK: refunds

COMMENT ON TABLE entitled.refund_request IS
    'Apple''s consumption requests and their answers, one row for each transaction. A request that is repeated under other '
    'UUIDs is the same one; a request after a decision or after the deadline replaces the row.';
COMMENT ON COLUMN entitled.refund_request.state IS
    'open; ready: sent at next_ms; sending: written before the answer is sent, and repeated at next_ms if no result was '
    'recorded; sent; failed.';
COMMENT ON COLUMN entitled.refund_request.answer IS 'Body of the answer without the consent.';

-- MARK: jobs

COMMENT ON TABLE entitled.job IS
    'Replays: work that outlives the command that began it. The driver''s lease shows which process runs a job; another '
    'one takes it over when the lease ends.';
COMMENT ON COLUMN entitled.job.request IS
    'What was asked for, in a spelling that is the same for the same command line.';
COMMENT ON COLUMN entitled.job.parameters IS 'JSON for this kind of job.';
COMMENT ON COLUMN entitled.job.cursor IS 'Where it is; written with every step.';
COMMENT ON COLUMN entitled.job.matched IS 'Entries that were found.';
COMMENT ON COLUMN entitled.job.queued IS 'Entries that were queued.';
COMMENT ON COLUMN entitled.job.skipped IS 'Entries that could not be queued any more.';
COMMENT ON COLUMN entitled.job.state IS 'running, done, cancelled or failed.';
COMMENT ON COLUMN entitled.job.made_xid IS
    'Transaction that created it: one that began before may end after it.';
COMMENT ON INDEX entitled.job_running IS 'The same job does not run twice at a time.';

COMMENT ON TABLE entitled.rebuild IS
    'How far rebuilds came, so that the next one with the same settings goes on there. Finished ones stay for the record.';
COMMENT ON COLUMN entitled.rebuild.lane IS
    'The lane that it rebuilds. 256: the ids of the log; 257: customers; 258: done.';

-- MARK: deletions

COMMENT ON TABLE entitled.deletion IS
    'Deletions of customers: what is left to do of them, and forever that they were done.';
COMMENT ON COLUMN entitled.deletion.policy IS 'pseudonymise or erase.';
COMMENT ON COLUMN entitled.deletion.action IS 'The last of its entries in action.';
COMMENT ON COLUMN entitled.deletion.ids IS 'Number of ids that named the customer.';
COMMENT ON COLUMN entitled.deletion.names IS
    'JSON, each id with its pseudonym: the only personal data of this table. NULL once no stored row names the customer.';
COMMENT ON COLUMN entitled.deletion.state IS
    'sweeping; settling: deliveries that were being sent are examined once more at settle_ms; done.';
COMMENT ON COLUMN entitled.deletion.counts IS 'JSON, the rows that were changed or deleted, by table.';

COMMENT ON TABLE entitled.deletion_purchase IS
    'Purchases that a deletion has still to sweep; the transaction that does it deletes the row.';
COMMENT ON COLUMN entitled.deletion_purchase.owner IS
    'The new owner. NULL: another customer owns the purchase, and the deleted one owned it before.';

COMMENT ON TABLE entitled.deletion_delivery IS
    'Deliveries that may have been on their way: their responses arrive later, and are deleted then.';

COMMENT ON TABLE entitled.deletion_id IS
    'HMAC-SHA256 of deleted ids and app account tokens in lower case, under the salt: whether a customer was deleted, and '
    'what keeps later data from Apple from restoring it.';

COMMENT ON TABLE entitled.deletion_salt IS 'The key of the hashes in deletion_id.';

-- MARK: functions

COMMENT ON FUNCTION entitled.day_start(text, date) IS
    'The least key of a day. kind is the name of the table: notification, partitioned by seq, or attempt, partitioned by '
    'started_ms.';
COMMENT ON FUNCTION entitled.day_need(bigint, bigint) IS
    'Why a day of notifications must stay: pending, held or NULL. One short index scan of each lane.';
COMMENT ON FUNCTION entitled.make_day(text, date) IS
    'Creates the partition of a day and moves its rows from the default partition: made; there: it existed; crowded: the '
    'default partition has so many rows of the day that moving them would block ingest. Runs as the owner, because the '
    'worker''s role may create no tables. Attaching blocks only readers of the default partition; only where rows of the '
    'day arrive while they are moved, the whole table is locked.';
COMMENT ON FUNCTION entitled.drop_day(text, date) IS
    'Drops the partition of a day: dropped; absent; pending or held: some notification of it still is, which keeps it. It '
    'refuses days that are younger than what deduplication and operators rely on, whatever the caller.';
COMMENT ON FUNCTION entitled.facts_changed() IS
    'Keeps purchase_fold true to fact, whatever program writes facts. A program that keeps folds in step sets '
    'entitled.folds in its transactions; after any other writer the fold is deleted and the lane is marked as touched.';
COMMENT ON FUNCTION entitled.facts_allowed() IS
    'The API adds assignments (4), grants (6), contexts (7) and posts (8). Facts that Apple signed come from the worker '
    'alone, which has checked the signatures. Called once for each statement.';
COMMENT ON FUNCTION entitled.minutes_allowed() IS
    'An ingest process records the present minute by the server''s clock, or the one before where the statement began in '
    'it: other minutes would hide an outage or invent one.';
COMMENT ON TRIGGER minutes_allowed ON entitled.listening IS
    'Rejects minutes that only a worker may add.';
