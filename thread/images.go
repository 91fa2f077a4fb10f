package thread

import (
	"slices"

	"github.com/convene-run/convene/events"
)

const (
	// maxShownImages bounds the images of a request that models are shown: each is in every
	// request of every agent.
	maxShownImages = 20
	// maxShownBytes bounds one of them: providers refuse more than 5 MB in base64.
	maxShownBytes = 3_500_000
)

// ImageTypes are the media types of images that models take.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// show adds an image that came with the request. Its bytes stay beside the log.
func (r *Run) show(a events.ArtifactCreated) {
	if a.Source != events.SourceFile || !slices.Contains(ImageTypes, a.MediaType) || a.SizeBytes > maxShownBytes || len(r.Images) == maxShownImages {
		return
	}
	part := a.Part()
	part.Type = events.PartImage
	r.Images = append(r.Images, part)
}
