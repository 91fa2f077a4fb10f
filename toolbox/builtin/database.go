package builtin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/convene-run/convene/team"
)

// database is one that can be queried. open gives a transaction in which nothing can be
// written, and what gives it and its connection back.
type database interface {
	open(ctx context.Context) (tx *sql.Tx, done func(), err error)
	// plain says what is wrong without what only the operator may know: an address, a user.
	plain(err error) error
}

// databaseAt gives the database that a setting names. The error repeats none of it.
func databaseAt(where string) (database, error) {
	if path, isFile := strings.CutPrefix(where, team.SQLiteScheme); isFile {
		if !filepath.IsAbs(path) {
			return nil, errors.New("the path behind sqlite: is not absolute, and the team is from no file that it could begin at: name the whole path")
		}
		return sqliteFile{path}, sqliteFile{path}.check()
	}
	if !strings.HasPrefix(where, "postgres://") && !strings.HasPrefix(where, "postgresql://") {
		return nil, errors.New("it is no database: write sqlite: with the path of a file, or a URL that begins with postgres://")
	}
	config, err := pgx.ParseConfig(where)
	if err != nil {
		return nil, errors.New("it is no URL that PostgreSQL takes") // err may hold the password
	}
	config.ConnectTimeout = queryTimeout
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(queryTimeout.Milliseconds(), 10)
	config.RuntimeParams["application_name"] = "convene"
	return postgres{config}, nil
}

// sqliteFile is a database that is a file.
type sqliteFile struct{ path string }

// check refuses what is no file, as a pipe, whose opening alone would wait.
func (s sqliteFile) check() error {
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		return fmt.Errorf("the file cannot be read: %w", withoutPath(err))
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	return nil
}

// Limits of a connection: https://www.sqlite.org/c3ref/c_limit_attached.html
const (
	limitLength, limitAttached = 0, 7
	// maxValueBytes bounds a value that a query makes, so that none fills the memory.
	maxValueBytes = 8 << 20
)

// open opens the file so that SQLite itself refuses every write to it, and every other file:
// it is opened for reading alone, and nothing can be attached.
func (s sqliteFile) open(ctx context.Context) (*sql.Tx, func(), error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(s.path), RawQuery: "mode=ro&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=busy_timeout(2000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, nil, err
	}
	connection, err := db.Conn(ctx)
	if err == nil {
		_, err = sqlite.Limit(connection, limitAttached, 0)
	}
	if err == nil {
		_, err = sqlite.Limit(connection, limitLength, maxValueBytes)
	}
	return begin(ctx, db, connection, err)
}

func (sqliteFile) plain(err error) error { return err }

// postgres is a database of a PostgreSQL.
type postgres struct{ config *pgx.ConnConfig }

// open begins a transaction that the server takes no write in. One statement has a snapshot,
// after which not even SET TRANSACTION changes that.
func (p postgres) open(ctx context.Context) (*sql.Tx, func(), error) {
	db := stdlib.OpenDB(*p.config)
	connection, err := db.Conn(ctx)
	tx, done, err := begin(ctx, db, connection, err)
	if err != nil {
		return nil, nil, err
	}
	if _, err := tx.ExecContext(ctx, "SELECT 1"); err != nil {
		done()
		return nil, nil, err
	}
	return tx, done, nil
}

func (postgres) plain(err error) error {
	var said *pgconn.PgError
	switch {
	case errors.As(err, new(*pgconn.ConnectError)):
		return errors.New("the database cannot be reached, or does not take its user")
	case errors.As(err, &said):
		return errors.New(strings.TrimSpace(said.Message + ". " + said.Hint))
	}
	return errors.New("the connection to the database broke")
}

// begin begins a transaction that only reads, unless opening the connection failed.
func begin(ctx context.Context, db *sql.DB, connection *sql.Conn, err error) (*sql.Tx, func(), error) {
	var tx *sql.Tx
	if err == nil {
		tx, err = connection.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	}
	done := func() {
		if tx != nil {
			_ = tx.Rollback()
		}
		if connection != nil {
			_ = connection.Close()
		}
		_ = db.Close()
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return tx, done, nil
}
