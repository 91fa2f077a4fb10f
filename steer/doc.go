// Package steer lets a dashboard start and steer the runs of a runner, and talk in its
// threads. Package web only reads logs; [Runs] is what it calls for everything else.
//
// It keeps no list of runs: the runner knows which ones it drives, including those that
// another part of the program started.
package steer
