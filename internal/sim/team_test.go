package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// fakeTeam is a facilitator loop with a board and a document, as small as it can be.
type fakeTeam struct {
	t           *testing.T
	client      llm.Client
	specialists []fakeSpecialist
	layout      map[string]any // layout parameters' JSON Schemas
	params      []string       // their order
	reverse     bool           // run parallel specialists in the opposite order
	refuse      map[string]int // tool → how many calls to refuse
	fail        map[string]bool
	endless     bool
	mistakes    int

	tasks   []fakeTask
	entries []fakeEntry
	lastID  int
	calls   map[string]int // agent → model calls
}

type fakeSpecialist struct{ id, about string }

type fakeTask struct {
	text, agent string
	done        bool
}

type fakeEntry struct {
	id                   int
	address, agent, text string
}

const maxFakeTurns = 40

var (
	travelSpecialists = []fakeSpecialist{
		{"food", "Food specialist: restaurants, markets and local dishes."},
		{"culture", "Culture specialist: museums, history and events."},
		{"transport", "Transport specialist: getting there, getting around and tickets."},
	}
	travelLayout = map[string]any{
		"day":       map[string]any{"type": "integer", "minimum": 0, "maximum": 30},
		"time_slot": map[string]any{"type": "string", "enum": []string{"general", "morning", "afternoon", "evening", "night"}},
	}
	researchLayout = map[string]any{
		"section": map[string]any{"type": "string", "enum": []string{"findings", "risks", "advice"}},
		"slot":    map[string]any{"type": "string", "enum": []string{"general", "detail"}},
	}
)

func travelTeam(t *testing.T, client llm.Client) *fakeTeam {
	return newFakeTeam(t, client, travelSpecialists, travelLayout, "day", "time_slot")
}

func researchTeam(t *testing.T, client llm.Client) *fakeTeam {
	return newFakeTeam(t, client, []fakeSpecialist{{"market-analyst", "Looks at markets, prices and competitors"}, {"lawyer", ""}},
		researchLayout, "section", "slot")
}

func newFakeTeam(t *testing.T, client llm.Client, specialists []fakeSpecialist, layout map[string]any, params ...string) *fakeTeam {
	return &fakeTeam{
		t: t, client: client, specialists: specialists, layout: layout, params: params,
		refuse: map[string]int{}, fail: map[string]bool{}, calls: map[string]int{},
	}
}

// run plays a whole job and gives the final answer.
func (f *fakeTeam) run(request string) string {
	answer := f.play(request)
	require.False(f.t, f.endless, "did not end within %d turns", maxFakeTurns)
	return answer
}

func (f *fakeTeam) play(request string) string {
	messages := []events.Message{
		{Role: events.RoleSystem, Content: "You are the facilitator."},
		{Role: events.RoleUser, Content: request},
	}
	return f.loop("facilitator", messages, f.facilitatorTools(), f.facilitatorCall)
}

func (f *fakeTeam) loop(agent string, messages []events.Message, tools []llm.Tool, execute func(string, map[string]any) string) string {
	for range maxFakeTurns {
		reply := f.ask(agent, llm.Request{Model: "sim", Messages: messages, Tools: tools})
		messages = append(messages, reply.Message())
		if len(reply.ToolCalls) == 0 {
			return reply.Text
		}
		results := make([]string, len(reply.ToolCalls))
		order := make([]int, len(reply.ToolCalls))
		for i := range order {
			order[i] = i
		}
		if f.reverse && strings.HasPrefix(reply.ToolCalls[0].Name, "call_") {
			slices.Reverse(order)
		}
		for _, i := range order {
			results[i] = f.execute(tools, reply.ToolCalls[i], execute)
		}
		for i, call := range reply.ToolCalls {
			messages = append(messages, events.Message{Role: events.RoleTool, ToolCallID: call.ID, Content: results[i]})
		}
	}
	f.endless = true
	return ""
}

// ends runs a job and reports whether the facilitator came to an end.
func (f *fakeTeam) ends(request string) bool {
	f.play(request)
	return !f.endless
}

// total counts the model calls.
func (f *fakeTeam) total() int {
	n := 0
	for _, calls := range f.calls {
		n += calls
	}
	return n
}

func (f *fakeTeam) ask(agent string, req llm.Request) events.Reply {
	f.calls[agent]++
	var done *llm.Completion
	for delta, err := range f.client.Stream(context.Background(), req) {
		require.NoError(f.t, err)
		if delta.Done != nil {
			done = delta.Done
		}
	}
	require.NotNil(f.t, done)
	return done.Reply
}

func (f *fakeTeam) execute(tools []llm.Tool, call events.ToolCall, execute func(string, map[string]any) string) string {
	if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == call.Name }) {
		f.mistakes++
		return "error: unknown tool " + call.Name
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		f.mistakes++
		return "error: arguments do not parse: " + err.Error()
	}
	if f.refuse[call.Name] > 0 {
		f.refuse[call.Name]--
		return "error: refused, the limit is reached"
	}
	return execute(call.Name, args)
}

func (f *fakeTeam) facilitatorCall(name string, args map[string]any) string {
	switch name {
	case "create_tasks":
		list := args["tasks"].([]any)
		if len(f.tasks)+len(list) > 20 {
			return "error: not more than 20 tasks a run"
		}
		for _, item := range list {
			fields := item.(map[string]any)
			f.tasks = append(f.tasks, fakeTask{text: fields["text"].(string), agent: fields["assigned_to"].(string)})
		}
		return f.plan()
	case "get_plan_status":
		return f.plan()
	case "read_document", "read_document_clean":
		return f.document(name == "read_document")
	case "consolidate_section":
		return f.consolidate(args)
	}
	id := strings.TrimPrefix(name, "call_")
	for _, s := range f.specialists {
		if strings.ReplaceAll(s.id, "-", "_") == id {
			return f.dispatch(s, args)
		}
	}
	return "error: no such specialist"
}

func (f *fakeTeam) dispatch(s fakeSpecialist, args map[string]any) string {
	var ids []string
	for _, id := range args["task_ids"].([]any) {
		n := int(id.(float64))
		if n < 1 || n > len(f.tasks) {
			f.mistakes++
			return fmt.Sprintf("error: there is no task %d", n)
		}
		ids = append(ids, strconv.Itoa(n))
	}
	if f.fail[s.id] {
		return "error: the specialist failed: the endpoint is unreachable"
	}
	messages := []events.Message{
		{Role: events.RoleSystem, Content: "You are " + s.id + ". " + s.about},
		{Role: events.RoleUser, Content: "Your tasks: " + strings.Join(ids, ", ") + "\n\n" + args["message"].(string)},
	}
	return f.loop(s.id, messages, f.specialistTools(), func(name string, args map[string]any) string {
		return f.specialistCall(s.id, name, args)
	})
}

func (f *fakeTeam) specialistCall(agent, name string, args map[string]any) string {
	switch name {
	case "read_tasks":
		return f.plan()
	case "complete_task":
		n := int(args["task_id"].(float64))
		if n < 1 || n > len(f.tasks) || f.tasks[n-1].agent != agent {
			f.mistakes++
			return fmt.Sprintf("error: task %d is not yours", n)
		}
		f.tasks[n-1].done = true
		return f.line(n - 1)
	case "write_section":
		address, complaint := f.address(args)
		if complaint != "" {
			return complaint
		}
		f.lastID++
		f.entries = append(f.entries, fakeEntry{f.lastID, address, agent, args["content"].(string)})
		return fmt.Sprintf("written as entry %d", f.lastID)
	}
	return f.document(true)
}

// address checks the layout's arguments against its schemas.
func (f *fakeTeam) address(args map[string]any) (address, complaint string) {
	var parts []string
	for _, name := range f.params {
		value, ok := args[name]
		spec := f.layout[name].(map[string]any)
		enum, _ := spec["enum"].([]string)
		if text, isText := value.(string); !ok || enum != nil && (!isText || !slices.Contains(enum, text)) {
			return "", fmt.Sprintf("error: %s must be one of %v", name, enum)
		}
		parts = append(parts, fmt.Sprintf("%s=%v", name, value))
	}
	return strings.Join(parts, " "), ""
}

func (f *fakeTeam) consolidate(args map[string]any) string {
	address, complaint := f.address(args)
	if complaint != "" {
		return complaint
	}
	text := args["content"].(string)
	var rest []fakeEntry
	for _, e := range f.entries {
		reference := fmt.Sprintf("{{entry:%d}}", e.id)
		if e.address == address && strings.Contains(text, reference) {
			text = strings.ReplaceAll(text, reference, e.text)
			continue
		}
		rest = append(rest, e)
	}
	f.lastID++
	f.entries = append(rest, fakeEntry{f.lastID, address, "facilitator", text})
	return fmt.Sprintf("merged into entry %d", f.lastID)
}

func (f *fakeTeam) line(i int) string {
	mark := " "
	if f.tasks[i].done {
		mark = "x"
	}
	return fmt.Sprintf("- [%s] %d (%s) %s", mark, i+1, f.tasks[i].agent, f.tasks[i].text)
}

func (f *fakeTeam) plan() string {
	lines := []string{"The plan:"}
	for i := range f.tasks {
		lines = append(lines, f.line(i))
	}
	return strings.Join(lines, "\n")
}

func (f *fakeTeam) document(tagged bool) string {
	byAddress := map[string][]fakeEntry{}
	var addresses []string
	for _, e := range f.entries {
		if byAddress[e.address] == nil {
			addresses = append(addresses, e.address)
		}
		byAddress[e.address] = append(byAddress[e.address], e)
	}
	sort.Strings(addresses)
	var b strings.Builder
	for _, address := range addresses {
		fmt.Fprintf(&b, "## %s\n", address)
		for _, e := range byAddress[address] {
			if tagged {
				fmt.Fprintf(&b, "[%s] (entry %d)\n", e.agent, e.id)
			}
			b.WriteString(e.text + "\n\n")
		}
	}
	return b.String()
}

// final gives the document as section, slot, agent and text, without ids.
func (f *fakeTeam) final() []string {
	var list []string
	for _, e := range f.entries {
		list = append(list, e.address+" | "+e.agent+" | "+e.text)
	}
	sort.Strings(list)
	return list
}

func (f *fakeTeam) open() int {
	n := 0
	for _, t := range f.tasks {
		if !t.done {
			n++
		}
	}
	return n
}

func (f *fakeTeam) facilitatorTools() []llm.Tool {
	var ids []string
	for _, s := range f.specialists {
		ids = append(ids, s.id)
	}
	tools := []llm.Tool{
		tool("create_tasks", "Creates tasks", object(map[string]any{"tasks": map[string]any{"type": "array", "items": object(map[string]any{
			"text": text(), "assigned_to": map[string]any{"type": "string", "enum": ids},
		}, "text", "assigned_to")}}, "tasks")),
		tool("get_plan_status", "", object(nil)),
		tool("read_document", "", object(f.layout)),
		tool("consolidate_section", "", f.writing()),
		tool("read_document_clean", "", object(nil)),
	}
	for _, s := range f.specialists {
		tools = append(tools, tool("call_"+strings.ReplaceAll(s.id, "-", "_"), s.about, object(map[string]any{
			"task_ids": map[string]any{"type": "array", "items": map[string]any{"type": "integer"}}, "message": text(),
		}, "task_ids", "message")))
	}
	return tools
}

func (f *fakeTeam) specialistTools() []llm.Tool {
	ids := map[string]any{"type": []string{"null", "array"}, "items": map[string]any{"type": "integer"}}
	return []llm.Tool{
		tool("read_tasks", "", object(map[string]any{"task_ids": ids})),
		tool("complete_task", "", object(map[string]any{"task_id": map[string]any{"type": "integer"}}, "task_id")),
		tool("read_document", "", object(f.layout)),
		tool("write_section", "", f.writing()),
	}
}

func (f *fakeTeam) writing() map[string]any {
	properties := map[string]any{"content": text()}
	for name, spec := range f.layout {
		properties[name] = spec
	}
	return object(properties, append([]string{"content"}, f.params...)...)
}

func text() map[string]any { return map[string]any{"type": "string"} }

func object(properties map[string]any, required ...string) map[string]any {
	if properties == nil {
		properties = map[string]any{}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func tool(name, description string, parameters map[string]any) llm.Tool {
	raw, err := json.Marshal(parameters)
	if err != nil {
		panic(err)
	}
	return llm.Tool{Name: name, Description: description, Parameters: raw}
}
