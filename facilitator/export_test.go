package facilitator

var Synthesize = synthesize

type Answer = answer
