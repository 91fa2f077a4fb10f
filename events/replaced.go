package events

// KindValuesReplaced is the kind of [ValuesReplaced].
const KindValuesReplaced Kind = "values_replaced"

// ValuesReplaced says what placeholders stand for in what the thread's agents pass on to each
// other: personal data and secrets that a later fact of the same append has no more. The same
// value has the same placeholder throughout the thread.
type ValuesReplaced struct {
	fact
	Values []ReplacedValue `json:"values"`
}

// ReplacedValue is one of them.
type ReplacedValue struct {
	// Placeholder is what texts have in place of Original, such as "[EMAIL_1]".
	Placeholder string `json:"placeholder"`
	// What it is: "email", "phone", "card", "iban", "key", "password", "header", the name of
	// a pattern of the team, or "text" for what a person wrote that only looks like a
	// placeholder.
	What string `json:"kind"`
	// Original is the value. Viewers get it only where they may restore it: see [ForViewers].
	Original string `json:"original"`
}

func (ValuesReplaced) Kind() Kind { return KindValuesReplaced }
