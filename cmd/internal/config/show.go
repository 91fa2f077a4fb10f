package config

import (
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Value is one setting that counts.
type Value struct {
	// Key is its place in the file, such as "providers.acme.base_url".
	Key string `json:"key"`
	// Value is what people may see: no password of an address, and of a command that
	// prints a key only its name.
	Value string `json:"value"`
	// From is the file that it stands in, or what else sets it.
	From string `json:"from"`
}

// File tells of one of the two files.
type File struct {
	Scope Scope  `json:"scope"`
	Path  string `json:"path"`
	// Exists says that it is there, and counts.
	Exists bool `json:"exists"`
	// Trusted and Changed are of a project's: Changed says that it was trusted once.
	Trusted bool `json:"trusted,omitempty"`
	Changed bool `json:"changed,omitempty"`
	// Ignored are its keys without effect until it is trusted.
	Ignored []string `json:"ignored,omitempty"`
}

// Values lists what counts, by key.
func (c *Config) Values() []Value {
	all := map[string]Value{}
	for _, f := range slices.Backward(c.layers()) {
		for key, value := range f.counts.values() {
			all[key] = Value{Key: key, Value: f.shown(key, value), From: f.path}
		}
	}
	return Sorted(slices.Collect(maps.Values(all)))
}

// Sorted gives the values in the order of their keys.
func Sorted(values []Value) []Value {
	slices.SortFunc(values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return values
}

func (f *file) shown(key, value string) string {
	switch last := key[strings.LastIndexByte(key, '.')+1:]; {
	case key == "store", key == "env_file":
		return f.resolve(value)
	case strings.HasPrefix(key, "prices."):
		return value
	case last == "base_url":
		return ShownURL(value)
	case last == "url":
		return shownHost(value)
	case last == "key_command", last == "secret_command":
		return strings.Fields(value)[0] + " …" // the rest may hold a key
	}
	return value
}

// ShownURL is an address without what may be secret in it.
func ShownURL(base string) string {
	address, err := url.Parse(base)
	if err != nil { // its variables: they hide nothing
		before, after, userinfo := strings.Cut(base, "@")
		if !userinfo {
			return base
		}
		scheme, _, _ := strings.Cut(before, "//")
		return scheme + "//" + after
	}
	address.User, address.RawQuery, address.Fragment = nil, "", ""
	shown, err := url.PathUnescape(address.String()) // ${NAME} as it was written
	if err != nil {
		return address.String()
	}
	return shown
}

// shownHost is an address without its path, which may be secret.
func shownHost(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host + "/…"
}

// Files tells of both files; of the project's only where there is one, and else where it
// would be.
func (c *Config) Files() []File {
	files := []File{{Scope: User, Path: UserFile(c.dir), Exists: c.user != nil}, {Scope: Project, Path: filepath.Join(projectDir, fileName)}}
	if f := c.project; f != nil {
		files[1] = File{Scope: Project, Path: f.path, Exists: true, Trusted: f.trusted, Changed: f.changed, Ignored: f.ignored}
	}
	if c.dir == "" {
		return files[1:]
	}
	return files
}

var (
	// ErrNoProject says that there is no project's file to trust.
	ErrNoProject = errors.New("there is no .convene/config.yaml that you own in this directory or above it")
	// ErrNoHome says that there is no folder to keep the list of those trusted in.
	ErrNoHome = errors.New("there is no directory for settings: HOME is not set")
)

// Trusting lists what has an effect once the project's file is trusted, commands and
// addresses whole.
func (c *Config) Trusting() []Value {
	if c.project == nil {
		return nil
	}
	var values []Value
	said := c.project.said.values()
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if dangerous(key) {
			value := said[key]
			switch {
			case strings.HasSuffix(key, ".base_url"):
				value = ShownURL(value)
			case strings.HasSuffix(key, ".url"):
				value = shownHost(value)
			}
			values = append(values, Value{Key: key, Value: value, From: c.project.path})
		}
	}
	return values
}

// Trust has the project's file count whole, as it was read, until it changes.
func (c *Config) Trust() error { return c.remember(func(f *file) string { return f.hash }) }

// Revoke has it count no longer.
func (c *Config) Revoke() error { return c.remember(func(*file) string { return "" }) }

func (c *Config) remember(hash func(*file) string) error {
	switch {
	case c.project == nil:
		return ErrNoProject
	case c.dir == "":
		return ErrNoHome
	}
	return remember(c.dir, c.project.path, hash(c.project))
}
