-- +goose Up

-- The batch whose row a run works on; NULL for other runs, of which the index then
-- knows nothing. It has what a page of a batch's rows is chosen by.
ALTER TABLE runs ADD COLUMN batch TEXT;
CREATE INDEX runs_by_batch ON runs (batch, tenant, run_id, status) WHERE batch IS NOT NULL;

-- The summaries of batches, a projection of the events of their own threads, in JSON.
-- search holds what people look for in lower case.
CREATE TABLE batches (
	thread_no  INTEGER PRIMARY KEY,
	tenant     TEXT    NOT NULL,
	batch_id   TEXT    NOT NULL,
	started_ns INTEGER NOT NULL,
	status     TEXT    NOT NULL,
	search     TEXT    NOT NULL,
	summary    BLOB    NOT NULL
) STRICT;
CREATE INDEX batches_by_id ON batches (tenant, batch_id);
CREATE INDEX batches_by_start ON batches (tenant, started_ns, batch_id);
