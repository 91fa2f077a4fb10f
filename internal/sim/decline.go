package sim

import (
	"slices"
	"strings"
)

const (
	declineReason = "it needs figures that nobody here has"
	// standIn begins the text of a task that replaces a declined one: those are done.
	standIn = "Without the figures: "
)

// declineLast declines the last of a specialist's tasks, where the model is played so,
// and reports whether that one is not to be worked on.
func (p *part) declineLast(mine []task) bool {
	if p.options.Behaviour != BehaveDecline || len(mine) == 0 || !p.offered(toolDeclineTask) {
		return false
	}
	last := mine[len(mine)-1]
	if last.done || strings.HasPrefix(last.text, standIn) {
		return false
	}
	if tries, fine := p.tried(toolDeclineTask, 0); !fine && tries < maxTries {
		p.call(toolDeclineTask, map[string]any{"task_id": last.id, "reason": declineReason})
	}
	return true
}

// declined reports whether the specialist has declined the task.
func (p *part) declined(id int) bool {
	return slices.ContainsFunc(p.exchanges, func(e exchange) bool {
		return e.name == toolDeclineTask && e.fine() && e.args["task_id"] == any(float64(id))
	})
}

// replaceDeclined creates a task for another specialist in place of the first that was
// declined, once in a job. It reports whether it did.
func (p *part) replaceDeclined(board []task) bool {
	list, item := p.taskShape()
	if p.options.Behaviour != BehaveDecline || item.Properties["replaces"] == nil {
		return false
	}
	for _, e := range p.exchanges {
		if e.name == toolCreateTasks && strings.Contains(jsonText(e.args), `"replaces"`) {
			return false
		}
	}
	at := slices.IndexFunc(board, func(t task) bool { return t.declined && !t.replaced })
	ids := p.assignees()
	if at < 0 || len(ids) == 0 {
		return false
	}
	other := ids[(slices.Index(ids, board[at].agent)+1)%len(ids)]
	p.call(toolCreateTasks, map[string]any{list: []any{map[string]any{
		"text": standIn + board[at].text, "assigned_to": other, "replaces": []int{board[at].id},
	}}})
	return true
}
