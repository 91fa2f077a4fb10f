package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
)

// Token is what a file knows of a token. The token itself is shown once, when it is made.
type Token struct {
	// ID names the token. It is part of the token and no secret.
	ID string `json:"id"`
	// SHA256 is the hash of the token, in hex: it has 128 random bits, so that nothing slower
	// is needed.
	SHA256  string          `json:"sha256,omitempty"`
	Tenant  events.TenantID `json:"tenant"`
	User    string          `json:"user,omitempty"`
	Roles   []string        `json:"roles"`
	Created time.Time       `json:"created"`
	// Expires is when the token ends; nil for never.
	Expires *time.Time `json:"expires,omitempty"`
	// Note is the operator's own.
	Note string `json:"note,omitempty"`
}

// tokenPrefix lets people, and programs that look for secrets, recognize a token.
const tokenPrefix = "cvn_"

// MaxTokens bounds a file: it is read whole whenever it has changed.
const MaxTokens = 10_000

// Tokens is the [Keeper] of a file. What changes in the file counts from the next look on: a
// token that was revoked lets nobody in any more.
type Tokens struct {
	path  string
	roles Roles

	mu    sync.Mutex // guards what follows
	seen  fs.FileInfo
	known map[string]held
	err   error
}

// held is a token of the file, with whom it lets in.
type held struct {
	hash    [sha256.Size]byte
	expires time.Time
	who     Identity
}

// Open reads a file of tokens; one that is not there is empty. Nobody but its owner may be
// able to read or write it.
func Open(path string, roles Roles) (*Tokens, error) {
	t := &Tokens{path: path, roles: roles}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	return t, t.err
}

// Identify implements [Keeper]. The error of a file that became unreadable is not
// [ErrUnknown]: until it is mended the file lets nobody in.
func (t *Tokens) Identify(_ context.Context, credential string) (Identity, error) {
	rest, ours := strings.CutPrefix(credential, tokenPrefix)
	id, _, found := strings.Cut(rest, "_")
	if !ours || !found {
		return Identity{}, ErrUnknown
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	if t.err != nil {
		return Identity{}, t.err
	}
	token := t.known[id] // its hash is of no token where there is none
	given := sha256.Sum256([]byte(credential))
	if subtle.ConstantTimeCompare(given[:], token.hash[:]) != 1 || !token.expires.IsZero() && !time.Now().Before(token.expires) {
		return Identity{}, ErrUnknown
	}
	return token.who, nil
}

// look reads the file again if it has changed; t.mu is held.
func (t *Tokens) look() {
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.seen, t.known, t.err = nil, nil, nil
		return
	}
	if err != nil {
		t.seen, t.known, t.err = nil, nil, err
		return
	}
	if t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) && info.Size() == t.seen.Size() && info.Mode() == t.seen.Mode() {
		return
	}
	list, err := readTokens(t.path)
	t.seen, t.known, t.err = info, map[string]held{}, err
	for _, token := range list {
		one, err := token.held(t.roles)
		if err != nil {
			t.err = errors.Join(t.err, fmt.Errorf("%s: token %.40q: %w", t.path, token.ID, err))
		}
		t.known[token.ID] = one
	}
}

// held gives whom the token lets in.
func (t *Token) held(roles Roles) (h held, err error) {
	sum, err := hex.DecodeString(t.SHA256)
	if err != nil || len(sum) != sha256.Size || t.ID == "" {
		return h, errors.New("it has no hash of a token: make it again with convene token add")
	}
	copy(h.hash[:], sum)
	if len(t.Roles) == 0 {
		return h, errors.New("it has no role")
	}
	if h.who, err = roles.Identity(t.Tenant, t.User, t.Roles); err != nil {
		return h, err
	}
	h.who.Token = t.ID
	if t.Expires != nil {
		h.expires = *t.Expires
		h.who.Expires = h.expires
	}
	return h, nil
}

// List gives the tokens of a file, the oldest first.
func List(path string) ([]Token, error) {
	return readTokens(path)
}

// Add makes a token for somebody and adds it to the file, which is made if there is none. It
// gives the token, which nobody can see again.
func Add(path string, roles Roles, who Token) (credential string, added Token, err error) {
	who.ID = strings.ToLower(rand.Text()[:idChars])
	credential = tokenPrefix + who.ID + "_" + rand.Text()
	sum := sha256.Sum256([]byte(credential))
	who.SHA256, who.Created = hex.EncodeToString(sum[:]), time.Now().UTC().Truncate(time.Second)
	if _, err := who.held(roles); err != nil {
		return "", Token{}, err
	}
	err = change(path, func(list []Token) ([]Token, error) {
		if len(list) >= MaxTokens {
			return nil, fmt.Errorf("%s has %d tokens, and no more fit: revoke some", path, len(list))
		}
		return append(list, who), nil
	})
	return credential, who, err
}

// idChars is how much of a random text is an id: enough that no two are alike.
const idChars = 10

// Revoke takes a token out of the file, by its id. One that is not there is an error.
func Revoke(path, id string) (revoked Token, err error) {
	err = change(path, func(list []Token) ([]Token, error) {
		at := slices.IndexFunc(list, func(t Token) bool { return t.ID == id })
		if at < 0 {
			return nil, fmt.Errorf("%s has no token %.40q: convene token list shows the ids", path, id)
		}
		revoked = list[at]
		return slices.Delete(list, at, at+1), nil
	})
	return revoked, err
}

// TokenID gives the id in a token of ours, whether or not there is such a token; "" in any other
// text.
func TokenID(credential string) string {
	rest, ours := strings.CutPrefix(credential, tokenPrefix)
	id, _, found := strings.Cut(rest, "_")
	if !ours || !found || len(id) != idChars || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return ""
	}
	return id
}
