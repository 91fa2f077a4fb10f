//go:build !unix

package builtin

// nonblocking is nothing where no pipes stand among files.
const nonblocking = 0
