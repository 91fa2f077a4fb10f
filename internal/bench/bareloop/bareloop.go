// Package bareloop plays the same job as a run does, as one would write it in an afternoon: a
// loop on go-openai's streaming client for the facilitator, one for each specialist, tasks and
// document in a map. It keeps nothing else. It stays as it is: runs are measured beside it.
package bareloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"
)

// Loop is a tool loop. It is safe for concurrent use.
type Loop struct {
	client *openai.Client
	model  string
	system map[string]string
	tools  map[string][]Tool
}

// Agent is what the loop gives with each request of an agent.
type Agent struct {
	System string
	Tools  []Tool
}

// Tool is a tool as the API takes it.
type Tool = openai.Tool

// New gives a loop of agents by name. The first to be called is "facilitator"; call_NAME calls
// another.
func New(baseURL string, client *http.Client, agents map[string]Agent) *Loop {
	config := openai.DefaultConfig("key")
	config.BaseURL, config.HTTPClient = baseURL, client
	l := &Loop{client: openai.NewClientWithConfig(config), model: "sim", system: map[string]string{}, tools: map[string][]Tool{}}
	for name, a := range agents {
		l.system[name], l.tools[name] = a.System, a.Tools
	}
	return l
}

// NewTool gives a tool. Parameters are a JSON Schema.
func NewTool(name, description string, parameters json.RawMessage) Tool {
	return Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Description: description, Parameters: parameters}}
}

// job is the state of one bare run.
type job struct {
	mu      sync.Mutex
	tasks   []bareTask
	entries []bareEntry
}

type bareTask struct {
	Text       string `json:"text"`
	AssignedTo string `json:"assigned_to"`
	done       bool
}

type bareEntry struct{ place, agent, text string }

// Run plays one job to its answer.
func (l *Loop) Run(ctx context.Context, request string) error {
	j := &job{}
	_, err := l.loop(ctx, j, "facilitator", request)
	return err
}

func (l *Loop) loop(ctx context.Context, j *job, who, message string) (string, error) {
	messages := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: l.system[who]},
		{Role: openai.ChatMessageRoleUser, Content: message},
	}
	for {
		reply, err := l.turn(ctx, who, messages)
		if err != nil {
			return "", err
		}
		messages = append(messages, reply)
		if len(reply.ToolCalls) == 0 {
			return reply.Content, nil
		}
		results := make([]string, len(reply.ToolCalls))
		var wg sync.WaitGroup
		var failure error
		for i, call := range reply.ToolCalls {
			if name, dispatch := strings.CutPrefix(call.Function.Name, "call_"); dispatch {
				wg.Go(func() {
					var err error
					if results[i], err = l.loop(ctx, j, name, j.brief(call.Function.Arguments)); err != nil {
						failure = err
					}
				})
				continue
			}
			results[i] = j.tool(who, call.Function.Name, call.Function.Arguments)
		}
		wg.Wait()
		if failure != nil {
			return "", failure
		}
		for i, call := range reply.ToolCalls {
			messages = append(messages, openai.ChatCompletionMessage{
				Role: openai.ChatMessageRoleTool, Content: results[i], ToolCallID: call.ID,
			})
		}
	}
}

func (l *Loop) turn(ctx context.Context, who string, messages []openai.ChatCompletionMessage) (openai.ChatCompletionMessage, error) {
	reply := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	stream, err := l.client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model: l.model, Messages: messages, Tools: l.tools[who], Stream: true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	})
	if err != nil {
		return reply, err
	}
	defer func() { _ = stream.Close() }()
	var text strings.Builder
	arguments := map[int]*strings.Builder{}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reply, err
		}
		for _, choice := range chunk.Choices {
			text.WriteString(choice.Delta.Content)
			for _, part := range choice.Delta.ToolCalls {
				for len(reply.ToolCalls) <= *part.Index {
					arguments[len(reply.ToolCalls)] = &strings.Builder{}
					reply.ToolCalls = append(reply.ToolCalls, openai.ToolCall{Type: openai.ToolTypeFunction})
				}
				call := &reply.ToolCalls[*part.Index]
				if part.ID != "" {
					call.ID, call.Function.Name = part.ID, part.Function.Name
				}
				arguments[*part.Index].WriteString(part.Function.Arguments)
			}
		}
	}
	reply.Content = text.String()
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].Function.Arguments = arguments[i].String()
	}
	return reply, nil
}

// brief is the first message of a specialist.
func (j *job) brief(arguments string) string {
	var args struct {
		TaskIDs []int  `json:"task_ids"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal([]byte(arguments), &args)
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Your tasks: %s\n\n", strings.Trim(fmt.Sprint(args.TaskIDs), "[]"))
	for _, id := range args.TaskIDs {
		fmt.Fprintf(&b, "- %d: %s\n", id, j.tasks[id-1].Text)
	}
	return b.String() + "\n" + args.Message
}

// tool runs a tool on the maps.
func (j *job) tool(who, name, arguments string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var args struct {
		Tasks    []bareTask `json:"tasks"`
		TaskID   int        `json:"task_id"`
		Day      int        `json:"day"`
		TimeSlot string     `json:"time_slot"`
		Content  string     `json:"content"`
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "Error: " + err.Error()
	}
	switch name {
	case "create_tasks":
		j.tasks = append(j.tasks, args.Tasks...)
	case "complete_task":
		j.tasks[args.TaskID-1].done = true
		return "Done."
	case "write_section", "consolidate_section":
		j.entries = append(j.entries, bareEntry{fmt.Sprintf("day=%d time_slot=%s", args.Day, args.TimeSlot), who, args.Content})
		return "Written."
	case "read_document", "read_document_clean":
		var b strings.Builder
		for i, e := range j.entries {
			fmt.Fprintf(&b, "## %s\n[%s] (entry %d)\n%s\n", e.place, e.agent, i+1, e.text)
		}
		return b.String()
	}
	var b strings.Builder
	for i, t := range j.tasks {
		mark := " "
		if t.done {
			mark = "x"
		}
		fmt.Fprintf(&b, "- [%s] %d (%s) %s\n", mark, i+1, t.AssignedTo, t.Text)
	}
	return b.String()
}
