module github.com/orderpass/orderpass-go

go 1.24
