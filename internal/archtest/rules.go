package archtest

// layers are directories, the highest first: a package imports those below its
// own. Examples and internal tools may import everything; the terminal's views
// are a part of cmd that is tested by itself.
var layers = []string{
	"examples", "internal", "cmd", "internal/termview", "web", "batch", "runner", "facilitator", "specialists", "agent", "team",
	"llm", "conversation", "thread", "board", "document", "events",
}

// standardOnly are the packages that must outlive every dependency: a log that
// was written once is read with them for ever.
var standardOnly = []string{"thread", "board", "document", "events"}

// domains are the packages whose subpackages are technologies: those import the
// domain, never the other way round.
var domains = []string{"llm", "events"}

// onlyImports narrows the layers: the key imports no other package of the module
// than those listed and its own.
var onlyImports = map[string][]string{
	// A replayed file drives the same page as a live run, so the page must not see
	// more than the folds.
	"web": {"conversation", "thread", "board", "document", "events"},
}

// vendors are the dependencies that few may import, so that they can be
// exchanged in one place.
var vendors = []struct {
	vendor    string
	importers []string
	reason    string
}{
	{"github.com/sashabaranov/go-openai", []string{"llm/openai"}, "no vendor's type stands above it"},
	{"modernc.org/sqlite", []string{"events/sqlite"}, "the log's other packages know no database"},
	{"github.com/pressly/goose", []string{"events/sqlite"}, "the log's other packages know no database"},
	{"github.com/goccy/go-yaml", []string{"team"}, "team files are read in one place"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line belongs to cmd"},
	{"github.com/spf13/pflag", []string{"cmd"}, "the command line belongs to cmd"},
	{"charm.land", []string{"cmd", "internal/termview"}, "the terminal belongs to cmd and its views"},
	{"github.com/charmbracelet", []string{"cmd", "internal/termview"}, "the terminal belongs to cmd and its views"},
	{"github.com/gorilla/websocket", []string{"web"}, "HTTP is served in one place"},
	{"github.com/danielgtaylor/huma", []string{"web"}, "HTTP is served in one place"},
	{"github.com/prometheus/client_golang", []string{"web"}, "metrics are served in one place"},
	{"github.com/evanw/esbuild", []string{"internal"}, "the page is built before, not by, the program"},
	{"github.com/stretchr/testify", []string{"events/eventstest", "llm/llmtest", "internal"}, "it belongs to tests"},
	{"pgregory.net/rapid", []string{"events/eventstest", "internal"}, "it belongs to tests"},
	{"go.uber.org/goleak", []string{"internal"}, "it belongs to tests"},
}
