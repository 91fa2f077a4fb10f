package team_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
)

// What is wrong with the settings of a tool has its place, and says no secret.
func TestToolSettings(t *testing.T) {
	for settings, want := range map[string]string{
		"now: {zone: Mars/Olympus}":        `t.yaml:2:21: "Mars/Olympus" is no time zone`,
		"clock: {}":                        `t.yaml:2:9: unknown key "clock" in tools; the keys here are`,
		"fetch_ulr: {}":                    `did you mean "fetch_url"?`,
		"now:":                             "tools.now has no value",
		"files: {}":                        "",
		"files: {roots: ['']}":             "an empty path",
		"files: {roots: [a/docs, b/docs]}": "the folders a/docs and b/docs have the same name",
		"fetch_url: {allow: ['https://example.com']}":                                              `"https://example.com" is no host`,
		"fetch_url: {allow: ['*']}":                                                                `"*" is no host`,
		"fetch_url: {private_hosts: [intranet]}":                                                   `t.yaml:2:37: "intranet" is no host with a port`,
		"web_search: {allow: ['*.a.com']}":                                                         `"*.a.com" is no domain`,
		"web_search: {max_uses: 101}":                                                              "101 is not between 1 and 100",
		"web_search: {allow: [a.com], max_uses: 2}":                                                "",
		"query_sql: {}":                                                                            "no database; name one",
		"query_sql: {databases: {Orders: 'sqlite:x'}}":                                             `"Orders" is no name of a database`,
		"query_sql: {databases: {db: mysql://h/d}}":                                                "it is no database; write sqlite:",
		"query_sql: {databases: {db: ''}}":                                                         "it is no database",
		"query_sql: {databases: {db: 'postgres://u:hunter2@h/d'}}":                                 "it holds a password",
		"query_sql: {databases: {db: 'postgres://h/d?password=hunter2'}}":                          "it holds a password",
		"query_sql: {databases: {db: 'postgres://u:${PW}@h/d', two: '${X}', f: 'sqlite:${F}.db'}}": "",
		"{now: {}, calculate: {}, files: {roots: [.]}, fetch_url: {allow: ['*.example.com', example.org], private_hosts: ['[::1]:80', 'wiki:443']}}": "",
	} {
		if !strings.HasPrefix(settings, "{") {
			settings = "{" + settings + "}"
		}
		_, err := team.Parse("t.yaml", []byte("name: t\ntools: "+settings+"\nspecialists:\n  - {id: a, description: d, prompt: p}\n"))
		if want == "" {
			require.NoError(t, err, settings)
			continue
		}
		require.ErrorContains(t, err, want, settings)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A file's paths are absolute and free of links once it is loaded, so that the log has where
// they lead; those in variables stay as they are.
func TestLoadLocatesPaths(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "teams", "docs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.db"), nil, 0o600))
	require.NoError(t, os.Symlink("docs", filepath.Join(folder, "teams", "link")))
	path := filepath.Join(folder, "teams", "t.yaml")
	write := func(tools string) {
		text := "name: t\ntools: {" + tools + "}\nspecialists:\n  - {id: a, description: d, prompt: p}\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("files: {roots: [link]}, query_sql: {databases: {o: 'sqlite:../orders.db', v: 'sqlite:${DB}'}}")
	tm, err := team.Load(path)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, "teams", "docs")}, tm.Tools.Files.Roots)
	require.Equal(t, map[string]string{"o": "sqlite:" + filepath.Join(folder, "orders.db"), "v": "sqlite:${DB}"}, tm.Tools.QuerySQL.Databases)
	copied, err := tm.Copy()
	require.NoError(t, err)
	copied.Tools.Files.Roots[0] = "other"
	require.Equal(t, path, copied.File())
	require.NotEqual(t, "other", tm.Tools.Files.Roots[0], "a copy shares nothing")

	for tools, want := range map[string]string{
		"files: {roots: [t.yaml]}":                      "it is no folder; create the folder, or name another",
		"files: {roots: [docs, none]}":                  "none cannot be read: no such file or directory",
		"files: {roots: [docs, link]}":                  "have the same name",
		"query_sql: {databases: {o: 'sqlite:none.db'}}": "none.db cannot be read",
	} {
		write(tools)
		_, err = team.Load(path)
		require.ErrorContains(t, err, want, tools)
		require.ErrorContains(t, err, path+":2:", "the place")
	}
}
