// Package web serves the labels of parcels.
package web

import (
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Labels serves the files of a folder.
type Labels struct{ Folder string }

// ServeHTTP answers with the label that the query names.
func (l Labels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	content, err := os.ReadFile(filepath.Join(l.Folder, name))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	_, _ = w.Write(content)
}

// Server serves the labels at an address.
func Server(address string, labels Labels) *http.Server {
	return &http.Server{Addr: address, Handler: labels, ReadHeaderTimeout: 10 * time.Second}
}
