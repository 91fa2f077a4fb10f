//go:build !unix

package wire

import "net"

// seesArrivals says that quiet and arrival know what has come on a connection: here they do not,
// and connections are left to net/http.
const seesArrivals = false

func quiet(net.Conn) bool { return false }

func arrival(net.Conn) error { return nil }
