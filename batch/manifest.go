package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// manifest says beside an output file what it is the output of.
type manifest struct {
	Version int `json:"version"`
	Identity
	// Fingerprint is a digest of Settings.
	Fingerprint string   `json:"fingerprint"`
	Settings    settings `json:"settings"`
	Input       seen     `json:"input"`
	// Generation counts the retries of failed rows; it is the attempt of a row that is
	// retried now.
	Generation int `json:"generation"`
	// Previous names the output that a retry under way takes the good rows from.
	Previous string `json:"previous,omitempty"`
	// Earlier is what runs used whose outputs were replaced by a retry.
	Earlier earlier `json:"earlier"`
}

const (
	manifestName    = "manifest.json"
	manifestVersion = 1
)

// settings are all that decides what an output is, apart from the rows.
type settings struct {
	Team json.RawMessage `json:"team"`
	// Agents are the models that the agents ask, by agent.
	Agents    map[events.AgentID][]string `json:"models"`
	Solo      bool                        `json:"solo"`
	Format    Format                      `json:"format"`
	Unordered bool                        `json:"unordered"`
	Sample    int                         `json:"sample"`
}

// seen is the input as an earlier call saw it.
type seen struct {
	Name   string `json:"name"`
	Rows   int    `json:"rows"`
	Digest string `json:"digest"`
}

type earlier struct {
	Usage      events.Usage `json:"usage"`
	CostUSD    *float64     `json:"cost_usd"`
	ModelCalls int          `json:"model_calls"`
}

func (s settings) fingerprint() (string, error) {
	text, err := json.Marshal(s)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// readManifest gives nil where there is none.
func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest %s: %w. Start over with --fresh", path, err)
	}
	if m.Version != manifestVersion {
		return nil, fmt.Errorf("read the manifest %s: it has version %d; this convene knows %d. Use the convene that wrote it, or start over with --fresh",
			path, m.Version, manifestVersion)
	}
	return &m, nil
}

// write replaces the manifest as a whole, durably.
func (m *manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	file, err := scratch(dir)
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, manifestName))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// ChangedError says that an output belongs to another configuration or input.
type ChangedError struct {
	Output string
	// Differences are "path: before → now".
	Differences []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was begun with other settings; nothing was started. Go back to them, choose another output, or start over with --fresh:\n  %s",
		e.Output, strings.Join(e.Differences, "\n  "))
}

// maxDifferences is how many differences are shown.
const maxDifferences = 20

// compare gives what differs between two settings.
func compare(before, now settings) ([]string, error) {
	old, err := leaves(before)
	if err != nil {
		return nil, err
	}
	fresh, err := leaves(now)
	if err != nil {
		return nil, err
	}
	paths := slices.Collect(maps.Keys(old))
	for path := range fresh {
		if _, both := old[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var found []string
	for _, path := range paths {
		if old[path] != fresh[path] {
			found = append(found, fmt.Sprintf("%s: %s → %s", path, shown(old[path]), shown(fresh[path])))
		}
	}
	if len(found) > maxDifferences {
		found = append(found[:maxDifferences], fmt.Sprintf("and %d more", len(found)-maxDifferences))
	}
	return found, nil
}

func shown(text string) string {
	const most = 120 // bytes of a value: a prompt is recognised by its beginning
	if text == "" {
		return "(nothing)"
	}
	return clip(text, most)
}

// leaves gives every value of a JSON form by its path.
func leaves(v any) (map[string]string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	found := map[string]string{}
	collect(tree, "", found)
	return found, nil
}

func collect(node any, path string, into map[string]string) {
	switch node := node.(type) {
	case map[string]any:
		for name, child := range node {
			collect(child, strings.TrimPrefix(path+"."+name, "."), into)
		}
	case []any:
		for i, child := range node {
			collect(child, fmt.Sprintf("%s[%d]", path, i), into)
		}
	default:
		text, _ := json.Marshal(node) // came from JSON
		into[path] = string(text)
	}
}
