//go:build unix

package wire

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// seesArrivals says that quiet and arrival know what has come on a connection.
const seesArrivals = true

// quiet reports whether nothing has come on a connection that nobody uses, neither its end nor
// what nobody asked for.
func quiet(conn net.Conn) bool {
	still := true
	err := look(conn, func(err error) bool {
		still = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && still
}

// arrival waits until something has come on a connection, or its end. Unlike a read it needs no
// buffer for that.
func arrival(conn net.Conn) error {
	var failed error
	err := look(conn, func(err error) bool {
		if errors.Is(err, syscall.EAGAIN) {
			return false
		}
		if err != nil { // which the next read does not tell again
			failed = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

// look calls enough with what reading from the connection would give now, without reading, until
// that says true: again whenever something has come. Of a connection that the system does not know
// it says nothing.
func look(conn net.Conn, enough func(err error) bool) error {
	system, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		var one [1]byte
		return enough(uninterrupted(func() error {
			_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
			return err
		}))
	})
}

// uninterrupted repeats a system call that a signal interrupted, as package os does with its own: to
// take that for an answer would break a connection off with which nothing is wrong.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
