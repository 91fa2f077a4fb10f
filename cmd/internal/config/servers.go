package config

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/team"
)

// confirmed is a file of what an MCP server lists, as the user confirmed it. Each server has
// one, because a list of tools may be long.
type confirmed struct {
	Listing *mcpclient.Listing `json:"listing"`
	Given   time.Time          `json:"given"`
}

// confirmedFile names the file of a server by the beginning of its key.
func confirmedFile(key string) string { return "mcp-" + key[:min(len(key), 16)] + ".json" }

// withoutServer is what there is once the file is removed.
const withoutServer = "to confirm the server's tools again"

// Confirmed gives the tools of an MCP server as the user has confirmed them, nil if that
// never happened.
func (c *Config) Confirmed(key string) (*mcpclient.Listing, error) {
	if c.dir == "" {
		return nil, ErrNoHome
	}
	list, err := readList[confirmed](c.dir, confirmedFile(key), withoutServer)
	return list[key].Listing, err
}

// Confirm records that the user has confirmed the tools of an MCP server.
func (c *Config) Confirm(key string, listing *mcpclient.Listing, now time.Time) error {
	if c.dir == "" {
		return ErrNoHome
	}
	list := map[string]confirmed{key: {listing, now}}
	if text, err := json.MarshalIndent(list, "", "  "); err == nil && len(text) > team.MaxFileBytes {
		return fmt.Errorf("the server lists %d kB of tools, %d kB is the most; name those that are needed under allow", len(text)>>10, team.MaxFileBytes>>10)
	}
	return writeList(c.dir, confirmedFile(key), list)
}
