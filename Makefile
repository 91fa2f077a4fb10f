# Targets for people and for .ci/run. `make` alone lists them.
.DEFAULT_GOAL := help
GO ?= go
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHTIME ?= 1x
FUZZTIME ?= 20s
KILLS ?= 200

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binary into bin/
	$(GO) build -o bin/convene ./cmd/convene

.PHONY: release
release: ## archives for Linux, macOS and Windows in dist/, the same for everyone; no network
	GOPROXY=off $(GO) run ./internal/release dist

.PHONY: test
test: ## run the tests
	$(GO) test ./...

.PHONY: race
race: export GORACE = atexit_sleep_ms=0 # a process that ends sleeps a second by default
# SQLite and the script engine are C that was translated: they share nothing but through
# their callers, which are watched, and would take four fifths of the time. The run without
# the detector vets; what it alone tries is said in internal/race.
race: ## run the tests of goroutines with the race detector, in random order
	$(GO) test -race -gcflags='modernc.org/...=-race=false' -vet=off -shuffle=on ./...

.PHONY: browser
browser: ## test the page in Chromium; needs it, and npm for axe
	$(GO) test -tags browser -timeout 20m -parallel 4 -run "^($$(grep -l '^//go:build browser' web/*_test.go | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | paste -sd '|'))$$" ./web

.PHONY: screenshots
screenshots: ## write every view, light and dark, at three widths, to web/testdata/screens; needs Chromium
	CONVENE_SCREENSHOTS=1 $(GO) test -tags browser -count=1 -run '^TestScreenshots$$' ./web

.PHONY: terminal-screens
terminal-screens: ## write what a terminal shows at 40, 80 and 200 columns to cmd/convene/testdata/screens; needs tmux
	CONVENE_SCREENSHOTS=1 $(GO) test -count=1 -run '^TestTerminalScreens$$' ./cmd/convene

.PHONY: lint
lint: ## golangci-lint, which vets too
	$(GO) run $(GOLANGCI) run ./...

.PHONY: generate
generate: ## rewrite all generated files
	$(GO) generate ./...

.PHONY: dashboard
dashboard: ## build the page that web embeds; needs npm, for its packages
	cd web && npm ci --no-audit --no-fund && npx tsc
	cd internal/webbuild && $(GO) run . ../../web

.PHONY: screencast
screencast: ## record docs/terminal.svg, a run at a terminal; needs tmux
	$(GO) run ./cmd/internal/screencast docs/terminal.svg

.PHONY: verify
verify: ## check formatting, go.mod and the generated files
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@for mod in $$(git ls-files go.mod '*/go.mod' ':!*/repo/go.mod'); do echo "$(GO) mod tidy -diff # $$mod"; (cd $$(dirname $$mod) && $(GO) mod tidy -diff) || exit 1; done
	$(GO) mod verify
	$(GO) generate ./...
	@git diff --exit-code --stat || { echo "generated files differ from their sources: commit what make generate writes"; exit 1; }

# Without a bound each new input is made smaller for up to a minute, thrice FUZZTIME.
.PHONY: fuzz
fuzz: ## fuzz every decoder for FUZZTIME each
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep ^Fuzz); do \
			echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg || exit 1; \
		done; \
	done

.PHONY: bench
bench: build ## what users pay for runs, in whole processes beside a bare loop with short prompts: CPU, memory, wall time, store, prompt tokens
	$(GO) build -o bin/whole ./internal/bench/whole && bin/whole bin/convene

.PHONY: bench-run
bench-run: ## within one process: overhead, critical path and memory of runs and batches, beside a bare loop with the same prompts
	$(GO) test -run '^$$' -bench 'Overhead|Traces|CriticalPath|Memory|Batch|UnevenRows' -benchtime $(BENCHTIME) -timeout 30m ./internal/bench

.PHONY: bench-limits
bench-limits: ## rate limits as a server sees them: 25 minutes
	$(GO) test -run '^$$' -bench Limits -benchtime $(BENCHTIME) -timeout 40m ./internal/bench

.PHONY: bench-conversation
bench-conversation: ## a thread of 10,000 messages: opened cold, from a message or a handoff to its first model request and to the first token that is seen, beside a short thread and a commit
	$(GO) test -run '^$$' -bench '^BenchmarkConversation$$' -benchtime $(BENCHTIME) ./internal/bench

.PHONY: bench-sockets
bench-sockets: ## from the commit to 100 viewers, in one process and across two, beside a bare broadcast
	$(GO) test -run '^$$' -bench '^BenchmarkSockets$$' -benchtime $(BENCHTIME) ./web

.PHONY: bench-page
bench-page: ## first useful paint of the list and of a run, cold and warm, beside /healthz; from an append to its paint; needs Chromium
	$(GO) test -tags browser -run '^$$' -bench '^Benchmark(Page|AppendToPaint)$$' -benchtime $(BENCHTIME) ./web

.PHONY: mcp-everything
mcp-everything: ## runs with the tools of a real MCP server, over both transports, 50 at once, stopped and killed; needs npm, for the server
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	CONVENE_MCP_EVERYTHING=$$dir $(GO) test -count=1 -v -run '^TestEverything' -timeout 10m ./cmd/convene

.PHONY: soak
soak: ## what takes minutes: kill -9 at KILLS random moments, flipped bits, the memory of 100,000 rows
	CONVENE_KILLS=$(KILLS) $(GO) test -count=1 -v -run '^TestKill$$' -timeout 30m ./cmd/convene
	CONVENE_KILLS=100 $(GO) test -count=1 -v -run '^TestKilledAtRandomMoments$$' -timeout 30m ./batch
	CONVENE_SOAK=1 $(GO) test -count=1 -v -run '^TestMemoryIsFlat$$' -timeout 60m ./batch
	CONVENE_SOAK=1 $(GO) test -count=1 -v -run '^TestFlippedBits$$' -timeout 30m ./events/sqlite

.PHONY: soak-conversation
soak-conversation: ## 1,000 random handoffs in one thread, by two processes that die 50 times
	CONVENE_HANDOFFS=1000 CONVENE_RESTARTS=50 $(GO) test -count=1 -v -run '^TestHandoffsAndRestarts$$' -timeout 60m ./runner

.PHONY: examples
examples: ## build and test the modules that embed convene
	cd examples/embedding && $(GO) test ./...
	cd examples/embedding/dashboard && $(GO) test ./...
