// Package tenants says what each tenant may use and how long its data is kept: the file that
// an operator writes, which is read again when it changes. It enforces nothing itself.
//
//	file, err := tenants.Open("tenants.yaml")
//	if err != nil {
//		return err // it says what is wrong, with line and column
//	}
//	acme := file.Of("acme")
//	if acme.RunsAtOnce > 0 && running >= acme.RunsAtOnce {
//		return errors.New("acme has as many runs as it may")
//	}
//
// In the file, what the entry of a tenant does not say is taken from default:
//
//	default: {runs_at_once: 5, retention: {runs_days: 90}}
//	tenants:
//	  acme: {runs_at_once: 20, tokens_per_day: 5000000, dollars_per_day: 50}
package tenants
