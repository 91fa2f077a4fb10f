// Package config reads the settings that apply to every command: the default model,
// providers with address, key and limits, prices, the store. The user's file is where the
// platform keeps such files, the project's is .convene/config.yaml in the working directory
// or a parent. The project's takes precedence.
//
// A project's file may come with a repository that somebody else wrote. So it is used only
// if the user owns it, and whatever could run a command, collect a key or write elsewhere
// has no effect until [Config.Trust] was called for exactly these bytes.
//
//	c, err := config.Load(config.UserDir())
//	if err != nil {
//		return err // config.yaml:3:5: unknown key "base_ulr"; did you mean "base_url"? …
//	}
//	for _, notice := range c.Notices {
//		fmt.Fprintln(os.Stderr, notice)
//	}
//	models := endpoint.New(endpoint.Config{Default: c.Model(), Providers: c.Providers()})
package config
