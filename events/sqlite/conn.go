package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	sqlite3 "modernc.org/sqlite"
)

// conn is one connection with its prepared statements, without database/sql in
// between: that would cost more than the statements themselves. One goroutine
// uses it at a time.
type conn struct {
	raw driver.Conn
	// stmts are the prepared statements by their text. The texts are constants of
	// this package, so there are few.
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
}

// background is the context of every statement: the driver starts a goroutine
// for each call whose context can end.
var background = context.Background()

func openConn(path string, pragmas ...string) (*conn, error) {
	return connect(dsn(path, "mode=rw"), pragmas...)
}

func connect(dsn string, pragmas ...string) (*conn, error) {
	connector, err := sqlite3.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(background)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}}
	for _, pragma := range pragmas {
		if err := c.exec("PRAGMA " + pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// dsn gives the path as a URI, so that no character of it counts as an option.
// The options say how it is opened; the file must exist: sqlite would make it with the
// mode of the umask.
func dsn(path string, options ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(options, "&")}).String()
}

// version is that of the pages which the connection knows: it changes with its own commits,
// and when it begins a transaction after others have committed. It is what PRAGMA data_version
// tells, but for the own commits, at a tenth of the price.
func (c *conn) version() uint32 {
	version, _ := c.raw.(sqlite3.FileControl).FileControlDataVersion("main") // it has no way to fail
	return version
}

func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

func (c *conn) prepared(query string) (driver.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = stmt
	return stmt, nil
}

// named numbers the arguments as the driver wants them, in a slice that the next
// call uses again.
func (c *conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return c.args
}

// exec runs a statement. Arguments are int64, string, []byte or nil.
func (c *conn) exec(query string, args ...any) error {
	_, err := c.run(query, args)
	return err
}

// insert runs an INSERT and gives the row's number.
func (c *conn) insert(query string, args ...any) (int64, error) {
	result, err := c.run(query, args)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (c *conn) run(query string, args []any) (driver.Result, error) {
	stmt, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	result, err := stmt.(driver.StmtExecContext).ExecContext(background, c.named(args))
	clear(c.args)
	return result, err
}

// query hands each row to use until that says to stop. The row is used again,
// its strings and bytes are not.
func (c *conn) query(query string, args []any, use func(row []driver.Value) (more bool, err error)) (err error) {
	stmt, err := c.prepared(query)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(background, c.named(args))
	if err != nil {
		return err
	}
	return drain(rows, use)
}

// queryOnce is query for statements whose text varies: they are not kept.
func (c *conn) queryOnce(query string, args []any, use func(row []driver.Value) (more bool, err error)) error {
	rows, err := c.raw.(driver.QueryerContext).QueryContext(background, query, c.named(args))
	if err != nil {
		return err
	}
	return drain(rows, use)
}

func drain(rows driver.Rows, use func(row []driver.Value) (more bool, err error)) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if more, err := use(row); err != nil || !more {
			return err
		}
	}
}

// numbers gives the numbers of the rows that the query answers.
func (c *conn) numbers(query string, args ...any) (all []int64, err error) {
	err = c.query(query, args, func(row []driver.Value) (bool, error) {
		n, _ := row[0].(int64)
		all = append(all, n)
		return true, nil
	})
	return all, err
}

// number gives the single number that the query answers; 0 where there is none.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	err = c.query(query, args, func(row []driver.Value) (bool, error) {
		switch value := row[0].(type) {
		case nil:
		case int64:
			n = value
		default:
			return false, fmt.Errorf("%s answered %T, not a number", query, value)
		}
		return false, nil
	})
	return n, err
}
