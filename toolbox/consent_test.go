package toolbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/toolbox"
)

// askOf gives what a team with these tools asks for.
func askOf(tools team.Tools) toolbox.Ask { return toolbox.AskOf(&team.Team{Name: "x", Tools: &tools}) }

// Consent is needed for what reaches into this machine or its network, and is to exactly
// that: whatever changes of it asks again.
func TestWhatNeedsConsent(t *testing.T) {
	for _, tools := range []team.Tools{{}, {WebSearch: &team.WebSearchTool{}}, {Now: &team.NowTool{}, Calculate: &team.CalculateTool{}}, {FetchURL: &team.FetchURLTool{Allow: []string{"a.com"}}}} {
		require.Equal(t, toolbox.Ask{}, askOf(tools))
	}
	require.Equal(t, toolbox.Ask{}, toolbox.AskOf(&team.Team{}))
	files, database := &team.FilesTool{Roots: []string{"/docs"}}, &team.QuerySQLTool{Databases: map[string]string{"o": "${O}"}}
	require.Equal(t, []string{`read the files below "/docs"`}, askOf(team.Tools{Files: files}).Lines)
	require.Equal(t, []string{`read the files below "/docs"`, `query the database o at "${O}"`, "fetch pages from every public host, which learns the address that is asked for"},
		askOf(team.Tools{Files: files, QuerySQL: database, FetchURL: &team.FetchURLTool{}}).Lines)
	require.Equal(t, []string{`fetch pages from "w:80", also where its address is not public`, `fetch pages from ["a.com"], which learn the address that is asked for`},
		askOf(team.Tools{FetchURL: &team.FetchURLTool{Allow: []string{"a.com"}, PrivateHosts: []string{"w:80"}}}).Lines)

	seen := map[string]bool{}
	for _, tools := range []team.Tools{
		{Files: files}, {Files: &team.FilesTool{Roots: []string{"/docs", "/more"}}}, {QuerySQL: database}, {QuerySQL: &team.QuerySQLTool{Databases: map[string]string{"o": "${P}"}}},
		{Files: files, QuerySQL: database}, {Files: files, FetchURL: &team.FetchURLTool{}}, {Files: files, FetchURL: &team.FetchURLTool{Allow: []string{"a.com"}}}, {FetchURL: &team.FetchURLTool{PrivateHosts: []string{"w:80"}}},
		{Files: files, WebSearch: &team.WebSearchTool{}},
	} {
		hash := askOf(tools).Hash
		require.NotEmpty(t, hash)
		require.False(t, seen[hash], "%+v", tools)
		seen[hash] = true
	}
	require.Equal(t, askOf(team.Tools{Files: files}).Hash, askOf(team.Tools{Files: files, Now: &team.NowTool{}}).Hash, "a clock is nobody's business")
}

// Nothing is opened that nobody consented to, not even looked for.
func TestNothingIsOpenedWithoutConsent(t *testing.T) {
	tm := &team.Team{Name: "x", Tools: &team.Tools{Files: &team.FilesTool{Roots: []string{"/none/such"}}}}
	var asked *toolbox.ConsentError
	_, err := toolbox.New(toolbox.Config{}).Open(t.Context(), tm)
	require.ErrorAs(t, err, &asked)
	require.ErrorContains(t, err, "`convene team check --connect FILE`")
	_, err = toolbox.New(toolbox.Config{Consented: func(ask toolbox.Ask) bool { return ask.Hash == asked.Ask.Hash }}).Open(t.Context(), tm)
	require.ErrorContains(t, err, "/none/such cannot be read")
}
