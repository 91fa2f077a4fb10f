package events

import "time"

// KindDocumentUpdated is the kind of [DocumentUpdated].
const KindDocumentUpdated Kind = "document_updated"

// DocumentUpdated adds one entry to the shared document and may take others out.
type DocumentUpdated struct {
	fact
	// Version counts the changes of the document from 1.
	Version int     `json:"version"`
	Author  AgentID `json:"author"`
	// Content is the text that this change wrote, not the whole document.
	Content           string `json:"content"`
	ChangeDescription string `json:"change_description"`

	Section string  `json:"section"`
	Slot    string  `json:"slot"`
	EntryID EntryID `json:"entry_id"`
	// Replaced are the entries that left the slot with this change; Merged those
	// whose text the content repeats by reference.
	Replaced []EntryID `json:"replaced,omitempty"`
	Merged   []EntryID `json:"merged,omitempty"`
	// Spans say which stretches of Content came from which entry, by reference.
	// They are ordered and do not overlap.
	Spans []Span `json:"spans,omitempty"`
	// Tasks and ModelCall are the sources: the tasks that the author worked on and
	// the model call that wrote the text.
	Tasks     []TaskID    `json:"task_ids,omitempty"`
	ModelCall ModelCallID `json:"model_call_id,omitempty"`
	// Sources are the passages that the author says the text rests on, checked; those of
	// merged entries are with these.
	Sources []Citation `json:"sources,omitempty"`
	// Unsupported is set where the team requires evidence and no source was found.
	Unsupported bool `json:"unsupported,omitempty"`
}

// Span is a stretch of an entry's text, in bytes, that stands for another entry.
type Span struct {
	Start int     `json:"start"`
	End   int     `json:"end"`
	Entry EntryID `json:"entry_id"`
}

// DocumentVersion is one line of the document's history.
type DocumentVersion struct {
	Version int       `json:"version"`
	Author  AgentID   `json:"author"`
	Change  string    `json:"change"`
	Time    time.Time `json:"time"`
}

func (DocumentUpdated) Kind() Kind { return KindDocumentUpdated }
