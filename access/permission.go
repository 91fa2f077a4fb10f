package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/internal/nearest"
)

// The permissions. Handoff targets and tools of a team may require others besides, in the
// team's own words, such as "skill:create".
const (
	// RunsRead: see runs, threads and their events.
	RunsRead = "runs:read"
	// RunsStart: start, resume and fork runs.
	RunsStart = "runs:start"
	// RunsCancel: cancel and stop them.
	RunsCancel = "runs:cancel"
	// ThreadsWrite: say something in a thread, answer what is asked there, and hand it over.
	ThreadsWrite = "threads:write"
	// OthersRead: all that one may see of one's own threads, in those of others too.
	OthersRead = "others:read"
	// OthersAct: all that one may do in one's own threads, in those of others too, and
	// speaking for other users.
	OthersAct = "others:act"
	// Delegate: have specialists work.
	Delegate = "orchestration:delegate"
	// HandoffInitiate and HandoffCancel: hand a conversation over, and leave a handoff.
	HandoffInitiate = "handoff:initiate"
	HandoffCancel   = "handoff:cancel"
	// What a supervisor does: write to the user, hand over, have a person take over.
	SupervisorNote    = "supervisor:note"
	SupervisorHandoff = "supervisor:handoff"
	SupervisorPause   = "supervisor:pause"
	// ContextRestore: read what was taken out between agents.
	ContextRestore = "context:restore"
	// AuditRead: list who did what.
	AuditRead = "audit:read"
	// UsersExport and UsersErase: take out, and erase, all that is of a user of the tenant.
	UsersExport = "users:export"
	UsersErase  = "users:erase"
	// MetricsRead: the figures of the whole server, which are not of one tenant. Only
	// [RoleMonitor] has it.
	MetricsRead = "metrics:read"
)

// Roles that the code knows.
const (
	// RoleAdmin may do everything in its tenant.
	RoleAdmin = "admin"
	// RoleOperator looks after the threads of all users.
	RoleOperator = "operator"
	// RoleUser works in threads of its own.
	RoleUser = "user"
	// RoleViewer sees everything and changes nothing.
	RoleViewer = "viewer"
	// RoleAuditor sees everything, and who did what.
	RoleAuditor = "auditor"
	// RoleMonitor reads the metrics of the whole server.
	RoleMonitor = "monitor"
)

// table says what a role may. That of [RoleAdmin] is not a list.
var table = map[string]Grants{
	RoleOperator: {
		RunsRead, RunsStart, RunsCancel, ThreadsWrite, OthersRead, OthersAct, Delegate, HandoffInitiate, HandoffCancel,
		SupervisorNote, SupervisorHandoff, SupervisorPause,
	},
	RoleUser: {
		RunsRead, RunsStart, RunsCancel, ThreadsWrite, Delegate, HandoffInitiate, HandoffCancel,
		SupervisorNote, SupervisorHandoff, SupervisorPause,
	},
	RoleViewer:  {RunsRead, OthersRead},
	RoleAuditor: {RunsRead, OthersRead, AuditRead},
	RoleMonitor: {MetricsRead},
	RoleAdmin:   nil,
}

// permissions are all that the code checks.
var permissions = []string{
	RunsRead, RunsStart, RunsCancel, ThreadsWrite, OthersRead, OthersAct, Delegate, HandoffInitiate, HandoffCancel,
	SupervisorNote, SupervisorHandoff, SupervisorPause, ContextRestore, AuditRead, UsersExport, UsersErase, MetricsRead,
}

// Grants are permissions. nil is all that there are in a tenant; empty is none.
type Grants []string

// Allow reports whether the permission is among the grants. The empty permission always is.
func (g Grants) Allow(permission string) bool {
	return g == nil || permission == "" || slices.Contains(g, permission)
}

// And gives what is in both.
func (g Grants) And(other Grants) Grants {
	switch {
	case g == nil:
		return other
	case other == nil:
		return g
	}
	return slices.DeleteFunc(append(Grants{}, g...), func(permission string) bool { return !other.Allow(permission) })
}

// Roles are what roles may, by their names: those of the code and those of a configuration.
type Roles map[string]Grants

// Builtin are the roles that the code knows.
func Builtin() Roles { return maps.Clone(table) }

var permissionForm = lazyregexp.New(`^[a-z][a-z0-9_-]*(:[a-z][a-z0-9_-]*)+$`)

// With adds a role. The error says what would be accepted.
func (r Roles) With(name string, grants []string) error {
	if _, known := table[name]; known {
		return fmt.Errorf("the role %q is convene's own: give yours another name", name)
	}
	if checkName("role", name) != nil {
		return fmt.Errorf("%q is no name for a role", name)
	}
	for _, permission := range grants {
		if err := CheckPermission(permission); err != nil {
			return err
		}
		if permission == MetricsRead {
			return fmt.Errorf("%s is of the whole server: give the role %s beside this one", MetricsRead, RoleMonitor)
		}
	}
	r[name] = append(Grants{}, grants...)
	return nil
}

// CheckPermission refuses what is no permission, and what differs from one of convene's own
// by a slip: with the one that was probably meant.
func CheckPermission(permission string) error {
	if slices.Contains(permissions, permission) {
		return nil
	}
	if near := nearest.Slip(permission, permissions); near != "" {
		return fmt.Errorf("there is no permission %q; did you mean %q?", permission, near)
	}
	if len(permission) > maxNameChars || !permissionForm.MatchString(permission) {
		return fmt.Errorf("%.100q is no permission: write it as skill:create, or choose one of %s", permission, strings.Join(permissions, ", "))
	}
	return nil
}

// CheckRequired refuses a permission that a team requires and no role grants: nobody but an
// administrator could ever do what it is for.
func (r Roles) CheckRequired(permission string) error {
	if err := CheckPermission(permission); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, grants := range r {
		for _, granted := range grants {
			known[granted] = true
		}
	}
	if known[permission] || slices.Contains(permissions, permission) {
		return nil
	}
	all := slices.Sorted(maps.Keys(known))
	if near := nearest.Of(permission, all); near != "" {
		return fmt.Errorf("no role grants %q; did you mean %q?", permission, near)
	}
	return fmt.Errorf("no role grants %q: add a role with it to access.roles of the configuration", permission)
}

// grants gives what somebody with these roles may; unknown roles are an error.
func (r Roles) grants(roles []string) (all Grants, err error) {
	all = Grants{}
	for _, role := range roles {
		granted, known := r[role]
		if !known {
			return nil, r.unknown(role)
		}
		if granted == nil {
			return nil, nil
		}
		all = append(all, granted...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// CheckRole refuses a role that there is not, with the nearest name and all that there are.
func (r Roles) CheckRole(role string) error {
	if _, known := r[role]; !known {
		return r.unknown(role)
	}
	return nil
}

// Identity gives somebody with these roles, which there must be. An identity that could see
// nothing, or whose names are none, is an error.
func (r Roles) Identity(tenant events.TenantID, user string, roles []string) (Identity, error) {
	grants, err := r.grants(roles)
	if err != nil {
		return Identity{}, err
	}
	who := Identity{Tenant: tenant, User: user, Roles: roles, Grants: grants}
	return who, who.sound()
}

func (r Roles) unknown(role string) error {
	names := slices.Sorted(maps.Keys(r))
	hint := ""
	if near := nearest.Of(role, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("there is no role %.100q%s The roles are %s", role, cmp.Or(hint, "."), strings.Join(names, ", "))
}
