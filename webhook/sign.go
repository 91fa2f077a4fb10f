package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers and the form of secrets and signatures are those of Standard Webhooks 1.0.0:
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"

	secretPrefix                   = "whsec_"
	minSecretBytes, maxSecretBytes = 24, 64
)

// errSecret does not repeat what it was given.
var errSecret = errors.New("a secret is whsec_ and 24 to 64 random bytes in base64; make one with: echo whsec_$(openssl rand -base64 32)")

// parseSecret reads the key that a secret stands for.
func parseSecret(secret string) ([]byte, error) {
	text, prefixed := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !prefixed || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return nil, errSecret
	}
	return key, nil
}

// sign sets the headers that tell the event's id and who sends it.
func sign(header http.Header, keys [][]byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, stamp)
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	header.Set(headerID, id)
	header.Set(headerTimestamp, stamp)
	header.Set(headerSignature, strings.Join(signatures, " "))
}
