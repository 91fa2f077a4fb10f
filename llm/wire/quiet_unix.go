//go:build unix

package wire

import (
	"errors"
	"net"
	"syscall"
)

// seesClosing says that quiet knows whether a server has closed a connection.
const seesClosing = true

// quiet reports whether nothing has come on a connection that nobody uses, neither its end nor
// what nobody asked for.
func quiet(conn net.Conn) bool {
	system, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return false
	}
	still := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:])
		still = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && still
}
