-- +goose Up

-- One row for the events of one append. pos, seq and sum are those of its last event; the
-- ones before it have the positions and seqs before. body is what pack makes of them, or
-- the one event in its wire form, as all rows of before. part is a text that many runs
-- share, cut out of body.
ALTER TABLE facts RENAME TO blocks;
ALTER TABLE blocks ADD COLUMN part INTEGER;
CREATE INDEX blocks_by_part ON blocks (part) WHERE part IS NOT NULL;

-- Texts that stand in many blocks, once, by the SHA-256 of the text. One goes with the last
-- block that has it.
CREATE TABLE parts (
	part_no INTEGER PRIMARY KEY,
	sha256  BLOB    NOT NULL UNIQUE,
	data    BLOB    NOT NULL
) STRICT;

-- A program of before that still has the file open adds nothing, and is told why. Of what
-- this one writes it says that it is damaged.
CREATE VIEW facts AS SELECT pos, thread_no, seq, sum, body FROM blocks;
-- +goose StatementBegin
CREATE TRIGGER facts_are_blocks INSTEAD OF INSERT ON facts
BEGIN
	SELECT RAISE(ABORT, 'a newer version of convene has brought this store up to date: end this process, then resume with that version');
END;
-- +goose StatementEnd

-- How far the rows of before have been packed, and how far there are any; no row where all
-- are: see repack.
CREATE TABLE repacked (
	through_pos INTEGER NOT NULL,
	until_pos   INTEGER NOT NULL
) STRICT;
INSERT INTO repacked SELECT 0, max(pos) FROM blocks HAVING max(pos) > 0;
