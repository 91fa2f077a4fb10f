-- +goose Up

-- Files beside the events, by the SHA-256 of their bytes. whole is 0 while the bytes are
-- written or deleted, which takes more than one transaction.
CREATE TABLE artifacts (
	artifact_no INTEGER PRIMARY KEY,
	sha256      TEXT    NOT NULL UNIQUE,
	size        INTEGER NOT NULL,
	whole       INTEGER NOT NULL
) STRICT;

-- Their bytes, in pieces of equal size but for the last, each with a checksum of its own.
CREATE TABLE artifact_pieces (
	piece_no    INTEGER PRIMARY KEY,
	artifact_no INTEGER NOT NULL,
	place       INTEGER NOT NULL,
	sum         BLOB    NOT NULL,
	data        BLOB    NOT NULL,
	UNIQUE (artifact_no, place)
) STRICT;

-- The threads that have them. named is 1 once an event of the thread names the artifact.
CREATE TABLE artifact_threads (
	thread_no   INTEGER NOT NULL,
	artifact_no INTEGER NOT NULL,
	named       INTEGER NOT NULL,
	PRIMARY KEY (thread_no, artifact_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_threads_by_artifact ON artifact_threads (artifact_no);

-- Also for a program of before that still has the file open: numbers of threads are used
-- again.
-- +goose StatementBegin
CREATE TRIGGER threads_drop_artifacts AFTER DELETE ON threads
BEGIN
	DELETE FROM artifact_threads WHERE thread_no = OLD.thread_no;
END;
-- +goose StatementEnd
