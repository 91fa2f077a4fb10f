package fill

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxRounds bounds how often a property that was chosen may ask for further schemas.
const maxRounds = 8

// object gives an object that fits the goals, as far as that can be seen from here.
func (b *build) object() (any, bool) {
	var names []string
	for range maxRounds {
		names = b.names()
		before := len(b.goals)
		for _, s := range b.goals {
			for _, name := range names {
				if !b.expand([]*jsonschema.Schema{s.DependentSchemas[name], s.DependencySchemas[name]}) {
					return nil, false
				}
			}
		}
		if len(b.goals) == before {
			break
		}
	}
	least, most := 0, math.MaxInt
	required := b.required()
	for _, s := range b.goals {
		least, most = atLeast(least, s.MinProperties), atMost(most, s.MaxProperties)
	}
	object := map[string]any{}
	for _, name := range names {
		must := slices.Contains(required, name)
		if !must && len(object) >= most {
			continue
		}
		value, ok := b.filler.value(b.propertyGoals(name), b.depth+1, b.variant)
		if !ok && must {
			return nil, false
		}
		if ok {
			object[name] = value
		}
	}
	if b.try > 1 && b.dice.IntN(3) == 0 {
		least = max(least, min(len(object)+1, most)) // there may be a goal that wants one more
	}
	return object, b.addUnnamed(object, least) && len(object) <= most
}

// names are the properties to fill: first all that there are, then only what is
// required, then any. Those that are required come first.
func (b *build) names() []string {
	names := b.required()
	for _, s := range b.goals {
		for _, name := range sortedKeys(s.Properties) {
			wanted := b.try == 0 || b.try > 1 && b.dice.IntN(2) == 0
			if wanted && !slices.Contains(names, name) && b.mayBeNamed(name) {
				names = append(names, name)
			}
		}
	}
	return b.withDependents(names)
}

func (b *build) required() []string {
	var names []string
	for _, s := range b.goals {
		for _, name := range s.Required {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return b.withDependents(names)
}

// withDependents adds the properties that others of them require.
func (b *build) withDependents(names []string) []string {
	for i := 0; i < len(names); i++ {
		for _, s := range b.goals {
			for _, name := range append(slices.Clone(s.DependentRequired[names[i]]), s.DependencyStrings[names[i]]...) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// mayBeNamed reports whether an object may have a property of that name.
func (b *build) mayBeNamed(name string) bool {
	for _, s := range b.goals {
		if s.PropertyNames != nil && !b.fits(name, []*jsonschema.Schema{s.PropertyNames}) {
			return false
		}
	}
	return true
}

// addUnnamed adds properties that the goals do not name until there are enough.
func (b *build) addUnnamed(object map[string]any, least int) bool {
	if least > maxItems {
		return false
	}
	for n := 0; len(object) < least; n++ {
		if n > least+maxTries {
			return false
		}
		name, ok := b.newName(n)
		if _, taken := object[name]; !ok || taken || !b.mayBeNamed(name) {
			continue
		}
		if value, ok := b.filler.value(b.propertyGoals(name), b.depth+1, n); ok {
			object[name] = value
		}
	}
	return true
}

// newName makes the nth name that a pattern or the schema of names allows.
func (b *build) newName(n int) (string, bool) {
	var patterns []string
	var naming []*jsonschema.Schema
	for _, s := range b.goals {
		patterns = append(patterns, sortedKeys(s.PatternProperties)...)
		if s.PropertyNames != nil {
			naming = append(naming, s.PropertyNames)
		}
		for _, name := range sortedKeys(s.Properties) {
			if n == 0 {
				return name, true
			}
			n--
		}
	}
	if len(patterns) > 0 && n%2 == 0 {
		return b.match(patterns[n/2%len(patterns)], n)
	}
	if len(naming) == 0 {
		return fmt.Sprintf("more_%d", n+1), true
	}
	name, ok := b.filler.value(append(naming, &jsonschema.Schema{Type: "string"}), b.depth+1, n)
	text, isText := name.(string)
	return text, ok && isText
}

// propertyGoals are the schemas that hold for a property.
func (b *build) propertyGoals(name string) []*jsonschema.Schema {
	var goals, rest []*jsonschema.Schema
	for _, s := range b.goals {
		before := len(goals)
		if p := s.Properties[name]; p != nil {
			goals = append(goals, p)
		}
		for _, pattern := range sortedKeys(s.PatternProperties) {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
				goals = append(goals, s.PatternProperties[pattern])
			}
		}
		if len(goals) == before && s.AdditionalProperties != nil {
			goals = append(goals, s.AdditionalProperties)
		}
		if s.UnevaluatedProperties != nil {
			rest = append(rest, s.UnevaluatedProperties)
		}
	}
	if len(goals) == 0 {
		return rest
	}
	return goals
}

func sortedKeys(m map[string]*jsonschema.Schema) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
