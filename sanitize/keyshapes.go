package sanitize

// charset is what the part behind a prefix is made of.
type charset int

const (
	alnum    charset = iota // letters and digits
	word                    // those, - and _
	dotted                  // those and dots
	hex                     // lower-case
	upper                   // upper-case letters and digits
	base64ed                // letters, digits, +, / and =
)

// shapes are the keys and tokens that begin with a prefix of their own, as those who issue
// them write. What stands behind the prefix has min to max characters; max 0 is any number.
// Longer prefixes stand first.
var shapes = []struct {
	prefix   string
	of       charset
	min, max int
}{
	{"sk-ant-", word, 24, 0},           // Anthropic
	{"sk-proj-", word, 24, 0},          // OpenAI
	{"sk-svcacct-", word, 24, 0},       //
	{"sk-admin-", word, 24, 0},         //
	{"sk-or-v1-", hex, 32, 0},          // OpenRouter
	{"sk-lf-", word, 24, 0},            // Langfuse
	{"sk-", word, 20, 0},               // OpenAI, DeepSeek and others with its API
	{"sk_live_", alnum, 16, 0},         // Stripe
	{"sk_test_", alnum, 16, 0},         //
	{"rk_live_", alnum, 16, 0},         //
	{"rk_test_", alnum, 16, 0},         //
	{"whsec_", base64ed, 24, 0},        // Stripe, Standard Webhooks
	{"AKIA", upper, 16, 16},            // AWS
	{"ASIA", upper, 16, 16},            //
	{"ABIA", upper, 16, 16},            //
	{"ACCA", upper, 16, 16},            //
	{"cvn_", word, 37, 37},             // convene
	{"ghp_", alnum, 36, 0},             // GitHub
	{"gho_", alnum, 36, 0},             //
	{"ghu_", alnum, 36, 0},             //
	{"ghs_", alnum, 36, 0},             //
	{"ghr_", alnum, 36, 0},             //
	{"github_pat_", word, 50, 0},       //
	{"glpat-", word, 20, 0},            // GitLab
	{"gldt-", word, 20, 0},             //
	{"glrt-", word, 20, 0},             //
	{"glcbt-", word, 20, 0},            //
	{"xoxb-", word, 20, 0},             // Slack
	{"xoxp-", word, 20, 0},             //
	{"xoxa-", word, 20, 0},             //
	{"xoxe-", word, 20, 0},             //
	{"xoxr-", word, 20, 0},             //
	{"xoxs-", word, 20, 0},             //
	{"xoxo-", word, 20, 0},             //
	{"xapp-", word, 20, 0},             //
	{"AIza", word, 35, 35},             // Google
	{"GOCSPX-", word, 20, 0},           //
	{"ya29.", dotted, 20, 0},           //
	{"npm_", alnum, 36, 36},            // npm
	{"pypi-", word, 50, 0},             // PyPI
	{"hf_", alnum, 30, 0},              // Hugging Face
	{"SG.", dotted, 60, 70},            // SendGrid
	{"shpat_", hex, 32, 32},            // Shopify
	{"shpca_", hex, 32, 32},            //
	{"shppa_", hex, 32, 32},            //
	{"shpss_", hex, 32, 32},            //
	{"dop_v1_", hex, 64, 64},           // DigitalOcean
	{"doo_v1_", hex, 64, 64},           //
	{"dapi", hex, 32, 32},              // Databricks
	{"gsk_", alnum, 40, 0},             // Groq
	{"xai-", alnum, 40, 0},             // xAI
	{"r8_", alnum, 30, 0},              // Replicate
	{"pplx-", alnum, 30, 0},            // Perplexity
	{"tvly-", word, 20, 0},             // Tavily
	{"nvapi-", word, 40, 0},            // NVIDIA
	{"hvs.", word, 20, 0},              // HashiCorp Vault
	{"hvb.", word, 20, 0},              //
	{"dp.st.", dotted, 30, 0},          // Doppler
	{"dp.pt.", dotted, 30, 0},          //
	{"lin_api_", alnum, 30, 0},         // Linear
	{"ntn_", alnum, 30, 0},             // Notion
	{"sbp_", hex, 40, 40},              // Supabase
	{"figd_", word, 30, 0},             // Figma
	{"pscale_tkn_", word, 30, 0},       // PlanetScale
	{"PMAK-", word, 40, 0},             // Postman
	{"NRAK-", upper, 20, 0},            // New Relic
	{"ATATT3", word, 30, 0},            // Atlassian
	{"glsa_", word, 30, 0},             // Grafana
	{"sntrys_", word, 30, 0},           // Sentry
	{"dckr_pat_", word, 20, 0},         // Docker
	{"tskey-", word, 20, 0},            // Tailscale
	{"AGE-SECRET-KEY-1", upper, 50, 0}, // age
}

// holds says whether the charset has the byte.
func (c charset) holds(b byte) bool {
	switch c {
	case hex:
		return isDigit(b) || b >= 'a' && b <= 'f'
	case upper:
		return isDigit(b) || isUpper(b)
	case alnum:
		return isAlnum(b)
	case base64ed:
		return isAlnum(b) || b == '+' || b == '/' || b == '='
	case dotted:
		return isAlnum(b) || b == '_' || b == '-' || b == '.'
	}
	return isAlnum(b) || b == '_' || b == '-'
}
