package runner

import "github.com/convene-run/convene/team"

// CheckSearch refuses the tool web_search for specialists of a job whose model, or a fallback
// of it, is asked by an API that has no search. A model that is not known is for others to
// refuse. It gives a *[team.FileError].
func CheckSearch(job Job, known Models) error {
	return job.Team.CheckSearch(func(s team.Specialist) string {
		if job.Functions[s.ID] != nil {
			return ""
		}
		route, err := known.Resolve(models(job.Model, s.Model, s.API, s.FallbackModels)...)
		if err != nil {
			return ""
		}
		for _, target := range route {
			if !target.Searches() {
				return target.Endpoint.Name + "/" + target.Model
			}
		}
		return ""
	})
}
