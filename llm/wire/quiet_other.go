//go:build !unix

package wire

import "net"

// seesClosing says that quiet knows whether a server has closed a connection: here it does not,
// and connections are left to net/http.
const seesClosing = false

func quiet(net.Conn) bool { return false }
