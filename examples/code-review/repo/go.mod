module parcels.example

go 1.26
