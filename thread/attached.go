package thread

import (
	"slices"

	"github.com/convene-run/convene/events"
)

const (
	// maxShownFiles bounds the files of a request that models are shown: each is in every
	// request of every agent.
	maxShownFiles = 20
	// maxShownBytes bounds one of them: providers refuse more than 5 MB in base64.
	maxShownBytes = 3_500_000
	// maxShownPages bounds a PDF: a page costs a model some 2,000 tokens. The text of longer
	// ones is quoted in the request, and read by pages.
	maxShownPages = 20
	pdfType       = "application/pdf"
)

// ImageTypes are the media types of images that models take.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// show adds an image, or a PDF whose pages could be read, that came with the request. Its
// bytes stay beside the log.
func (r *Run) show(a events.ArtifactCreated) {
	if a.Source != events.SourceFile || a.SizeBytes > maxShownBytes || len(r.Attached) == maxShownFiles {
		return
	}
	part := a.Part()
	switch {
	case slices.Contains(ImageTypes, a.MediaType):
		part.Type = events.PartImage
	case a.MediaType == pdfType && a.Pages > 0 && a.Pages <= maxShownPages:
		part.Type = events.PartDocument
	default:
		return
	}
	r.Attached = append(r.Attached, part)
}
