package team

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// QuerySQLTool sets the tool that queries databases.
type QuerySQLTool struct {
	// Databases are the databases by name: sqlite: with the path of a file, or the URL of a
	// PostgreSQL. ${NAME} stands for a variable of the environment, which a URL with a
	// password needs. [Load] makes the paths of files absolute.
	Databases map[string]string `json:"databases" jsonschema:"Databases by name: sqlite:orders.db for a file, beginning at the folder of the team file, or a URL of PostgreSQL. ${NAME} stands for a variable of the environment: a password stands nowhere else."`
}

const (
	// SQLiteScheme begins a database that is a file.
	SQLiteScheme = "sqlite:"
	// maxDatabases bounds the databases of a team: the model reads a list of them.
	maxDatabases = 20
)

var databaseName = lazyregexp.New(`^[a-z][a-z0-9_]{0,39}$`)

func (q *QuerySQLTool) names() []string { return slices.Sorted(maps.Keys(q.Databases)) }

func (q *QuerySQLTool) check(found *problems) {
	switch {
	case len(q.Databases) == 0:
		found.add("tools.query_sql", "no database; name one under databases, such as \"databases: {orders: sqlite:orders.db}\"")
	case len(q.Databases) > maxDatabases:
		found.add("tools.query_sql.databases", "%d databases, %d is the most", len(q.Databases), maxDatabases)
	}
	for _, name := range q.names() {
		at := "tools.query_sql.databases." + name
		if !databaseName.MatchString(name) {
			found.add(at, "%q is no name of a database; write a lower-case letter, then up to 39 lower-case letters, digits or _", clip(name))
		}
		if problem := databaseProblem(q.Databases[name]); problem != "" {
			found.add(at, "%s", problem)
		}
	}
}

// databaseProblem says what is wrong with where a database is, "" for nothing. It repeats
// none of it: there may be a password in it.
func databaseProblem(where string) string {
	const write = "write sqlite: with the path of a file, or a URL of PostgreSQL, such as ${ORDERS_URL}"
	if strings.HasPrefix(where, SQLiteScheme) && len(where) > len(SQLiteScheme) || variable.FindString(where) == where && where != "" {
		return ""
	}
	parsed, err := url.Parse(variable.ReplaceAllString(where, ""))
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		return "it is no database; " + write
	}
	password, _ := parsed.User.Password()
	if password != "" || parsed.Query().Get("password") != "" {
		return "it holds a password, which a team file must not; put it into a variable and write ${NAME} in its place"
	}
	return ""
}

// locate makes the paths of files absolute, those in variables apart.
func (q *QuerySQLTool) locate(folder string, found *problems) {
	for _, name := range q.names() {
		path, isFile := strings.CutPrefix(q.Databases[name], SQLiteScheme)
		if !isFile || variable.MatchString(path) {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		place, err := filepath.Abs(path)
		if err == nil {
			place, err = filepath.EvalSymlinks(place)
		}
		if err != nil {
			found.add("tools.query_sql.databases."+name, "%s cannot be read: %v; name a file that exists", clip(path), plainly(err))
			continue
		}
		q.Databases[name] = SQLiteScheme + place
	}
}

// said are the databases, for a list of settings.
func (q *QuerySQLTool) said() string {
	var all []string
	for _, name := range q.names() {
		all = append(all, fmt.Sprintf("%s (%s)", name, q.Databases[name]))
	}
	return join(all)
}
