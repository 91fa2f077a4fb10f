package files

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
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Manifest says beside an output file what it is the output of.
type Manifest struct {
	Version int `json:"version"`
	// ID and Created are the identity of the batch.
	ID      string    `json:"batch_id"`
	Created time.Time `json:"created_at"`
	// Fingerprint is a digest of Settings.
	Fingerprint string   `json:"fingerprint"`
	Settings    Settings `json:"settings"`
	Input       Seen     `json:"input"`
	// Store names the store that has the runs, "" where nobody said.
	Store string `json:"store,omitempty"`
	// Generation counts the retries of failed rows; it is the attempt of a row that is
	// retried now.
	Generation int `json:"generation"`
	// Previous names the output that a retry under way takes the good rows from.
	Previous string `json:"previous,omitempty"`
	// Retries are the statuses of the rows that it runs again; in manifests that an earlier
	// version wrote it is empty and means the failed ones.
	Retries []events.Status `json:"retries,omitempty"`
	// Earlier is what runs used whose outputs were replaced by a retry.
	Earlier Earlier `json:"earlier"`
}

// ManifestName is the file's name in the batch's folder.
const ManifestName = "manifest.json"

const manifestVersion = 1

// Settings are all that decides what an output is, apart from the rows.
type Settings struct {
	Team json.RawMessage `json:"team"`
	// Agents are the models that the agents ask, by agent.
	Agents    map[events.AgentID][]string `json:"models"`
	Solo      bool                        `json:"solo"`
	Format    Format                      `json:"format"`
	Unordered bool                        `json:"unordered"`
	Sample    int                         `json:"sample"`
}

// Seen is the input as an earlier call saw it.
type Seen struct {
	Name   string `json:"name"`
	Rows   int    `json:"rows"`
	Digest string `json:"digest"`
}

// Earlier is what outputs used that are no more.
type Earlier struct {
	Usage      events.Usage `json:"usage"`
	CostUSD    *float64     `json:"cost_usd"`
	ModelCalls int          `json:"model_calls"`
}

// Fingerprint is a digest of the settings.
func (s Settings) Fingerprint() (string, error) {
	text, err := json.Marshal(s)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// NewManifest gives that of a batch which begins.
func NewManifest(id string, created time.Time) *Manifest {
	zero := 0.0
	return &Manifest{Version: manifestVersion, ID: id, Created: created, Earlier: Earlier{CostUSD: &zero}}
}

// ReadManifest gives nil where there is none.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m Manifest
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

// Write replaces the manifest as a whole, durably.
func (m *Manifest) Write(dir string) error {
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
		err = os.Rename(file.Name(), filepath.Join(dir, ManifestName))
	}
	if err == nil {
		err = SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// Add counts an output.
func (e *Earlier) Add(out *Output) {
	e.Usage = e.Usage.Add(out.Usage)
	e.CostUSD = events.AddCost(e.CostUSD, out.CostUSD)
	e.ModelCalls += out.ModelCalls
}

// maxDifferences is how many differences are shown.
const maxDifferences = 20

// Differences gives what differs between two settings.
func Differences(before, now Settings) ([]string, error) {
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
	const most = 120 // characters of a value: a prompt is recognised by its beginning
	if text == "" {
		return "(nothing)"
	}
	return chars.Clip(text, most)
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
