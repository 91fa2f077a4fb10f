package sqlite

import "syscall"

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

// networkFilesystem names the network filesystem that dir is on; "" for a local
// one. What cannot be found out counts as local.
func networkFilesystem(dir string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return ""
	}
	return networkTypes[uint32(stat.Type)]
}
