package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// file is one of an archive.
type file struct {
	name    string
	content []byte
	mode    fs.FileMode
}

// tarred packs files under a folder, in their order, as of one time.
func tarred(root string, files []file, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: root + "/" + f.name, Size: int64(len(f.content)),
			Mode: int64(f.mode), ModTime: date, Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err = packed.Close()
	return out.Bytes(), err
}

// zipped is tarred for Windows.
func zipped(root string, files []file, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: root + "/" + f.name, Method: zip.Deflate, Modified: date.UTC()}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
