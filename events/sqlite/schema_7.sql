-- The schema of version 7, as the migrations up to 00007 leave it: a fresh store begins with it
-- in one step, and runs the later migrations after that. What the tables are for stands in the
-- migrations. Each statement is the one that SQLite keeps of them, to the byte: TestFreshSchema
-- compares.

CREATE TABLE threads (
	thread_no  INTEGER PRIMARY KEY,
	tenant     TEXT    NOT NULL,
	thread     TEXT    NOT NULL,
	epoch      INTEGER NOT NULL,
	owner      TEXT    NOT NULL,
	owner_file TEXT    NOT NULL,
	claimed_ns INTEGER NOT NULL, last_seq INTEGER NOT NULL DEFAULT 0, last_sum BLOB, name_sum BLOB,
	UNIQUE (tenant, thread)
) STRICT;

CREATE TABLE "blocks" (
	pos       INTEGER PRIMARY KEY,
	thread_no INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	body      BLOB    NOT NULL
, sum BLOB, part INTEGER) STRICT;

CREATE UNIQUE INDEX events_by_seq ON "blocks" (thread_no, seq);
CREATE TABLE runs (
	run_no    INTEGER PRIMARY KEY,
	thread_no INTEGER NOT NULL,
	tenant    TEXT    NOT NULL,
	run_id    TEXT    NOT NULL,
	status    TEXT    NOT NULL,
	search    TEXT    NOT NULL,
	summary   BLOB    NOT NULL, batch TEXT, sum BLOB,
	UNIQUE (thread_no, run_id)
) STRICT;

CREATE INDEX runs_by_id ON runs (tenant, run_id);
CREATE INDEX runs_by_batch ON runs (batch, tenant, run_id, status) WHERE batch IS NOT NULL;
CREATE TABLE batches (
	thread_no  INTEGER PRIMARY KEY,
	tenant     TEXT    NOT NULL,
	batch_id   TEXT    NOT NULL,
	started_ns INTEGER NOT NULL,
	status     TEXT    NOT NULL,
	search     TEXT    NOT NULL,
	summary    BLOB    NOT NULL
, sum BLOB) STRICT;

CREATE INDEX batches_by_id ON batches (tenant, batch_id);
CREATE INDEX batches_by_start ON batches (tenant, started_ns, batch_id);
CREATE INDEX threads_by_owner ON threads (owner_file) WHERE owner_file <> '';
CREATE VIEW events AS SELECT pos, thread_no, seq, body FROM "blocks";

CREATE TRIGGER events_have_checksums INSTEAD OF INSERT ON events
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process, then resume with that version');
END;

CREATE TRIGGER threads_have_checksums BEFORE INSERT ON threads WHEN NEW.last_sum IS NULL
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process and use that version');
END;

CREATE TABLE bookmarks (
	name   TEXT NOT NULL PRIMARY KEY,
	cursor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
	artifact_no INTEGER PRIMARY KEY,
	sha256      TEXT    NOT NULL UNIQUE,
	size        INTEGER NOT NULL,
	whole       INTEGER NOT NULL
) STRICT;

CREATE TABLE artifact_pieces (
	piece_no    INTEGER PRIMARY KEY,
	artifact_no INTEGER NOT NULL,
	place       INTEGER NOT NULL,
	sum         BLOB    NOT NULL,
	data        BLOB    NOT NULL,
	UNIQUE (artifact_no, place)
) STRICT;

CREATE TABLE artifact_threads (
	thread_no   INTEGER NOT NULL,
	artifact_no INTEGER NOT NULL,
	named       INTEGER NOT NULL,
	PRIMARY KEY (thread_no, artifact_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_threads_by_artifact ON artifact_threads (artifact_no);
CREATE TRIGGER threads_drop_artifacts AFTER DELETE ON threads
BEGIN
	DELETE FROM artifact_threads WHERE thread_no = OLD.thread_no;
END;

CREATE INDEX blocks_by_part ON blocks (part) WHERE part IS NOT NULL;
CREATE TABLE parts (
	part_no INTEGER PRIMARY KEY,
	sha256  BLOB    NOT NULL UNIQUE,
	data    BLOB    NOT NULL
) STRICT;

CREATE VIEW facts AS SELECT pos, thread_no, seq, sum, body FROM blocks;

CREATE TRIGGER facts_are_blocks INSTEAD OF INSERT ON facts
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process, then resume with that version');
END;

CREATE TABLE repacked (
	through_pos INTEGER NOT NULL,
	until_pos   INTEGER NOT NULL
) STRICT;

-- goose adds version 7 itself.
INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1);
