package webhook

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The signature is the one that openssl computes over ID.TIMESTAMP.BODY.
func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	key, err := parseSecret("whsec_MfKQ9r8GKYqTwjUPD8ILPZIo2LaLaSw9")
	require.NoError(t, err)
	header := http.Header{}
	sign(header, [][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.Equal(t, "v1,MvVVftOeSkwKAjGaVT/br89XRiuYBPR37HOsuuzyQzQ=", header.Get(headerSignature))
}
