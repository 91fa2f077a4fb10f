package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/convene-run/convene/cmd/internal/nearby"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/prices"
)

const (
	fileName = "config.yaml"
	// projectDir is the folder of a project's file.
	projectDir = ".convene"
)

// Config is what the files say. It is not safe for concurrent use while it is trusted or
// revoked.
type Config struct {
	// Notices are lines for the person: files that were not read, and keys that have no
	// effect, with what to do about it.
	Notices []string

	dir           string // of the user's file and of the list of those trusted; "" without a home
	user, project *file  // nil where there is none
}

// file is one file.
type file struct {
	path string
	base string // folder at which relative paths begin
	from Scope
	// said is what the file says, and counts is what of it has an effect.
	said, counts content
	env          map[string]string // of env_file

	hash    string // of a project's: see fingerprint
	trusted bool
	changed bool     // since it was trusted
	ignored []string // keys without effect
}

// Scope says whose a file is.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// UserDir is the folder of the user's file, where the platform puts such folders.
func UserDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "convene"), nil
}

// UserFile is the path of the user's file in that folder.
func UserFile(dir string) string { return filepath.Join(dir, fileName) }

// Load reads the user's file, in the folder dir, and the project's. Without either it
// gives one that says nothing. An error names the file, the line and the column.
func Load(dir string) (*Config, error) {
	c := &Config{dir: dir}
	if err := c.loadUser(); err != nil {
		return nil, err
	}
	if err := c.loadProject(); err != nil {
		return nil, err
	}
	c.shadowKeys()
	return c, nil
}

func (c *Config) loadUser() error {
	if c.dir == "" {
		return nil
	}
	path := UserFile(c.dir)
	src, err := readOwn(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", path, err)
	}
	said, err := parse(path, src)
	if err != nil {
		return err
	}
	c.user = &file{path: path, base: c.dir, from: User, said: said, counts: said}
	return c.user.readEnv()
}

// loadProject finds the nearest file that the user owns.
func (c *Config) loadProject() error {
	for dir := range nearby.Upwards() {
		root, err := canonical(dir)
		if err != nil {
			continue // nothing can be found there
		}
		path := filepath.Join(root, projectDir, fileName)
		src, err := readOwn(path, false)
		switch {
		case err == nil:
			return c.readProject(path, root, src)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			c.Notices = append(c.Notices, fmt.Sprintf("%s was not read: %v", path, err))
		}
	}
	return nil
}

// canonical is the one name of a folder, so that a trusted file is known again.
func canonical(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}

func (c *Config) readProject(path, root string, src []byte) error {
	said, err := parse(path, src)
	if err != nil {
		return err
	}
	f := &file{path: path, base: root, from: Project, said: said, counts: said}
	c.project = f
	var env []byte
	var envErr error
	if said.EnvFile != "" {
		env, envErr = readOwn(f.resolve(said.EnvFile), false)
	}
	f.hash = fingerprint(path, src, env)
	if err := c.judge(); err != nil {
		return err
	}
	if !f.trusted {
		f.counts = said.harmless()
		return nil
	}
	return f.takeEnv(env, envErr)
}

// judge finds out whether the project's file is trusted, and what has no effect if not.
func (c *Config) judge() error {
	f := c.project
	list := map[string]string{}
	if c.dir != "" {
		var err error
		if list, err = trusted(c.dir); err != nil {
			return err
		}
	}
	known := list[f.path]
	f.trusted, f.changed = known == f.hash, known != "" && known != f.hash
	if f.trusted {
		return nil
	}
	for key := range f.said.values() {
		if dangerous(key) {
			f.ignored = append(f.ignored, key)
		}
	}
	slices.Sort(f.ignored)
	if len(f.ignored) > 0 {
		c.Notices = append(c.Notices, f.notice())
	}
	return nil
}

func (f *file) notice() string {
	why := "is not trusted"
	if f.changed {
		why = "has changed since it was trusted"
	}
	has := "have"
	if len(f.ignored) == 1 {
		has = "has"
	}
	return fmt.Sprintf("%s %s: %s %s no effect. Read the file, then `convene config trust`", f.path, why, strings.Join(f.ignored, ", "), has)
}

// readEnv reads the file of variables that the user's file names.
func (f *file) readEnv() error {
	if f.said.EnvFile == "" {
		return nil
	}
	text, err := readOwn(f.resolve(f.said.EnvFile), true)
	return f.takeEnv(text, err)
}

// takeEnv takes the variables of a file; one that is not there has none.
func (f *file) takeEnv(text []byte, err error) error {
	if f.said.EnvFile == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := f.resolve(f.said.EnvFile)
	if err != nil {
		return fmt.Errorf("%s, which %s names, cannot be used: %w", path, f.path, err)
	}
	f.env, err = parseEnv(path, text)
	return err
}

// resolve gives the whole path of one that the file names.
func (f *file) resolve(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.base, path)
}

// shadowKeys has a key that the project sets replace the user's, variable and command
// alike.
func (c *Config) shadowKeys() {
	if c.user == nil || c.project == nil {
		return
	}
	c.user.counts.Providers = maps.Clone(c.user.counts.Providers)
	for name, p := range c.project.counts.Providers {
		if own, ok := c.user.counts.Providers[name]; ok && (p.KeyEnv != "" || p.KeyCommand != "") {
			own.KeyEnv, own.KeyCommand = "", ""
			c.user.counts.Providers[name] = own
		}
	}
}

// layers are the files, the one that counts first at the front.
func (c *Config) layers() []*file {
	return slices.DeleteFunc([]*file{c.project, c.user}, func(f *file) bool { return f == nil })
}

// Model is the default model, "" where none is set.
func (c *Config) Model() string {
	for _, f := range c.layers() {
		if f.counts.Model != "" {
			return f.counts.Model
		}
	}
	return ""
}

// Store is the whole path of the store, "" where none is set.
func (c *Config) Store() string {
	for _, f := range c.layers() {
		if f.counts.Store != "" {
			return f.resolve(f.counts.Store)
		}
	}
	return ""
}

// Env reads a variable: from the environment, and from the files that env_file names
// where it is not set there.
func (c *Config) Env(environment func(string) string) func(string) string {
	return func(name string) string {
		if value := environment(name); value != "" {
			return value
		}
		for _, f := range c.layers() {
			if value := f.env[name]; value != "" {
				return value
			}
		}
		return ""
	}
}

// Providers are what is set of providers.
func (c *Config) Providers() map[string]endpoint.Provider {
	all := map[string]endpoint.Provider{}
	for _, f := range slices.Backward(c.layers()) {
		for name := range f.counts.Providers {
			p := all[name]
			f.overlay(&p, name)
			all[name] = p
		}
	}
	return all
}

// overlay lays what the file says of a provider over what others say.
func (f *file) overlay(p *endpoint.Provider, name string) {
	own := f.counts.Providers[name]
	if own.BaseURL != "" {
		p.BaseURL = own.BaseURL
	}
	if own.KeyEnv != "" {
		p.KeyEnv = own.KeyEnv
	}
	if own.KeyCommand != "" {
		where := fmt.Sprintf("providers.%s.key_command in %s", name, f.path)
		p.Key = func(ctx context.Context) (string, error) { return keyOf(ctx, own.KeyCommand, f.base, where) }
	}
	if own.API != "" {
		p.API = events.API(own.API)
	}
	p.Limits = own.Limits.over(p.Limits)
}

func (l limits) over(known llm.LimiterConfig) llm.LimiterConfig {
	for _, limit := range []struct{ own, known *int }{
		{l.RPM, &known.RequestsPerMinute}, {l.TPM, &known.TokensPerMinute}, {l.MaxInFlight, &known.MaxInFlight},
	} {
		if limit.own != nil {
			*limit.known = *limit.own
		}
	}
	return known
}

// Prices gives the table with the prices that are set. Those of a project that is not
// trusted count only where none is known: they must not make a bound on money void.
func (c *Config) Prices(table *prices.Table) (*prices.Table, error) {
	for _, f := range slices.Backward(c.layers()) {
		if f.counts.Prices == nil {
			continue
		}
		own, err := f.counts.Prices.table()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if f.from == Project && !f.trusted {
			table = own.With(table)
		} else {
			table = table.With(own)
		}
	}
	return table, nil
}
