// Package access says who asks, and what they may: identities, the table of roles and their
// permissions, and the file of tokens that a server accepts. It neither serves nor stores
// anything else.
//
//	tokens, err := access.Open("tokens.json", access.Builtin())
//	if err != nil {
//		return err // it says what is wrong with the file
//	}
//	who, err := tokens.Identify(ctx, credential)
//	if err != nil {
//		return err // [ErrUnknown] for a credential that lets nobody in
//	}
//	if !who.Allow(access.RunsStart) {
//		return errors.New("not allowed")
//	}
//
// The zero [Identity] may do nothing.
package access
