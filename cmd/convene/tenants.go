package main

import (
	"fmt"

	"github.com/convene-run/convene/tenants"
)

// tenantsFile opens the file of --tenants, nil where there is none.
func tenantsFile(path string) (*tenants.File, error) {
	if path == "" {
		return nil, nil
	}
	file, err := tenants.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--tenants: %w", err)
	}
	return file, nil
}
