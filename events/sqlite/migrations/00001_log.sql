-- +goose Up

-- A thread and who drives it. owner_file names the file that the owner's process
-- keeps locked while it lives; owner is what people are shown.
CREATE TABLE threads (
	thread_no  INTEGER PRIMARY KEY,
	tenant     TEXT    NOT NULL,
	thread     TEXT    NOT NULL,
	epoch      INTEGER NOT NULL,
	owner      TEXT    NOT NULL,
	owner_file TEXT    NOT NULL,
	claimed_ns INTEGER NOT NULL,
	UNIQUE (tenant, thread)
) STRICT;

-- Every event in its wire form. pos orders events over all threads in the order
-- of their commits. Readers remember it, so it is never used twice: whoever deletes
-- events leaves the row with the highest pos. (AUTOINCREMENT would see to that at
-- the price of one more page written by every commit.)
CREATE TABLE events (
	pos       INTEGER PRIMARY KEY,
	thread_no INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	body      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (thread_no, seq);

-- The summaries of runs, a projection of the events, in JSON. That of a running run
-- may lag a few events behind. search holds request and answer in lower case, since
-- LIKE folds the case of ASCII only.
CREATE TABLE runs (
	run_no    INTEGER PRIMARY KEY,
	thread_no INTEGER NOT NULL,
	tenant    TEXT    NOT NULL,
	run_id    TEXT    NOT NULL,
	status    TEXT    NOT NULL,
	search    TEXT    NOT NULL,
	summary   BLOB    NOT NULL,
	UNIQUE (thread_no, run_id)
) STRICT;
CREATE INDEX runs_by_id ON runs (tenant, run_id);
