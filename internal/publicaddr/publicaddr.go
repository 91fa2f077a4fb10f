// Package publicaddr keeps connections away from addresses that are not public: of this
// machine, of its network, of a cloud's metadata. It judges the address that is connected to,
// after any look-up, so that neither the spelling of an address nor a name that changes its
// mind gets past it.
//
//	dialer := &net.Dialer{Control: publicaddr.Control}
package publicaddr

import (
	"fmt"
	"net/netip"
	"syscall"
)

// Error says that an address is not public.
type Error struct{ Addr netip.Addr }

func (e *Error) Error() string { return fmt.Sprintf("%s is not a public address", e.Addr) }

// Control is that of a [net.Dialer]: it refuses addresses, as IP:PORT, that are not public,
// with an [*Error].
func Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !Public(at.Addr()) {
		return &Error{at.Addr()}
	}
	return nil
}

// reserved are the addresses within those of single hosts that are of no public one: the
// registries of special-purpose addresses of IANA.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	// nat64 leads to the IPv4 address in its last four bytes.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Public reports whether anybody on the internet could reach the address.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if nat64.Contains(ip) {
		whole := ip.As16()
		ip = netip.AddrFrom4([4]byte(whole[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !globalIPv6.Contains(ip) {
		return false
	}
	for _, prefix := range reserved {
		if prefix.Contains(ip) {
			return false
		}
	}
	return true
}
