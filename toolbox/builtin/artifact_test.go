package builtin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/toolbox/builtin"
)

// A text that a model writes is a file of the type that its name says.
func TestWriteArtifact(t *testing.T) {
	tools, err := new(builtin.Kit).Tools(&team.Team{Tools: &team.Tools{WriteArtifact: &team.WriteArtifactTool{}, ReadArtifact: &team.ReadArtifactTool{}}})
	require.NoError(t, err)
	require.Equal(t, team.ToolReadArtifact, tools[0].Name)
	require.Equal(t, team.ToolWriteArtifact, tools[1].Name)
	write := tools[1].Handler.(agent.External)
	require.Equal(t, events.EffectIdempotent, write.Effect)
	for name, want := range map[string]string{"prices.CSV": "text/csv", "a/b.json": "application/json", "plan": "text/plain"} {
		in := agent.Invocation{Ref: events.CallRef{Arguments: `{"name":"` + name + `","content":"x"}`}}
		result, err := write.Call(context.Background(), in)
		require.NoError(t, err)
		require.Equal(t, []agent.File{{Name: name, MediaType: want, Data: []byte("x")}}, result.Files)
	}
	_, err = write.Call(context.Background(), agent.Invocation{Ref: events.CallRef{Arguments: `{"name":" ","content":"x"}`}})
	require.ErrorContains(t, err, "give the file a name and a content")
}
