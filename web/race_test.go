//go:build race

package web_test

// raceDetector says that the tests run with the race detector.
const raceDetector = true
