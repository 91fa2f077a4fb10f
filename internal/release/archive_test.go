package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The same files give the same bytes, wherever and whenever they are packed.
func TestArchives(t *testing.T) {
	date := time.Date(2026, 11, 22, 12, 0, 0, 0, time.FixedZone("there", 3600))
	files := []file{{"convene", []byte("program"), 0o755}, {"man/man1/convene.1", []byte("page"), 0o644}}

	tarball, err := tarred("convene_1", files, date)
	require.NoError(t, err)
	again, err := tarred("convene_1", files, date.UTC())
	require.NoError(t, err)
	require.Equal(t, tarball, again)
	unpacked, err := gzip.NewReader(bytes.NewReader(tarball))
	require.NoError(t, err)
	entries := tar.NewReader(unpacked)
	header, err := entries.Next()
	require.NoError(t, err)
	require.Equal(t, "convene_1/convene", header.Name)
	require.Equal(t, int64(0o755), header.Mode)
	require.True(t, date.Equal(header.ModTime))
	content, err := io.ReadAll(entries)
	require.NoError(t, err)
	require.Equal(t, "program", string(content))

	zipball, err := zipped("convene_1", files, date)
	require.NoError(t, err)
	again, err = zipped("convene_1", files, date.UTC())
	require.NoError(t, err)
	require.Equal(t, zipball, again)
	archive, err := zip.NewReader(bytes.NewReader(zipball), int64(len(zipball)))
	require.NoError(t, err)
	require.Equal(t, "convene_1/man/man1/convene.1", archive.File[1].Name)

	require.Equal(t, "convene_1_windows_arm64.zip", archiveName("1", "windows/arm64"))
	require.Equal(t, "convene_1_darwin_amd64.tar.gz", archiveName("1", "darwin/amd64"))
}
