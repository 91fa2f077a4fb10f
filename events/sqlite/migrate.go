package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// baseSchema makes a fresh store of version baseVersion: one transaction of what migrations
// would make and remake in seven.
//
//go:embed schema_7.sql
var baseSchema string

const baseVersion = 7

// applicationID marks our files: "cnvn".
const applicationID = 1668183662

// newestSchema is the number of the last migration of this build.
const newestSchema = 7

// settledSchema is the first under which no file of an owner is removed that claims still
// carry.
const settledSchema = 3

// migrateWait is how long other processes' commits are waited for: many times what one
// takes.
const migrateWait = 10 * time.Second

// prepareFile checks an existing file and brings it, or a fresh one, to the newest schema, then
// takes the claims of dead processes back: see [settleClaims], as for missing. One process at a
// time does so. old says that there are rows of before. The connection by which it did so is
// the caller's.
func prepareFile(ctx context.Context, path, dir string) (c *conn, missing []string, old bool, err error) {
	if c, err = openConn(path, fmt.Sprintf("busy_timeout = %d", migrateWait.Milliseconds())); err != nil {
		return nil, nil, false, err
	}
	version, err := inspect(c, path)
	if err == nil {
		err = bringUp(ctx, c, path, version)
	}
	if err == nil {
		old, err = hasOldRows(c)
	}
	if err == nil {
		missing, err = settleClaims(c, dir, version < settledSchema)
	}
	if err != nil {
		return nil, nil, false, errors.Join(err, c.close())
	}
	return c, missing, old, nil
}

// bringUp runs the missing migrations and repairs what can be repaired.
func bringUp(ctx context.Context, c *conn, path string, version int64) error {
	if version < newestSchema {
		if err := migrate(ctx, c, path, version); err != nil {
			return err
		}
	}
	// A backup, which SQLite writes, has no write-ahead log.
	if err := c.exec("PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	if err := fillChecksums(ctx, c); err != nil {
		return err
	}
	return repairListing(c)
}

// inspect gives the schema version of the file, 0 for a fresh one. What is damaged as far
// as a quick look tells, newer or not ours is an error.
func inspect(c *conn, path string) (version int64, err error) {
	version, err = schemaVersion(c)
	if err == nil && version > 0 {
		err = quickCheck(c, path)
	}
	return version, err
}

// schemaVersion gives the schema version of the file, 0 for a fresh one.
func schemaVersion(c *conn) (version int64, err error) {
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil || tables == 0 {
		return 0, err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if id != applicationID {
		return 0, fmt.Errorf("it belongs to another program: %w", ErrNotOurs)
	}
	version, err = c.number("SELECT max(version_id) FROM goose_db_version")
	if err != nil {
		return 0, err
	}
	if version > newestSchema {
		return 0, fmt.Errorf("its schema is version %d, this build knows %d: %w", version, newestSchema, ErrNewerSchema)
	}
	return version, nil
}

// quickCheck reads a small file whole, so that damage shows before it spreads. A
// large one would take too long; there SQLite finds damage when it meets it.
func quickCheck(c *conn, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() > checkedBytes {
		return err
	}
	finding, err := firstFinding(c, "PRAGMA quick_check(1)")
	if err == nil && finding != "" {
		err = fmt.Errorf("%w (%s)", ErrDamaged, finding)
	}
	return err
}

// migrate sets the write-ahead log and our mark, which the file remembers, before
// any table is made, and runs the migrations that are missing. version is the file's, 0 for a
// fresh one.
func migrate(ctx context.Context, c *conn, path string, version int64) (err error) {
	if err := c.exec("PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	if err := c.exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	// A migration reads before it writes. It takes the lock first: else SQLite refuses it
	// at once when another process committed in between. What a power failure takes back is
	// run again, so that a migration need not be durable before the next begins.
	connector, err := sqlite3.NewConnector(dsn(path, "mode=rw", "_txlock=immediate", "_pragma=synchronous(NORMAL)", fmt.Sprintf("_pragma=busy_timeout(%d)", migrateWait.Milliseconds())))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(db, version)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// newProvider gives goose the migrations for a file of that version.
func newProvider(db *sql.DB, version int64) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if version == 0 {
		var before []int64
		for v := range int64(baseVersion) {
			before = append(before, v+1)
		}
		options = append(options, goose.WithExcludeVersions(before), goose.WithGoMigrations(
			goose.NewGoMigration(baseVersion, &goose.GoFunc{RunTx: makeBase}, nil)))
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, options...)
}

func makeBase(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, baseSchema)
	return err
}
