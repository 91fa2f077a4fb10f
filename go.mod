module github.com/convene-run/convene

go 1.26
