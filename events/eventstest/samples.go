package eventstest

import (
	"encoding/json"
	"time"

	"github.com/convene-run/convene/events"
)

// Samples gives one event of every kind with all its fields filled, by kind.
func Samples() map[events.Kind]events.Event {
	cost := 0.0125
	figures := events.BatchFigures{
		Done: 40, Completed: 30, Degraded: 6, Failed: 4, Running: 16, Tokens: 81000, CostUSD: &cost, UncachedInputShare: 0.38,
		ElapsedMS: 61000, RowsPerSecond: 0.65, LeftMS: 92000, ProjectedUSD: 0.031,
		Causes: []events.BatchCause{{
			Code: "rate_limit", Status: events.StatusFailed, Count: 3, Row: "q-3", Line: 4, Run: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5c", Message: "429 <slow down>",
		}},
		Slowest: []events.BatchRowUnderWay{{
			Row: "q-31", Index: 30, Line: 32, Run: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5d", ElapsedMS: 45000, Doing: "Food expert waits for the first token",
		}},
		Limiters: []events.BatchLimiter{{
			Endpoint: "openai", Limit: 32, InFlight: 31, Waiting: 5, RequestsPerMinute: 600, TokensPerMinute: 90000, HeldBackMS: 1500,
		}},
		Outages: []events.BatchOutage{{
			Endpoint: "https://host/v1", Code: "server", Message: "openai at https://host/v1: server: HTTP 503", Rows: 9, AwayMS: 12000,
		}},
		Held: 3,
	}
	extra := json.RawMessage(`{"thought_signature":"c2ln"}`)
	ref := events.CallRef{
		ModelCall: "f.2", Index: 1, CallID: "call_7", Arguments: `{"task_ids":[1,2]}`, Extra: extra,
		Early: &events.Early{Text: "I ask the <food> expert", Reasoning: "she knows", Extra: extra},
	}
	task := events.Task{ID: 1, Text: "Find breakfast places in 京都", AssignedTo: "food", Finished: true, Declined: "no sources", Replaces: []events.TaskID{2}}
	lost := &events.Spent{Usage: events.Usage{InputTokens: 1200, CachedInputTokens: 1000, OutputTokens: 8, CacheWriteInputTokens: 100, CacheWrite1hInputTokens: 50, ReasoningTokens: 2, WebSearches: 1, Estimated: true}, CostUSD: &cost}
	failed := events.FailedCall{
		ModelCall: "d3.1", EarlierAttempts: 6, Lost: lost,
		Attempts: []events.FailedAttempt{{
			StartMS: 12, RanMS: 250, WaitMS: 900, Error: "rate_limited", Status: 429, Message: "slow down", Model: "big",
			Usage: &lost.Usage, CostUSD: &cost,
		}},
	}
	source := events.Source{URL: "https://host/a", File: "docs/a.pdf", Artifact: "9f86d081", Tool: "search", Page: 3, Title: "Nishiki <market>"}
	cited := events.Citation{
		Source: source, Quote: "open since \"1615\"", Found: true, SHA256: "60303ae2", Call: &events.CallPlace{ModelCall: "d1.1", Index: 2},
	}
	usage := events.Usage{InputTokens: 1200, CachedInputTokens: 1000, OutputTokens: 80, CacheWriteInputTokens: 100, CacheWrite1hInputTokens: 50, ReasoningTokens: 20, WebSearches: 1, Estimated: true}
	list := []events.Event{
		events.WorkflowStarted{
			Message: "Plan three days in Kyoto for two & a dog", Prompt: "Plan three days in Kyoto for two & a dog\n\nfile: notes.txt", Team: "trip",
			Layout: json.RawMessage(`{"sections":["day_1"]}`),
			Agents: []events.AgentCard{{
				ID: events.FacilitatorID, DisplayName: "Facilitator", Models: []string{"big", "small"},
				Handoff: &events.HandoffCard{
					SupportsHandoff: true, HandoffTriggers: []string{"create skill"}, WorkflowStates: []string{"gathering"},
					RequiresExclusiveControl: true, MaxSessionDurationSeconds: 3600,
				},
				Orchestration: &events.OrchestrationCard{
					CanOrchestrate: true, CanBeOrchestrated: true, SupportedDelegationStrategies: []string{"parallel"}, MaxConcurrentDelegations: 5,
				},
			}},
			Config:        json.RawMessage(`{"limits":{"max_tasks":40}}`),
			Solo:          true,
			Simulated:     true,
			Batch:         &events.BatchRow{Batch: "0c1d2e3f-4a5b-4c6d-8e7f-8091a2b3c4d5", Row: "q-17", Index: 16, Line: 18, Attempt: 1, Folder: "vendors/17"},
			BinaryVersion: "1.0.0",
			Continues:     "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4b00", TasksBefore: 5, FinishedBefore: 3, Follows: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4b01", MessageID: "m-17", Synthetic: true,
			UserID: "ann", By: "bob", Grants: []string{"runs:start"},
			ForkedFrom: &events.ForkOrigin{
				Run: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a00", Thread: "7b2c5a60-93f0-4d7e-8f43-8c1a0c1f3e00", Seq: 17, Model: "small", Instruction: "Keep it cheap",
			},
			Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
		events.WorkflowFinished{
			Tasks: []events.Task{task},
			DocumentVersions: []events.DocumentVersion{{
				Version: 1, Author: "food", Change: "breakfast", Time: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC),
			}},
			Status: events.StatusDegraded, Reason: "a task is open", Limit: "max_turns", MissingTasks: []events.TaskID{2},
			Usage: usage, CostUSD: &cost, ModelCalls: 16, DrivenMS: 81234,
		},
		events.FinalAnswer{Content: "Day 1: …", Fallback: true, Structured: true},
		events.Error{Message: "the endpoint refuses the key", Code: "authentication", FailedCall: failed},
		events.CancelRequested{Reason: "changed my mind"},
		events.RunCancelled{Reason: "changed my mind"},
		events.RunSuspended{Reason: "openai at https://host/v1: unreachable: connection refused", Code: "unreachable", Endpoint: "https://host/v1", Limit: events.LimitTenantTokens, AwaitingInput: true, DrivenMS: 5000},
		events.OutageBegan{
			Endpoint: "https://host/v1", Code: "unreachable", Message: "openai at https://host/v1: unreachable: connection refused", MaxWaitMS: 600000,
		},
		events.OutageEnded{WaitedMS: 61000},
		events.RunResumed{Owner: "laptop pid 4711", BinaryVersion: "1.0.0"},
		events.TasksCreated{Tasks: []events.Task{task}},
		events.TaskUpdated{Task: task, AutoCompleted: true},
		events.DocumentUpdated{
			Version: 3, Author: "food", Content: "Nishiki market\nand \"obanzai\"", ChangeDescription: "breakfast", Section: "day_1", Slot: "morning",
			EntryID: 12, Replaced: []events.EntryID{3, 4}, Merged: []events.EntryID{3},
			Spans: []events.Span{{Start: 0, End: 14, Entry: 3}}, Tasks: []events.TaskID{1}, ModelCall: "d1.2", Sources: []events.Citation{cited}, Unsupported: true,
		},
		events.EvidenceRefused{
			Author: "food", Section: "day_1", Slot: "morning", Reason: events.EvidenceNotFound, Sources: []events.Citation{cited}, ModelCall: "d1.2",
		},
		events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", What: "email", Original: "ann@example.org"}}},
		events.AgentStarted{
			Agent: "food", DisplayName: "Food expert", TaskIDs: []events.TaskID{1, 2}, Message: "Breakfast for two", Tool: "call_food", Asked: true, CallRef: ref,
		},
		events.AgentMessage{Agent: "food", DisplayName: "Food expert", Content: "Done."},
		events.AgentFinished{
			Agent: "food", DisplayName: "Food expert", CallID: "call_7", Status: events.OutcomeTimedOut, Result: "no answer in 60 s",
			Error: "deadline", ElapsedMS: 60001, FailedCall: failed,
		},
		events.FacilitatorMessage{Agent: events.FacilitatorID, DisplayName: "Facilitator", Content: "I split this up."},
		events.DispatchRefused{Tool: "call_food", Result: "the same tasks a third time: replan", CallRef: ref},
		events.ModelCalled{
			ID: "f.2", Provider: "openai", Model: "big",
			Reply: events.Reply{
				Text: "I ask", Reasoning: "she knows", Extra: extra, FinishReason: events.FinishToolCalls,
				ToolCalls: []events.ToolCall{{ID: "call_7", Name: "call_food", Arguments: `{"task_ids":[1]`, Extra: extra}},
				Searches:  []string{"apples in season"}, Cited: []events.CitedPage{{URL: "https://food.example/apples", Title: "Apples", Quote: "Apples are ripe in autumn."}},
			},
			Usage: usage, Tier: "flex", CostUSD: &cost, QueuedMS: 12, RetriedMS: 900, FirstTokenMS: 340, TotalMS: 2100, Attempts: 2,
			Retries: []events.FailedAttempt{{
				StartMS: 12, RanMS: 250, WaitMS: 900, Error: "rate_limited", Status: 429, Message: "slow down", Model: "big",
				Usage: &lost.Usage, CostUSD: &cost,
			}},
			Lost: lost, API: events.APIResponses, Interrupted: true, KeptDropped: true, Purpose: "compact",
		},
		events.ModelCallFailed{FailedCall: failed},
		events.ToolStarted{Tool: "search", Effect: events.EffectIdempotent, CallRef: ref},
		events.ToolCallDone{
			Agent: "food", Tool: "read_document", Result: "[3] Nishiki", Phase: "complete", Failed: true, ShownEntries: []events.EntryID{3}, CallRef: ref, Sources: []events.Source{source},
			Parts: []events.Part{{
				Type: events.PartImage, Text: "[3] Nishiki", MediaType: "image/png", Bytes: []byte("\x89PNG"), Name: "stalls.png", SHA256: "9f86d081", SizeBytes: 4,
			}},
		},
		events.UserMessage{
			Content: "wrap up", Synthetic: true, Reason: "the turns are used up", MessageID: "m-17", UserID: "ann", ChannelType: "web", ChannelID: "c-4",
			Metadata: json.RawMessage(`{"intent":"billing"}`), Delivery: events.DeliveryAnswer, InputID: "i3", Grants: []string{"handoff:initiate"},
			Approval: &events.Approval{Decision: events.DecisionApprove, Arguments: json.RawMessage(`{"to":"ann"}`), Reason: "to her alone", Policy: true},
		},
		events.MessageRouted{MessageID: "m-17", Agent: "skill_builder", Tier: events.TierTrigger, Rule: "create skill"},
		events.HandoffRequested{
			HandoffID: "h2", UserID: "ann", Source: events.FacilitatorID, Target: "skill_builder", ContextSummary: "Wants a skill that posts <alerts>",
			RecentMessageCount: 5, RecentMessages: []events.SharedMessage{{Role: events.RoleUser, Content: "Hello"}}, Reason: "skill creation", PreserveState: true, ReturnExpected: true,
			NextPhase: events.Phase("handling"), ChannelEscalation: events.ChannelVoice, Metadata: json.RawMessage(`{"ticket":7}`),
		},
		events.HandoffAccepted{HandoffID: "h2", EstimatedDurationSeconds: 300, AllMayAnswer: true, UserMessages: []string{"Write to [EMAIL_1]"}, Notice: "Connecting you with Skill builder..."},
		events.HandoffRejected{HandoffID: "h3", Code: "active_session", Reason: "h2 is active", Notice: "You're currently in a session with Skill builder."},
		events.HandoffExitRequested{HandoffID: "h2", By: "ann"},
		events.HandoffReturned{HandoffID: "h2", CompletionStatus: events.CompletionCompleted, ResultSummary: "The skill is active", ArtifactsCreated: []string{"SKILL.md"}, Notice: "Returning you to the main assistant."},
		events.WorkflowStateChanged{HandoffID: "h2", From: "gathering", To: "testing", Step: 4, Steps: 5, Metadata: json.RawMessage(`{"name":"alerts"}`)},
		events.HandoffResumed{HandoffID: "h2", By: "ann", ContextSummary: "Wants to go on", Notice: "Reconnecting you with Skill builder..."},
		events.InputRequested{
			InputID: "i3", For: events.InputQuestion, Question: "Which <city>?", Choices: []string{"Kyoto", "Nara"}, Call: "call_9", HandoffID: "h2",
			Action: &events.Action{Tool: "send_mail", Arguments: `{"to":"all"}`, Effect: events.EffectEffectful, ModelCall: "d1.2", Index: 1},
		},
		events.PhaseChanged{
			From: "intake", To: "handling", HandoffID: "h2", FromHandoffID: "h1", FromAgent: "triage", ToAgent: "handler", Reason: "qualified", Result: "A billing question",
			Snapshot: json.RawMessage(`{"phase":"intake"}`), Notice: "✓ Intake complete - Starting handling...",
		},
		events.TransitionRolledBack{HandoffID: "h2", ToSeq: 41, Reason: "the assessor failed"},
		events.PermissionDenied{Permission: "handoff:initiate", UserID: "ann", What: "hand over to skill_builder", Target: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4b00", More: 214},
		events.Audited{Action: events.AuditTokenAdded, UserID: "ann", TokenID: "k3xq7wd2ba", Target: "019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4b00", What: "operator", More: 3},
		events.ArtifactCreated{
			Artifact: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Name: "menu <spring>.pdf", MediaType: "application/pdf", SizeBytes: 48213,
			Text: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", Pages: 3, Source: events.SourceTool, Origin: "https://example.com/menu.pdf",
			Note: "page 2 has no text", Tool: "fetch_url", ModelCall: "d1.2", Index: 1, CallID: "call_7",
		},
		events.HistoryCompacted{ThroughTurn: "f.9", Summary: "So far: …", CoveredBytes: 8000},
		events.Warning{Code: events.WarnTaskIDCorrected, Message: "task 9 does not exist, took 1"},
		events.LimitReached{Limit: "max_tokens", Value: 200000, Used: 200130.5, Consequence: "wrapping up"},
		events.BatchStarted{
			Input: "requests.jsonl", Output: "answers.jsonl",
			Command: "convene batch requests.jsonl -o answers.jsonl", Folder: "/home/ada", Team: "trip", Models: []string{"big", "small"}, Solo: true, Simulated: true,
			Rows: 100, Concurrency: 16, MaxCostUSD: 20, MaxTokens: 1_000_000, MaxFailures: "3%", Resumed: true, Attempt: 1,
			Owner: "laptop pid 4711", BinaryVersion: "1.0.0",
		},
		events.BatchProgress{BatchFigures: figures, Stopping: "interrupted"},
		events.BatchRowRejected{Row: "q-9", Index: 8, Line: 9, Code: "invalid_row", Message: "it has no \"request\""},
		events.BatchEnded{BatchFigures: figures, Status: events.StatusSuspended, Reason: "interrupted", Left: 44},
	}
	samples := make(map[events.Kind]events.Event, len(list))
	for _, sample := range list {
		samples[sample.Kind()] = sample
	}
	return samples
}
