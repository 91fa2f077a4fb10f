package config

import (
	"sync"

	"github.com/convene-run/convene/mcpclient"
)

// signInFile has the tokens of MCP servers that the user has signed in to, by their address in
// team files. Whoever takes one out signs out.
const signInFile = "signins.json"

// withoutSignIns is what there is once the file is removed.
const withoutSignIns = "to sign in to MCP servers again"

// signing keeps two connections of this process from writing the file at once.
var signing sync.Mutex

// SignIn implements [mcpclient.SignIns].
func (c *Config) SignIn(url string) (*mcpclient.SignIn, error) {
	if c.dir == "" {
		return nil, nil // nothing was ever kept
	}
	list, err := readList[*mcpclient.SignIn](c.dir, signInFile, withoutSignIns)
	if kept := list[url]; kept != nil && kept.Token != nil {
		return kept, err
	}
	return nil, err
}

// KeepSignIn implements [mcpclient.SignIns].
func (c *Config) KeepSignIn(url string, s *mcpclient.SignIn) error {
	if c.dir == "" {
		return ErrNoHome
	}
	signing.Lock()
	defer signing.Unlock()
	list, err := readList[*mcpclient.SignIn](c.dir, signInFile, withoutSignIns)
	if err != nil {
		return err
	}
	list[url] = s
	return writeList(c.dir, signInFile, list)
}
