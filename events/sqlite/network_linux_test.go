package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMountType(t *testing.T) {
	const table = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
36 22 0:32 / /mnt/far rw,nosuid - fuse.sshfs me@host:/ rw,user_id=0
37 36 0:33 / /mnt/far/near rw - tmpfs tmpfs rw
38 22 0:34 / /mnt/with\040space rw master:1 - fuse.rclone remote: rw
39 22 0:35 / /mnt/twice rw - ext4 /dev/x rw
40 22 0:36 / /mnt/twice rw - fuse.s3fs s3fs rw
nonsense
`
	for dir, want := range map[string]string{
		"/": "ext4", "/home/me": "ext4", "/mnt/far": "fuse.sshfs", "/mnt/far/a/b": "fuse.sshfs", "/mnt/farther": "ext4",
		"/mnt/far/near/c": "tmpfs", "/mnt/with space/x": "fuse.rclone", "/mnt/twice/x": "fuse.s3fs",
	} {
		require.Equal(t, want, mountType(table, dir), dir)
	}
	require.Empty(t, networkFilesystem(t.TempDir()))
}
