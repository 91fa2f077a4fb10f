package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	// attemptTimeout is how long one attempt may take, its answer included: a receiver that
	// works for longer answers first.
	attemptTimeout = 15 * time.Second
	// maxAnswerBytes is how much of an answer is read, so that its connection can be used
	// again. Nothing of it counts but the status.
	maxAnswerBytes = 16 << 10
)

// newClient gives the client of one receiver. It goes through no proxy, which would connect
// in its place, and follows no redirect.
func newClient(r Receiver) *http.Client {
	dialer := &net.Dialer{Timeout: attemptTimeout}
	if r.PrivateHost == "" {
		// The address that is connected to, after any look-up: a name may change its mind.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
	}
	return &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: attemptTimeout,
			MaxResponseHeaderBytes: maxAnswerBytes, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refusePrivate refuses an address, as IP:PORT, that is not public.
func refusePrivate(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !public(at.Addr()) {
		return fmt.Errorf("%s is not a public address; if it is meant, name the host in private_host", at.Addr())
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

// public reports whether anybody on the internet could reach the address.
func public(ip netip.Addr) bool {
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
