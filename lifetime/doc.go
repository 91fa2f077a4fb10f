// Package lifetime says how long what is in a log stays there: it takes out and erases what is
// of one user, and removes what is older than it may become. It neither decides who may ask for
// that nor when it is done.
//
//	var ann bytes.Buffer
//	if _, err := lifetime.Export(ctx, log, "acme", "ann", true, &ann); err != nil {
//		return err
//	}
//	erased, err := lifetime.Erase(ctx, log, "acme", "ann")
//	if err != nil {
//		return err // a *LiveError names the runs that somebody still drives
//	}
//	fmt.Println(erased.Threads, "threads are gone")
//
// A thread is that of the user who began it, and goes as a whole, with what others said in it
// and the files that no other thread has. What the user said in threads of others stays there.
package lifetime
