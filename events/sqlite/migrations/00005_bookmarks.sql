-- +goose Up

-- The places of those who follow the log over restarts, such as receivers of webhooks. A
-- cursor is a position in facts, as text.
CREATE TABLE bookmarks (
	name   TEXT NOT NULL PRIMARY KEY,
	cursor TEXT NOT NULL
) STRICT, WITHOUT ROWID;
