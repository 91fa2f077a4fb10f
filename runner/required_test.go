package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// A tool runs only for users who have the permissions that the team requires for it: a call for
// anyone else is recorded as refused, before anything of it begins, and the model is told.
func TestToolsRequirePermissions(t *testing.T) {
	for name, c := range map[string]struct {
		requires string
		grants   access.Grants
		sent     []string
	}{
		"without":          {"send_mail", access.Grants{access.Delegate}, []string{}},
		"by its beginning": {"send*", access.Grants{access.Delegate, "mail:read"}, []string{}},
		"with":             {"send_mail", access.Grants{access.Delegate, "mail:send"}, []string{"all"}},
		"an administrator": {"send_mail", nil, []string{"all"}},
	} {
		t.Run(name, func(t *testing.T) {
			box, log := &mailbox{}, events.NewMemory()
			tm := asking(team.ApproveNever)
			tm.Requires = map[string]string{c.requires: "mail:send"}
			r := newWith(t, runner.Config{Log: log, Models: oneClient{mailer(t, sendMail("all"))}, Tools: []agent.Tool{box.tool("send_mail", "")}})
			run, err := r.Start(t.Context(), runner.Job{
				Thread: chat, Request: "Write about both halves", Team: tm, By: conversation.Caller{UserID: "ann", Grants: c.grants},
			})
			require.NoError(t, err)
			p := ended(t, log, run)
			p.completed(t)
			require.Equal(t, c.sent, box.letters())
			denied := p.of(events.KindPermissionDenied)
			if len(c.sent) > 0 {
				require.Empty(t, denied)
				return
			}
			require.Len(t, denied, 1)
			require.Equal(t, events.PermissionDenied{Permission: "mail:send", UserID: "ann", What: "call send_mail"}, denied[0].Data)
			require.Empty(t, p.of(events.KindToolStarted))
			require.Contains(t, p.results("send_mail")[0], "send_mail was not run: the user does not have the permission mail:send")
		})
	}
}
