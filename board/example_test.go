package board_test

import (
	"fmt"

	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/events"
)

// A facilitator plans, a specialist mistakes an id, the plan shows what is left.
func Example() {
	var plan board.Board
	apply := func(seq events.Seq, fact events.Event) {
		if err := plan.Apply(events.Envelope{Run: "run", Seq: seq, Data: fact}); err != nil {
			fmt.Println(err)
		}
	}
	created, _ := plan.Create([]board.Draft{
		{Text: "Find three restaurants", AssignedTo: "food"},
		{Text: "Book the train", AssignedTo: "logistics"},
	}, board.Rules{Specialists: []events.AgentID{"food", "logistics"}})
	apply(1, created)

	updated, warning, result, _ := plan.Complete("food", []events.TaskID{1}, 2)
	apply(2, *updated)
	fmt.Println(result)
	fmt.Println(warning.Code)
	fmt.Println(plan.RenderTasks(nil))
	// Output:
	// Task 2 is not yours, so task 1 was marked done instead. All your tasks are done: now sum up.
	// task_id_corrected
	// 1/2 done, open: 2
	// - [x] 1 (food) Find three restaurants
	// - [ ] 2 (logistics) Book the train
}
