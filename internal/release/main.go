// Command release builds the program for all systems and packs each with its man pages and
// completions. What it writes depends on the commit and the Go version alone: the same
// commit gives the same bytes. It needs no network, only the modules that a build needs.
//
//	go run ./internal/release dist
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platforms are what is built.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// shells are those that get a completion, with the name of its file.
var shells = map[string]string{"bash": "convene.bash", "zsh": "_convene", "fish": "convene.fish", "powershell": "convene.ps1"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/release DIR")
		os.Exit(2)
	}
	if err := release(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes the archives and their checksums into dir.
func release(ctx context.Context, dir string) error {
	version, date, err := commit(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "convene-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	extra, err := documents(ctx, work, date)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		archive, err := build(ctx, work, platform, version, date, extra)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		name := archiveName(version, platform)
		if err := os.WriteFile(filepath.Join(dir, name), archive, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Printf("%s  %.1f MB\n", filepath.Join(dir, name), float64(len(archive))/1e6)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

func archiveName(version, platform string) string {
	system, processor, _ := strings.Cut(platform, "/")
	ending := ".tar.gz"
	if system == "windows" {
		ending = ".zip"
	}
	return fmt.Sprintf("convene_%s_%s_%s%s", version, system, processor, ending)
}

// commit gives the version and the time of what is checked out, which must be committed:
// nobody else could build the rest again.
func commit(ctx context.Context) (version string, date time.Time, err error) {
	changed, err := output(ctx, nil, "git", "status", "--porcelain")
	if err == nil && changed != "" {
		err = errors.New("there are changes that are not committed")
	}
	if err != nil {
		return "", date, err
	}
	if version, err = output(ctx, nil, "git", "describe", "--tags", "--always"); err != nil {
		return "", date, err
	}
	stamp, err := output(ctx, nil, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return "", date, err
	}
	date, err = time.Parse(time.RFC3339, stamp)
	return strings.TrimPrefix(version, "v"), date.UTC(), err
}

// documents writes what goes with the program on every system.
func documents(ctx context.Context, work string, date time.Time) ([]file, error) {
	tool := filepath.Join(work, "convene-man")
	if _, err := output(ctx, nil, "go", "build", "-trimpath", "-tags", "man", "-o", tool, "./cmd/convene"); err != nil {
		return nil, err
	}
	pages := filepath.Join(work, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if _, err := output(ctx, []string{"MAN_DATE=" + date.Format(time.RFC3339)}, tool, "man", pages); err != nil {
		return nil, err
	}
	var files []file
	for shell, name := range shells {
		script, err := output(ctx, nil, tool, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/" + name, []byte(script + "\n"), 0o644})
	}
	for _, glob := range []string{filepath.Join(pages, "*.1"), "LICENSE", "README.md", "CHANGELOG.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name := filepath.Base(path)
			if strings.HasSuffix(name, ".1") {
				name = "man/man1/" + name
			}
			files = append(files, file{name, content, 0o644})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// build gives the archive of one platform. The program is stripped: stack traces keep their
// names and lines.
func build(ctx context.Context, work, platform, version string, date time.Time, extra []file) ([]byte, error) {
	system, processor, _ := strings.Cut(platform, "/")
	name := "convene"
	if system == "windows" {
		name += ".exe"
	}
	path := filepath.Join(work, system+"-"+processor, name)
	env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + processor, "GOFLAGS=-mod=readonly"}
	if _, err := output(ctx, env, "go", "build", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", path, "./cmd/convene"); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := append([]file{{name, program, 0o755}}, extra...)
	root := strings.TrimSuffix(strings.TrimSuffix(archiveName(version, platform), ".zip"), ".tar.gz")
	if system == "windows" {
		return zipped(root, files, date)
	}
	return tarred(root, files, date)
}

// output runs a program and gives what it wrote, without the last line's end.
func output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	text, err := c.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimRight(string(text), "\n"), err
}
