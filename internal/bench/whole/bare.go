package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/convene-run/convene/internal/bench/bareloop"
)

// tool gives a tool of the bare loop. Properties are JSON.
func tool(name, description, properties string) bareloop.Tool {
	return bareloop.NewTool(name, description, json.RawMessage(`{"type":"object","properties":{`+properties+`}}`))
}

const (
	integers = `{"type":"array","items":{"type":"integer"}}`
	taskItem = `{"type":"object","properties":{"text":{"type":"string"},"assigned_to":{"type":"string","enum":["logistics","food","sightseeing"]}}}`
)

// agents are those of the job with prompts as an ordinary program has them. They stay as they are.
func agents() map[string]bareloop.Agent {
	lead := []bareloop.Tool{
		tool("create_tasks", "Create the tasks.", `"tasks":{"type":"array","items":`+taskItem+`}`),
		tool("get_plan_status", "List the tasks.", ``),
		tool("read_document", "Read what was written.", ``),
		tool("read_document_clean", "Read it without the authors.", ``),
	}
	all := map[string]bareloop.Agent{}
	for name, about := range map[string]string{
		"logistics": "where to stay and how to get around", "food": "where to eat", "sightseeing": "what to see",
	} {
		lead = append(lead, tool("call_"+name, "Have the "+name+" specialist do tasks.", `"task_ids":`+integers+`,"message":{"type":"string"}`))
		all[name] = bareloop.Agent{
			System: "You are a travel specialist. You know " + about + ". Read your tasks, write a section for each, complete them, then say in one sentence what you did.",
			Tools: []bareloop.Tool{
				tool("read_tasks", "Read tasks.", `"task_ids":`+integers),
				tool("write_section", "Write a section of the plan.", `"task_id":{"type":"integer"},"day":{"type":"integer"},"time_slot":{"type":"string"},"content":{"type":"string"}`),
				tool("complete_task", "Mark a task as done.", `"task_id":{"type":"integer"}`),
			},
		}
	}
	all[facilitator] = bareloop.Agent{
		System: "You plan trips with three specialists: logistics, food and sightseeing. Create two tasks for each, call all of them at once, read what they wrote, then answer with the whole plan.",
		Tools:  lead,
	}
	return all
}

// bareRow is a row of the file that the bare loop works on, as a batch has it.
type bareRow struct {
	Request string `json:"request"`
}

// bare has the loop work on the rows of a file, width at once.
func bare(ctx context.Context, baseURL, in string, width int) error {
	file, err := os.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	loop := bareloop.New(baseURL, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8192}}, agents())
	rows := make(chan string)
	failures := make(chan error, width)
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for request := range rows {
				if err := loop.Run(ctx, request); err != nil {
					select {
					case failures <- fmt.Errorf("%s: %w", request, err):
					default:
					}
				}
			}
		})
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var row bareRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return err
		}
		rows <- row.Request
	}
	close(rows)
	wg.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return lines.Err()
	}
}
