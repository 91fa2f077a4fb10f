package facilitator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/facilitator"
)

// Proves R21's synthesis without a model.
func TestSynthesize(t *testing.T) {
	type answers = []facilitator.Answer
	good, other := facilitator.Answer{Agent: "food", Text: "Eat noodles."}, facilitator.Answer{Agent: "logistics", Text: "Take the train."}
	bad, blank := facilitator.Answer{Agent: "budget", Text: "Error", Failed: true}, facilitator.Answer{Agent: "budget", Text: " \n"}
	for _, c := range []struct {
		answers answers
		text    string
		ok      bool
	}{
		{nil, "No specialist answered.", false},
		{answers{bad, blank}, "All specialists failed to answer.", false},
		{answers{bad, good}, "Eat noodles.", true},
		{answers{good, bad, other}, "From food:\n\nEat noodles.\n\nFrom logistics:\n\nTake the train.", true},
	} {
		text, ok := facilitator.Synthesize(c.answers)
		require.Equal(t, c.text, text)
		require.Equal(t, c.ok, ok)
	}
}
