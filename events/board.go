package events

// Kinds about the task board.
const (
	KindTasksCreated Kind = "tasks_created"
	KindTaskUpdated  Kind = "task_updated"
)

// Task is one task of the plan.
type Task struct {
	ID   TaskID `json:"id"`
	Text string `json:"text"`
	// AssignedTo is a specialist of the team, never an instance of one.
	AssignedTo AgentID `json:"assigned_to"`
	Finished   bool    `json:"finished"`
}

// TasksCreated adds tasks to the board.
type TasksCreated struct {
	fact
	Tasks []Task `json:"tasks"`
}

// TaskUpdated changes a task: the payload is the task as it now stands.
type TaskUpdated struct {
	fact
	Task
	// AutoCompleted is set where the specialist ended well without saying that the
	// task is done.
	AutoCompleted bool `json:"auto_completed,omitempty"`
}

func (TasksCreated) Kind() Kind { return KindTasksCreated }
func (TaskUpdated) Kind() Kind  { return KindTaskUpdated }
