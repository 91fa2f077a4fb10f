package archtest

// layers are directories, the highest first: a package imports only those below its
// own. Examples and internal tools may import everything; cmd/internal holds the parts
// of the program that are tested by themselves.
var layers = []string{
	"examples", "internal", "cmd", "cmd/internal", "steer", "mcpserver", "web", "webhook", "otel", "batch/cases", "batch", "batch/internal/files", "runner", "toolbox", "toolbox/builtin", "mcpclient", "facilitator", "specialists", "internal/handoff", "lifetime", "tenants", "team", "internal/loop", "internal/artifact", "agent",
	"llm/endpoint", "internal/sim", "llm", "evidence", "audit", "thread", "conversation", "access/oidc", "access", "board", "document", "sanitize", "internal/quote", "prices", "events", "internal/chars",
	"internal/filelock", "internal/firstof", "internal/lazyregexp", "internal/nearest", "internal/outside", "internal/plainjson", "internal/procusage", "internal/publicaddr", "internal/structschema",
}

// standardOnly are the packages that must outlive every dependency: a log that
// was written once must stay readable with them.
var standardOnly = []string{"audit", "thread", "conversation", "access", "board", "document", "sanitize", "internal/quote", "events", "internal/chars"}

// domains are the packages whose subpackages are technologies: those import the
// domain, never the other way round.
var domains = []string{"llm", "events", "access"}

// onlyImports narrows the layers: the key imports only the listed packages of the
// module, and its own.
var onlyImports = map[string][]string{
	// A replayed file drives the same page as a live run, so the page must not see
	// more than the folds.
	"web": {"audit", "conversation", "thread", "access", "board", "document", "events", "internal/lazyregexp"},
	// Receivers are told what the log has, and nothing else.
	"webhook": {"events", "sanitize", "internal/publicaddr"},
	// Callers of tools get what a dashboard gets, by the same doors.
	"mcpserver": {"audit", "web", "thread", "access", "evidence", "events", "internal/chars"},
	// A trace is made of events, so that a log gives the same one whenever it is read.
	"otel": {"events", "internal/lazyregexp"},
}

// vendors are the dependencies that few may import, so that they can be
// exchanged in one place.
var vendors = []struct {
	vendor    string
	importers []string
	reason    string
}{
	{"github.com/sashabaranov/go-openai", []string{"llm/openai", "internal/bench/bareloop"}, "no vendor's type stands above it"},
	{"github.com/tidwall/gjson", []string{"llm"}, "what endpoints send is read in one place"},
	{"modernc.org/sqlite", []string{"events/sqlite", "toolbox/builtin"}, "the log's other packages know no database"},
	{"github.com/pressly/goose", []string{"events/sqlite"}, "the log's other packages know no database"},
	{"github.com/goccy/go-yaml", []string{"team"}, "team files are read in one place"},
	{"github.com/coreos/go-oidc", []string{"access/oidc"}, "tokens of identity providers are checked in one place"},
	{"github.com/expr-lang/expr", []string{"toolbox/builtin"}, "expressions are evaluated in one place"},
	{"github.com/JohannesKaufmann/html-to-markdown", []string{"toolbox/builtin"}, "pages become text in one place"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"mcpclient", "mcpserver"}, "each side of the protocol is spoken in one place"},
	{"github.com/klippa-app/go-pdfium", []string{"cmd/internal/extract"}, "documents are read in one place, which embedders do not link"},
	{"github.com/tetratelabs/wazero", []string{"cmd/internal/extract"}, "documents are read in one place, which embedders do not link"},
	{"github.com/xuri/excelize", []string{"cmd/internal/extract"}, "documents are read in one place, which embedders do not link"},
	{"github.com/jackc/pgx", []string{"toolbox/builtin"}, "databases of others are queried in one place"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line belongs to cmd"},
	{"github.com/spf13/pflag", []string{"cmd"}, "the command line belongs to cmd"},
	{"charm.land", []string{"cmd"}, "the terminal belongs to cmd and its views"},
	{"github.com/charmbracelet", []string{"cmd"}, "the terminal belongs to cmd and its views"},
	{"github.com/yuin/goldmark", []string{"cmd", "web"}, "people read answers in the terminal and on the page"},
	{"github.com/gorilla/websocket", []string{"web"}, "HTTP is served in one place"},
	{"github.com/danielgtaylor/huma", []string{"web"}, "HTTP is served in one place"},
	{"github.com/prometheus/client_golang", []string{"web", "webhook"}, "metrics are for those who serve"},
	{"go.opentelemetry.io", []string{"otel"}, "traces and metrics are exported in one place"},
	{"github.com/evanw/esbuild", []string{"internal"}, "the page is built before, not by, the program"},
	{"github.com/stretchr/testify", []string{"events/eventstest", "llm/llmtest", "llm/wire/wiretest", "internal"}, "it belongs to tests"},
	{"pgregory.net/rapid", []string{"events/eventstest", "internal"}, "it belongs to tests"},
	{"go.uber.org/goleak", []string{"internal"}, "it belongs to tests"},
}
