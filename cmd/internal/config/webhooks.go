package config

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/webhook"
)

// webhookEntry is a receiver of events.
type webhookEntry struct {
	URL           string            `json:"url" jsonschema:"Address that gets a POST for each event. It begins with https://, or with http:// where private_host names its host."`
	SecretEnv     string            `json:"secret_env,omitempty" jsonschema:"Name of the environment variable that holds the secret: whsec_ and 24 to 64 random bytes in base64. Several, with spaces between, all sign."`
	SecretCommand string            `json:"secret_command,omitempty" jsonschema:"Command that prints the secret, for the shell, where secret_env is not set."`
	Kinds         []events.Kind     `json:"kinds,omitempty" jsonschema:"Kinds of events that are sent. Defaults to handoffs, phases, requests for input, denied permissions and ends of runs."`
	Tenants       []events.TenantID `json:"tenants,omitempty" jsonschema:"Tenants whose events are sent. Defaults to all."`
	PrivateHost   string            `json:"private_host,omitempty" jsonschema:"The host of url once more, if it may be at an address that is not public, such as 127.0.0.1. Other such addresses are refused."`
	Unsanitized   bool              `json:"unsanitized,omitempty" jsonschema:"Sends events as they are. Without it e-mail addresses, telephone, card and account numbers, keys, passwords and credentials in headers are masked."`
}

func (w *webhookEntry) receiver() webhook.Receiver {
	return webhook.Receiver{URL: w.URL, Kinds: w.Kinds, Tenants: w.Tenants, PrivateHost: w.PrivateHost, Unsanitized: w.Unsanitized}
}

func (w *webhookEntry) check(file *team.YAML, path string) {
	var wrong *webhook.FieldError
	if err := w.receiver().Check(); errors.As(err, &wrong) {
		file.Problem(path+"."+wrong.Field, "%s", wrong.Err)
	}
	switch {
	case w.SecretEnv != "" && w.SecretCommand != "" || w.SecretEnv == "" && strings.TrimSpace(w.SecretCommand) == "":
		file.Problem(path, "a webhook has either secret_env, the name of a variable with its secret, or secret_command, which prints it")
	case w.SecretEnv != "" && !variableName.MatchString(w.SecretEnv):
		// Not repeated: it may be the secret itself.
		file.Problem(path+".secret_env", "secret_env is the name of an environment variable, such as HOOK_SECRET, not the secret itself")
	}
}

// values adds what the entry says to all.
func (w *webhookEntry) values(path string, all map[string]string) {
	all[path+"url"], all[path+"secret_env"], all[path+"secret_command"], all[path+"private_host"] = w.URL, w.SecretEnv, w.SecretCommand, w.PrivateHost
	if w.Unsanitized {
		all[path+"unsanitized"] = "true"
	}
	all[path+"kinds"], all[path+"tenants"] = joined(w.Kinds), joined(w.Tenants)
}

// joined lists names in a line.
func joined[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// Webhooks are the receivers of events, with their secrets: from variables, which env reads,
// and from commands. Those of both files count; of one URL the project's does.
func (c *Config) Webhooks(ctx context.Context, env func(string) string) (all []webhook.Receiver, err error) {
	known := map[string]bool{}
	for _, f := range c.layers() {
		for i, w := range f.counts.Webhooks {
			if known[w.URL] && f.from == User {
				continue
			}
			known[w.URL] = true
			r := w.receiver()
			where := fmt.Sprintf("webhooks[%d]", i)
			if r.Secrets, err = w.secrets(ctx, f, where, env); err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func (w *webhookEntry) secrets(ctx context.Context, f *file, where string, env func(string) string) ([]string, error) {
	if w.SecretEnv == "" {
		text, err := keyOf(ctx, w.SecretCommand, f.base, fmt.Sprintf("%s.secret_command in %s", where, f.path))
		return strings.Fields(text), err
	}
	text := env(w.SecretEnv)
	if text == "" {
		return nil, fmt.Errorf("%s.secret_env in %s: the variable %s is not set", where, f.path, w.SecretEnv)
	}
	return strings.Fields(text), nil
}
