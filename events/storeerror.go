package events

// StoreError is what went wrong with the file of a log. Its text is for whoever runs the
// program: it has the file's path, and what the system said. Who uses the program from another
// machine is told no more than Told.
type StoreError struct {
	// Kind is what happened, in words that name nothing of this machine; nil where nobody
	// foresaw it.
	Kind error
	// Err is the whole error.
	Err error
}

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap gives the whole error, which wraps Kind.
func (e *StoreError) Unwrap() error { return e.Err }

// Told is the error without the names of files.
func (e *StoreError) Told() string {
	if e.Kind == nil {
		return "the store cannot be used"
	}
	return "the store cannot be used: " + e.Kind.Error()
}
