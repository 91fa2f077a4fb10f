-- +goose Up

-- The checksum of each event (events.Checksum), and of each row of a projection. Those
-- of older rows are filled in by the program that opens the file: see fillChecksums.
ALTER TABLE events RENAME TO facts;
ALTER TABLE facts ADD COLUMN sum BLOB;
ALTER TABLE runs ADD COLUMN sum BLOB;
ALTER TABLE batches ADD COLUMN sum BLOB;

-- How far the thread had come when it was last claimed or released, so that a lost tail
-- shows: last_sum is the checksum of the event last_seq. name_sum is that of the
-- thread's name (events.FirstChecksum).
ALTER TABLE threads ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN last_sum BLOB;
ALTER TABLE threads ADD COLUMN name_sum BLOB;

-- A program of before that still has the file open goes on reading, but adds no events
-- without checksums. (A trigger on the table itself would slow every append.)
CREATE VIEW events AS SELECT pos, thread_no, seq, body FROM facts;
-- +goose StatementBegin
CREATE TRIGGER events_have_checksums INSTEAD OF INSERT ON events
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process, then resume with that version');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER threads_have_checksums BEFORE INSERT ON threads WHEN NEW.last_sum IS NULL
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process and use that version');
END;
-- +goose StatementEnd
