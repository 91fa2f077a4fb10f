package team

// Evidence says whether what specialists write must rest on sources.
type Evidence string

// The settings of evidence. Empty is [EvidenceOffered].
const (
	// EvidenceOffered: a specialist that has tools can name sources, which are checked.
	EvidenceOffered Evidence = "offered"
	// EvidenceRequired: an entry without a source that was found is refused once where its
	// author has tools, and then marked as unsupported.
	EvidenceRequired Evidence = "required"
)

func (t *Team) checkEvidence(found *problems) {
	switch t.Evidence {
	case "", EvidenceOffered, EvidenceRequired:
	default:
		found.add("evidence", "%q is no setting of evidence; write required, or offered, which is the default", clip(string(t.Evidence)))
	}
}
