package batch

// OnSync has seen called whenever the output is made durable, before it is.
func (f *FileBatch) OnSync(seen func()) {
	sync := f.sync
	f.sync = func() error {
		seen()
		return sync()
	}
}
