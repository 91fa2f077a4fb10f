// Package money works out what parcels cost.
package money

// Rate is what a parcel costs by weight, in cents for each kilogram.
const Rate = 129

// Price gives the price in cents of a parcel that weighs so many grams.
func Price(grams int) int {
	return grams / 1000 * Rate
}

// Share splits an amount in cents among some people.
func Share(cents, people int) []int {
	shares := make([]int, people)
	for i := range shares {
		shares[i] = cents / people
	}
	return shares
}
