package batch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxFailures bounds the failed rows of a batch: a number, or a share of the rows
// that have ended. The zero value is no bound.
type MaxFailures struct {
	// Count is how many may fail, where Set and Percent is 0.
	Count int
	// Percent is the share that may fail.
	Percent float64
	Set     bool
}

// ParseMaxFailures reads "10" or "2.5%"; "" is no bound.
func ParseMaxFailures(text string) (MaxFailures, error) {
	bad := fmt.Errorf("max-failures %q is neither a number of rows, such as 10, nor a share of them, such as 2.5%%", text)
	if text == "" {
		return MaxFailures{}, nil
	}
	if number, isShare := strings.CutSuffix(text, "%"); isShare {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(percent) || percent <= 0 || percent > 100 {
			return MaxFailures{}, bad
		}
		return MaxFailures{Percent: percent, Set: true}, nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 0 {
		return MaxFailures{}, bad
	}
	return MaxFailures{Count: count, Set: true}, nil
}

func (m MaxFailures) String() string {
	switch {
	case !m.Set:
		return ""
	case m.Percent > 0:
		return strconv.FormatFloat(m.Percent, 'f', -1, 64) + "%"
	}
	return strconv.Itoa(m.Count)
}

// judgedRows is from when on a share is judged: among fewer rows one failure would
// be a large share of them.
const judgedRows = 100

// exceeded reports whether failed of ended rows are too many. total is 0 where
// nobody knows it.
func (m MaxFailures) exceeded(failed, ended, total int) bool {
	if !m.Set {
		return false
	}
	if m.Percent == 0 {
		return failed > m.Count
	}
	least := judgedRows
	if total > 0 && total < least {
		least = total
	}
	return float64(failed) > m.Percent/100*float64(max(ended, least))
}
