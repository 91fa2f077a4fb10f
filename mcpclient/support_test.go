package mcpclient_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder notes the Authorization that a server was sent.
func recorder(seen *sync.Map, name string, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(name, r.Header.Get("Authorization"))
		inner.ServeHTTP(w, r)
	})
}

func redirect(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
}

// children gives the processes that have this one as their parent, zombies included.
func children(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("there is no /proc here")
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, there := parentOf(t, pid); there && parent == os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// parentOf reads the parent of a process. There is none where it has ended.
func parentOf(t *testing.T, pid int) (parent int, there bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	_, behind, found := strings.Cut(string(text), ") ")
	require.True(t, found)
	parent, err = strconv.Atoi(strings.Fields(behind)[1])
	require.NoError(t, err)
	return parent, true
}
