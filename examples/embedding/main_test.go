package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEmbedding(t *testing.T) {
	t.Setenv("CONVENE_MODEL", "sim")
	var out strings.Builder
	if err := run(t.Context(), &out, filepath.Join(t.TempDir(), "embedding.db"), "Plan a weekend in Lisbon"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"6 tasks", "completed", "Porto: completed", "3 of 3 completed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
