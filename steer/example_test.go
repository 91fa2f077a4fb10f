package steer_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/web"
)

// A dashboard that starts and steers runs.
func Example() {
	store := events.NewMemory()
	r, err := runner.New(runner.Config{Log: store, Models: endpoint.New(endpoint.Config{Default: "sim"})})
	if err != nil {
		log.Fatal(err)
	}
	dashboard, err := web.New(web.Config{Log: store, Runs: steer.New(steer.Config{Runner: r}), Address: "127.0.0.1:8484"})
	if err != nil {
		log.Fatal(err)
	}
	defer dashboard.Close()
	// http.ListenAndServe("127.0.0.1:8484", dashboard) serves it.
	answer := httptest.NewRecorder()
	dashboard.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8484/api/v1/runs", nil))
	fmt.Println(answer.Code)
	fmt.Println(r.Shutdown(context.Background())) // parks the runs that are under way
	// Output:
	// 200
	// <nil>
}
