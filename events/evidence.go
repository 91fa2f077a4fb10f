package events

// KindEvidenceRefused is the kind of [EvidenceRefused].
const KindEvidenceRefused Kind = "evidence_refused"

// Source says where a text comes from: a page of the web, a file, an artifact, or a tool
// whose result names nothing further. One of the four is set.
type Source struct {
	URL      string     `json:"url,omitempty"`
	File     string     `json:"file,omitempty"`
	Artifact ArtifactID `json:"artifact,omitempty"`
	// Tool is the name of the tool whose result is the source itself.
	Tool string `json:"tool,omitempty"`
	// Page is the page of a file or an artifact, from 1; 0 where it has no pages.
	Page  int    `json:"page,omitempty"`
	Title string `json:"title,omitempty"`
}

// Citation is a passage of a source that an entry of the document rests on.
type Citation struct {
	Source
	// Quote is the passage as the author gave it.
	Quote string `json:"quote"`
	// Found says that Quote stands in what the source returned to the author in the same
	// dispatch, whitespace and case aside. Otherwise Source is what the author claimed.
	Found bool `json:"found"`
	// SHA256 is of the text that Quote was found in, in hexadecimal digits.
	SHA256 string `json:"sha256,omitempty"`
	// Call is the tool call that returned the text; nil where Quote was not found.
	Call *CallPlace `json:"call,omitempty"`
}

// CallPlace names a tool call: its model call, and its index there from 0.
type CallPlace struct {
	ModelCall ModelCallID `json:"model_call_id"`
	Index     int         `json:"index"`
}

// EvidenceRefusal says why an entry was refused for its sources.
type EvidenceRefusal string

// The reasons of [EvidenceRefused].
const (
	// EvidenceNotFound: a quote does not stand in the source that it is said to be from.
	EvidenceNotFound EvidenceRefusal = "not_found"
	// EvidenceMissing: the team requires evidence, and the entry named no source.
	EvidenceMissing EvidenceRefusal = "missing"
)

// EvidenceRefused says that an entry was not written because of its sources. The next
// entry of the dispatch at this place is written either way, and marked if need be.
type EvidenceRefused struct {
	fact
	Author  AgentID         `json:"author"`
	Section string          `json:"section"`
	Slot    string          `json:"slot"`
	Reason  EvidenceRefusal `json:"reason"`
	// Sources are those that the entry named.
	Sources   []Citation  `json:"sources,omitempty"`
	ModelCall ModelCallID `json:"model_call_id"`
}

func (EvidenceRefused) Kind() Kind { return KindEvidenceRefused }
