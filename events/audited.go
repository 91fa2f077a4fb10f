package events

// AuditThread is the thread of a tenant's log that has what belongs to no run: who signed in,
// who was refused what, and what was removed. It holds neither a run nor a batch, so that no
// listing has it, and no id of a thread that can be given is like it.
const AuditThread ThreadID = "audit"

// KindAudited is of what belongs to no run.
const KindAudited Kind = "audited"

// Actor is who caused an event from outside, and from where. It holds no secret.
type Actor struct {
	// UserID is the user's id within the tenant; "" for an operator who is none.
	UserID string `json:"user_id,omitempty"`
	// TokenID is the id of the token that was sent, "" where there was none; Issuer is the
	// identity provider whose token it was, "" for a token of our own.
	TokenID string `json:"token_id,omitempty"`
	Issuer  string `json:"issuer,omitempty"`
	// Door is where the actor came in.
	Door Door `json:"door"`
	// Remote is the network address of the other end, without its port; "" for who sits at
	// this machine's command line.
	Remote string `json:"remote,omitempty"`
}

// Door is a way in.
type Door string

// The doors: the command line and its conversations, the API, the page in a browser, live
// events by WebSocket and as a stream, and the Model Context Protocol.
const (
	DoorCLI    Door = "cli"
	DoorChat   Door = "chat"
	DoorREST   Door = "rest"
	DoorPage   Door = "page"
	DoorSocket Door = "socket"
	DoorSSE    Door = "sse"
	DoorMCP    Door = "mcp"
)

// AuditAction says what was done.
type AuditAction string

// The actions of [Audited].
const (
	AuditSignedIn     AuditAction = "signed_in"
	AuditSignInFailed AuditAction = "sign_in_failed"
	AuditSignedOut    AuditAction = "signed_out"
	AuditTokenAdded   AuditAction = "token_added"
	AuditTokenRevoked AuditAction = "token_revoked"
	// AuditRemoved: runs or batches were removed, AuditErased: all that is of a user was.
	AuditRemoved AuditAction = "removed"
	AuditErased  AuditAction = "erased"
	// AuditExported: a run, or all that is of a user, was written to a file or sent.
	AuditExported AuditAction = "exported"
)

// Audited is something that was done and belongs to no run. It stands in [AuditThread], and
// may be posted without a claim.
type Audited struct {
	fact
	Action AuditAction `json:"action"`
	// UserID and TokenID are whom and what it was done to: whose token was added, who was erased.
	UserID  string `json:"user_id,omitempty"`
	TokenID string `json:"token_id,omitempty"`
	// Target is the run, thread or batch that it was done to.
	Target string `json:"target,omitempty"`
	// What says more of it in words, without personal data.
	What string `json:"what,omitempty"`
	// More counts further ones of the same caller within a minute, as in [PermissionDenied].
	More int `json:"more,omitempty"`
}

func (Audited) Kind() Kind { return KindAudited }
