package team

import (
	"fmt"
	"net"
	"strconv"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// FetchURLTool sets the tool that fetches web pages.
type FetchURLTool struct {
	// Allow are the hosts that may be asked: example.com is that one, *.example.com those
	// below it. Empty is every host at a public address.
	Allow []string `json:"allow,omitempty" jsonschema:"Hosts that may be asked: example.com is that one, *.example.com those below it. Defaults to every host at a public address."`
	// PrivateHosts are hosts that may be asked although they are at an address that is not
	// public, as host:port.
	PrivateHosts []string `json:"private_hosts,omitempty" jsonschema:"Hosts that may be asked although their address is not public, as host:port, such as wiki.internal:443."`
}

// maxHosts bounds the hosts of a team.
const maxHosts = 200

var hostName = lazyregexp.New(`^(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$`)

func (f *FetchURLTool) check(found *problems) {
	if most := max(len(f.Allow), len(f.PrivateHosts)); most > maxHosts {
		found.add("tools.fetch_url", "%d hosts, %d is the most; write *.example.com for all below a host", most, maxHosts)
		return
	}
	for i, host := range f.Allow {
		if !hostName.MatchString(host) {
			found.add(fmt.Sprintf("tools.fetch_url.allow[%d]", i), "%q is no host; write a name without scheme, port and path, such as example.com or *.example.com", clip(host))
		}
	}
	for i, address := range f.PrivateHosts {
		host, port, err := net.SplitHostPort(address)
		number, _ := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || number == 0 {
			found.add(fmt.Sprintf("tools.fetch_url.private_hosts[%d]", i), "%q is no host with a port; write one such as wiki.internal:443", clip(address))
		}
	}
}
