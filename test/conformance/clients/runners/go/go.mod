module runner

go 1.24

require github.com/orderpass/orderpass-go v0.0.0

replace github.com/orderpass/orderpass-go => ../../../../../src/clients/go
