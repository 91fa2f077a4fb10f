package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm"
)

// maxModelsBytes bounds the list of models; the longest known one has 1 MB.
const maxModelsBytes = 8 << 20

// Models lists the models that the endpoint offers, by their ids. It is the
// cheapest way to see whether the endpoint answers and takes the key.
func (c *Conn) Models(ctx context.Context) ([]string, error) {
	if c.configError != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Provider: c.cfg.Provider, Cause: c.configError}
	}
	to := c.URL("models")
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.FirstByteTimeout, errSilent)
	defer cancel()
	request := (&http.Request{Method: http.MethodGet, URL: to, Host: to.Host, Header: c.header}).WithContext(ctx)
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		e := &llm.Error{Provider: c.cfg.Provider}
		c.connectionError(e, to, err)
		return nil, e
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		e, _ := c.statusError("", to, response)
		return nil, e
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxModelsBytes))
	if err != nil {
		return nil, fmt.Errorf("read models of %s: %w", c.cfg.Provider, err)
	}
	list := gjson.GetBytes(body, "data.#.id")
	if !ValidJSON(body) || !list.IsArray() {
		return nil, &llm.Error{Kind: llm.ErrServer, Provider: c.cfg.Provider, Message: "the list of models is not readable: " + c.message(clip(body))}
	}
	var ids []string
	for _, id := range list.Array() {
		ids = append(ids, id.String())
	}
	return ids, nil
}
