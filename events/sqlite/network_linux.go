package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// networkTypes are the magic numbers of filesystems that live on another
// machine: statfs(2) and linux/magic.h.
var networkTypes = map[uint32]string{
	0x00006969: "NFS",
	0x0000517b: "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x00c36400: "Ceph",
	0x01021997: "9P",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
}

// fuseMagic stands for every filesystem that a program implements; only the mount
// table says which.
const fuseMagic = 0x65735546

// networkFuse are the types of such filesystems that live on another machine.
var networkFuse = map[string]bool{
	"fuse.sshfs": true, "fuse.rclone": true, "fuse.s3fs": true, "fuse.gcsfuse": true, "fuse.mount-s3": true,
	"fuse.glusterfs": true, "fuse.ceph": true, "fuse.davfs": true, "fuse.curlftpfs": true, "fuse.juicefs": true,
}

// networkFilesystem names the network filesystem that dir is on; "" for a local
// one. What cannot be found out counts as local.
func networkFilesystem(dir string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return ""
	}
	if uint32(stat.Type) != fuseMagic {
		return networkTypes[uint32(stat.Type)]
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if name := mountType(string(table), dir); networkFuse[name] {
		return name
	}
	return ""
}

// mountType finds the type of the filesystem that dir is on in a mount table:
// proc_pid_mountinfo(5).
func mountType(table, dir string) (name string) {
	longest := 0
	for line := range strings.Lines(table) {
		mount, source, found := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		kind, _, _ := strings.Cut(source, " ")
		if !found || len(fields) < 5 {
			continue
		}
		point := mountEscapes.Replace(fields[4])
		inside := dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
		// Of two mounts on one point the later hides the earlier.
		if inside && len(point) >= longest {
			longest, name = len(point), kind
		}
	}
	return name
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
