package sqlite

import "syscall"

// localMount is MNT_LOCAL of sys/mount.h.
const localMount = 0x1000

// networkFilesystem names the network filesystem that dir is on; "" for a local
// one. What cannot be found out counts as local.
func networkFilesystem(dir string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil || stat.Flags&localMount != 0 {
		return ""
	}
	name := make([]byte, 0, len(stat.Fstypename))
	for _, c := range stat.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return string(name)
}
