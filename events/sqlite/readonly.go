package sqlite

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// OpenReadOnly opens a store that [Open] refuses with [ErrReadOnly] or [ErrDamaged], to
// read what is there: on a medium that cannot be written, of another user, or damaged.
// Nothing is changed, nor made beside the file; every change is refused with ErrReadOnly.
// Where SQLite would have to write in order to read, because the file is of before, was
// left by a killed process, or is damaged, a copy in the folder for temporary files is
// read, and removed when the log is closed. See [Log.Damage].
func OpenReadOnly(ctx context.Context, path string) (*Log, error) {
	real, err := realPath(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	log, err := openDirectly(real)
	if err != nil {
		log, err = openCopy(ctx, real)
	}
	if err != nil {
		return nil, storeError("open", path, err)
	}
	log.readOnly = storeError("change", path, ErrReadOnly)
	return log, nil
}

// Damage says what is wrong with the structure of the file, so that answers may lack
// something; nil where nothing is known. Only [OpenReadOnly] opens such a file.
func (l *Log) Damage() error { return l.damage }

// openDirectly opens the file itself if all can be read from it as it is.
func openDirectly(path string) (*Log, error) {
	options := []string{"mode=ro"}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		options = append(options, "immutable=1") // nobody has it open: SQLite need not lock it
	}
	name := dsn(path, options...)
	c, err := connect(name)
	if err != nil {
		return nil, err
	}
	version, err := inspect(c, path)
	sound := false
	if err == nil && version == newestSchema {
		sound, err = listingSound(c)
	}
	if err == nil && !sound {
		err = ErrDamaged // or of before
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return start(c, name, path, &owners{dir: path + "-owners"})
}

// openCopy brings a copy up to date, and repairs of it what can be repaired.
func openCopy(ctx context.Context, path string) (log *Log, err error) {
	temp, err := os.MkdirTemp("", "convene-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	copied := filepath.Join(temp, filepath.Base(path))
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(path+suffix, copied+suffix); err != nil && (suffix == "" || !os.IsNotExist(err)) {
			return nil, err
		}
	}
	damage, err := prepareCopy(ctx, copied)
	if err != nil {
		return nil, err
	}
	writer, err := openConn(copied)
	if err != nil {
		return nil, err
	}
	log, err = start(writer, dsn(copied, "mode=rw"), copied, &owners{dir: path + "-owners"})
	if err != nil {
		return nil, err
	}
	log.path, log.temp = path, temp
	if damage != nil {
		log.damage = storeError("read from", path, damage)
	}
	return log, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// prepareCopy is prepareFile for a copy: what is damaged does not keep the rest from
// being read.
func prepareCopy(ctx context.Context, path string) (damage, err error) {
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	c, err := openConn(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	version, err := schemaVersion(c)
	if err != nil {
		return nil, err
	}
	damage = quickCheck(c, path)
	if err := bringUp(ctx, c, path, version); err != nil {
		if !isCorrupt(err) && !errors.Is(err, ErrDamaged) {
			return nil, err
		}
		damage = err
	}
	return damage, nil
}
