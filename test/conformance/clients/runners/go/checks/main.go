// Checks of the client for Go that need its own types; prints what it found as JSON. Arguments: address, client id, secret.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/orderpass/orderpass-go"
)

func text(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(written)
}

// tokens starts 40 calls at the same time beside one whose context ends at once.
func tokens(client *orderpass.Client) (succeeded int32, firstCall string) {
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := client.Whoami.Get(ended, orderpass.WhoamiParameters{})
	if transport := (*orderpass.TransportError)(nil); errors.As(err, &transport) && errors.Is(err, context.Canceled) {
		firstCall = "transport"
	}
	var all sync.WaitGroup
	var count atomic.Int32
	for range 40 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := client.Whoami.Get(context.Background(), orderpass.WhoamiParameters{}); err == nil {
				count.Add(1)
			}
		}()
	}
	all.Wait()
	return count.Load(), firstCall
}

func main() {
	config := orderpass.Config{URL: os.Args[1], ClientID: os.Args[2], ClientSecret: os.Args[3]}
	client, err := orderpass.New(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	found := map[string]any{}
	found["succeeded"], found["firstCall"] = tokens(client)

	_, err = client.Whoami.Denial(context.Background(), orderpass.WhoamiDenialParameters{RequestID: "req_moved"})
	if refusal := (*orderpass.Error)(nil); errors.As(err, &refusal) {
		found["moved"] = refusal.Code
	}

	addresses := 0
	for _, address := range []string{"http://api.example", "api.example", "https://api.example/api", "https://u:p@api.example", "ftp://api.example"} {
		if _, err := orderpass.New(orderpass.Config{URL: address, APIKey: "opk_"}); err == nil {
			addresses++
		}
	}
	found["addresses"] = addresses

	counts, texts := []int64{}, []string{}
	for _, digits := range []string{"26.62", "0.08", "-1.05", "0", "10000000.000"} {
		count, err := orderpass.Decimal(digits).Hundredths()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		counts, texts = append(counts, count), append(texts, orderpass.Hundredths(count).String())
	}
	found["hundredths"], found["texts"] = counts, texts

	var priced struct {
		Price orderpass.Decimal `json:"price"`
	}
	_ = json.Unmarshal([]byte(`{"price":8.10}`), &priced)
	found["price"] = text(priced)
	refused := 0
	for _, digits := range []string{"8,1", "1e3", ".5", "--1", "8.10 "} {
		if _, err := orderpass.ParseDecimal(digits); err != nil {
			refused++
		}
	}
	found["refusedDecimals"] = refused

	found["change"] = text(orderpass.CustomerChange{
		UID: "cus_1", Email: orderpass.Value("a@example.com"), LastName: orderpass.Null[string](),
	})
	found["emptyList"] = text(orderpass.ImportedProduct{Options: []orderpass.ImportedOption{}})

	event, err := orderpass.ParseEvent([]byte(`{"event":"order.invented","id":"evt_9","seq":1}`))
	if unknown, isUnknown := event.(*orderpass.UnknownEvent); err == nil && isUnknown {
		found["unknown"] = unknown.Head().Event + " " + unknown.ID
	}

	city := "Firenze"
	there := &orderpass.Order{Delivery: &orderpass.OrderDelivery{Address: &orderpass.DeliveryAddress{City: &city}}}
	found["getters"] = []string{(&orderpass.Order{}).GetDelivery().GetAddress().GetCity(), there.GetDelivery().GetAddress().GetCity()}
	fmt.Println(text(found))
}
