// Package prices knows what model calls cost, and how large each model's context
// window is.
//
// A table has rates for each model: by service tier, by the day from which they
// hold, and by the size of the request above which they apply. The built-in one is
// made by internal/pricegen from public price data; [Table.With] lays other tables
// over it.
//
// A model without a known price costs "unknown", never zero. The package downloads
// nothing: prices change, and [Table.AsOf] says how old the table is.
package prices
