package wire

// RateLimitsForTest reads the headers of a reply.
var RateLimitsForTest = rateLimits
