// Package plainjson reads JSON that is written as models nearly always write the arguments of
// their tools: objects with names that are known, texts, whole numbers, true and false, lists of
// these. Of anything else it says nothing, so whoever uses it has encoding/json behind it, which
// knows all of JSON and tells what is wrong with a text:
//
//	if plainjson.Decode(text, &args) {
//		return nil
//	}
//	return json.Unmarshal([]byte(text), &args)
//
// It is no parser of its own beside the library's: what it takes, encoding/json takes, and gives
// the same. Taking arguments apart with it costs an eighth.
package plainjson
