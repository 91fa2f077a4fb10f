package team

import (
	_ "embed"
	"strings"
)

//go:embed template.yaml
var templateFile string

// templateName is the team's name in the template.
const templateName = "my_team"

// Template gives a commented team file to start from, for a team of the given
// name. It is valid as it stands, provided that the name is.
func Template(name string) []byte {
	return []byte(strings.Replace(templateFile, "name: "+templateName, "name: "+name, 1))
}
