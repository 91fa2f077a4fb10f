//go:build unix

package builtin

import "syscall"

// nonblocking keeps the opening of a pipe, put in the place of a file meanwhile, from waiting
// for its other end.
const nonblocking = syscall.O_NONBLOCK
