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
	// Declined is why the specialist said that it cannot do the task, which is open
	// then; "" where it did not.
	Declined string `json:"declined,omitempty"`
	// Replaces are declined tasks that this one stands in for: they are no longer
	// missing. Set when the task is created.
	Replaces []TaskID `json:"replaces,omitempty"`
}

// TasksCreated adds tasks to the board.
type TasksCreated struct {
	fact
	Tasks []Task `json:"tasks"`
}

// replaced gives the tasks that those created stand in for, each once.
func (e TasksCreated) replaced() map[TaskID]bool {
	ids := map[TaskID]bool{}
	for _, task := range e.Tasks {
		for _, id := range task.Replaces {
			ids[id] = true
		}
	}
	return ids
}

// TaskUpdated changes a task: the payload is the task as it now stands.
type TaskUpdated struct {
	fact
	Task
	// AutoCompleted is set where the specialist wrote what the task asks for and ended
	// well without saying that it is done.
	AutoCompleted bool `json:"auto_completed,omitempty"`
}

func (TasksCreated) Kind() Kind { return KindTasksCreated }
func (TaskUpdated) Kind() Kind  { return KindTaskUpdated }
