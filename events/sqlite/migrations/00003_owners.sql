-- +goose Up

-- The threads that somebody holds, few of all: whoever opens the file takes back what
-- the dead held, and whoever closes it what is still its own.
CREATE INDEX threads_by_owner ON threads (owner_file) WHERE owner_file <> '';
