package config

import "time"

// consentFile lists what the user has consented to, in the folder of the user's file, by its
// hash. Whoever takes one out takes it back.
const consentFile = "consents.json"

// Consent is what the user has allowed teams to do.
type Consent struct {
	// Team is the file that asked for it, Asks what it asked for.
	Team  string    `json:"team"`
	Asks  []string  `json:"asks"`
	Given time.Time `json:"given"`
}

// Consented reports whether the user has consented to what has the hash. A list that cannot
// be read, as one that others can write to, holds nothing, and is an error.
func (c *Config) Consented(hash string) (bool, error) {
	if c.dir == "" {
		return false, ErrNoHome
	}
	list, err := readList[Consent](c.dir, consentFile, "to allow teams nothing")
	_, given := list[hash]
	return given, err
}

// Allow records that the user has consented to what has the hash.
func (c *Config) Allow(hash string, consent Consent) error {
	if c.dir == "" {
		return ErrNoHome
	}
	list, err := readList[Consent](c.dir, consentFile, "to allow teams nothing")
	if err != nil {
		return err
	}
	list[hash] = consent
	return writeList(c.dir, consentFile, list)
}
