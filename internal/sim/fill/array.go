package fill

import "github.com/google/jsonschema-go/jsonschema"

// array gives a list that fits the goals, as far as that can be seen from here.
func (b *build) array() (any, bool) {
	least, most := 0, maxItems
	prefix := 0
	open := true // whether nothing says what an item is
	var contained []*jsonschema.Schema
	for _, s := range b.goals {
		least, most = atLeast(least, s.MinItems), atMost(most, s.MaxItems)
		prefix = max(prefix, len(s.PrefixItems), len(s.ItemsArray))
		open = open && s.Items == nil && s.PrefixItems == nil && s.ItemsArray == nil
		if s.Contains != nil {
			needed := 1
			if s.MinContains != nil {
				needed = *s.MinContains
			}
			for range min(needed, maxItems) {
				contained = append(contained, s.Contains)
			}
		}
	}
	n := b.length(max(least, len(contained)), prefix, open)
	if n > most {
		n = most
	}
	if n < least || n < len(contained) {
		return nil, false
	}
	return b.items(n, least, contained)
}

// length chooses how many items there are: first some, then as few as may be, then any.
func (b *build) length(least, prefix int, open bool) int {
	switch {
	case b.try == 0 && open:
		return least
	case b.try == 0:
		return max(least, prefix, 1)
	case b.try == 1:
		return least
	}
	return least + b.dice.IntN(prefix+len(b.goals)+2)
}

func (b *build) items(n, least int, contained []*jsonschema.Schema) (any, bool) {
	list := []any{}
	for i := range n {
		goals := b.itemGoals(i)
		// What must be contained stands in front or at the end, by turns.
		at := i
		if b.try%2 == 1 {
			at = n - 1 - i
		}
		if at < len(contained) {
			goals = append(goals, contained[at])
		}
		item, ok := b.filler.value(goals, b.depth+1, b.variant+i)
		if !ok && i >= least && len(contained) == 0 {
			break
		}
		if !ok {
			return nil, false
		}
		list = append(list, item)
	}
	return list, true
}

// itemGoals are the schemas that hold for the item at a place.
func (b *build) itemGoals(i int) []*jsonschema.Schema {
	var goals []*jsonschema.Schema
	var rest []*jsonschema.Schema
	for _, s := range b.goals {
		switch {
		case i < len(s.PrefixItems):
			goals = append(goals, s.PrefixItems[i])
		case i < len(s.ItemsArray):
			goals = append(goals, s.ItemsArray[i])
		case s.ItemsArray != nil && s.AdditionalItems != nil:
			goals = append(goals, s.AdditionalItems)
		case s.Items != nil:
			goals = append(goals, s.Items)
		}
		if s.UnevaluatedItems != nil {
			rest = append(rest, s.UnevaluatedItems)
		}
	}
	if len(goals) == 0 {
		return rest
	}
	return goals
}

func atLeast(bound int, asked *int) int {
	if asked != nil && *asked > bound {
		return *asked
	}
	return bound
}

func atMost(bound int, asked *int) int {
	if asked != nil && *asked < bound {
		return *asked
	}
	return bound
}
