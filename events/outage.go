package events

// Kinds about endpoints that cannot be used.
const (
	KindOutageBegan Kind = "outage_began"
	KindOutageEnded Kind = "outage_ended"
)

// OutageBegan says that model calls of the run wait for an endpoint. What passes from here
// to outage_ended is not driven time.
type OutageBegan struct {
	fact
	// Endpoint is its address, without user info and query; its name where it has none.
	Endpoint string `json:"endpoint"`
	// Code groups troubles for machines: "unreachable", "server", "authentication", …
	Code string `json:"code"`
	// Message says in words which endpoint it is and what is wrong.
	Message string `json:"message"`
	// MaxWaitMS is when a call gives up, and the run is parked; 0 for never.
	MaxWaitMS int64 `json:"max_wait_ms,omitempty"`
}

// OutageEnded says that no call of the run waits for an endpoint any more: it can be used
// again, or the run is parked.
type OutageEnded struct {
	fact
	WaitedMS int64 `json:"waited_ms"`
}

func (OutageBegan) Kind() Kind { return KindOutageBegan }
func (OutageEnded) Kind() Kind { return KindOutageEnded }
