// Package files keeps a batch in files. It reads rows of JSONL, CSV or plain lines
// ([Input]), writes outputs in the order of the rows ([Lines]) and reads them again
// ([Repair]), and has the directory next to the output ([Dir]) with the [Manifest] that
// makes a batch resumable. It knows nothing of runs, and keeps no more than a bit per
// row in memory: everything larger is in scratch files of that directory.
package files
