// Runs the steps of a scenario with the client for Go. Methods are called by reflection, with the typed structs of the client.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/orderpass/orderpass-go"
)

type step struct {
	ID        int             `json:"id"`
	Do        string          `json:"do"`
	Client    string          `json:"client"`
	Operation string          `json:"operation"`
	Arguments json.RawMessage `json:"arguments"`
	Options   struct {
		URL                  string          `json:"url"`
		ClientID             string          `json:"clientId"`
		ClientSecret         string          `json:"clientSecret"`
		Scopes               []string        `json:"scopes"`
		APIKey               string          `json:"apiKey"`
		Restuid              string          `json:"restuid"`
		Retries              *int            `json:"retries"`
		BackoffSeconds       float64         `json:"backoffSeconds"`
		RetryAfterMaxSeconds float64         `json:"retryAfterMaxSeconds"`
		TimeoutSeconds       float64         `json:"timeoutSeconds"`
		IdempotencyKey       json.RawMessage `json:"idempotencyKey"`
	} `json:"options"`
	Times   int               `json:"times"`
	Limit   int               `json:"limit"`
	Secrets []string          `json:"secrets"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     *float64          `json:"now"`
}

var clients = map[string]*orderpass.Client{}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func open(s step) error {
	o := s.Options
	retries := 0
	if o.Retries != nil && *o.Retries == 0 {
		retries = -1
	} else if o.Retries != nil {
		retries = *o.Retries
	}
	client, err := orderpass.New(orderpass.Config{
		URL: o.URL, ClientID: o.ClientID, ClientSecret: o.ClientSecret, APIKey: o.APIKey, Scopes: o.Scopes,
		Restuid: o.Restuid, Retries: retries, Backoff: seconds(o.BackoffSeconds),
		RetryAfterMax: seconds(o.RetryAfterMaxSeconds), Timeout: seconds(o.TimeoutSeconds),
	})
	clients[s.Client] = client
	return err
}

// method finds orders.listPage as client.Orders.ListPage, with its request read strictly.
func method(s step) (reflect.Value, []reflect.Value, error) {
	group, name, _ := strings.Cut(s.Operation, ".")
	upper := func(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
	found := reflect.ValueOf(clients[s.Client]).Elem().FieldByName(upper(group)).MethodByName(upper(name))
	if !found.IsValid() {
		return found, nil, fmt.Errorf("no method %s", s.Operation)
	}
	request := reflect.New(found.Type().In(1))
	decoder := json.NewDecoder(bytes.NewReader(s.Arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request.Interface()); err != nil {
		return found, nil, err
	}
	return found, []reflect.Value{reflect.ValueOf(context.Background()), request.Elem()}, nil
}

func call(s step, options ...orderpass.CallOption) (any, error) {
	found, arguments, err := method(s)
	if err != nil {
		return nil, err
	}
	for _, option := range options {
		arguments = append(arguments, reflect.ValueOf(option))
	}
	results := found.Call(arguments)
	err, _ = results[len(results)-1].Interface().(error)
	if len(results) == 1 {
		return nil, err
	}
	return results[0].Interface(), err
}

func iterate(s step) (any, error) {
	found, arguments, err := method(s)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for item, failed := range found.Call(arguments)[0].Seq2() {
		if !failed.IsNil() {
			return nil, failed.Interface().(error)
		}
		items = append(items, item.Interface())
		if len(items) == s.Limit {
			break
		}
	}
	return items, nil
}

func parallel(s step) (any, error) {
	values, failures := make([]any, s.Times), make([]error, s.Times)
	var all sync.WaitGroup
	for i := range s.Times {
		all.Add(1)
		go func() {
			defer all.Done()
			values[i], failures[i] = call(s)
		}()
	}
	all.Wait()
	return values, errors.Join(failures...)
}

func entityOf(event orderpass.Event) string {
	switch e := event.(type) {
	case *orderpass.CustomerChangedEvent:
		if e.Customer.Customer != nil {
			return e.Customer.Customer.UID
		}
		return e.Customer.RemovedCustomer.UID
	case *orderpass.OrderNewEvent:
		return e.Order.UID
	case *orderpass.OrderCountdownStartedEvent:
		return e.Order.UID
	case *orderpass.OrderTimeoutEvent:
		return e.Order.UID
	case *orderpass.OrderConfirmedEvent:
		return e.Order.UID
	case *orderpass.OrderClosedEvent:
		return e.Order.UID
	case *orderpass.OrderCancelledEvent:
		return e.Order.UID
	case *orderpass.LoyaltylogCreatedEvent:
		return e.Loyaltylog.UID
	case *orderpass.MenuChangedEvent:
		return strconv.FormatInt(e.Menu.Version, 10)
	default:
		return ""
	}
}

// linesOf a new order; nil in a body that was too long.
func linesOf(event orderpass.Event) *int {
	e, isNew := event.(*orderpass.OrderNewEvent)
	if !isNew || e.Order.Details == nil {
		return nil
	}
	count := len(e.Order.Details)
	return &count
}

func verify(s step) (any, error) {
	header := http.Header{}
	for name, value := range s.Headers {
		header.Set(name, value)
	}
	webhook := orderpass.Webhook{Secrets: s.Secrets}
	if s.Now != nil {
		webhook.Now = func() time.Time { return time.Unix(int64(*s.Now), 0) }
	}
	event, err := webhook.Verify(header, []byte(s.Body))
	if err != nil {
		return nil, err
	}
	head := event.Head()
	return map[string]any{
		"event": head.Event, "entity": entityOf(event), "lines": linesOf(event), "isTest": head.Test,
	}, nil
}

func run(s step) (answer map[string]any, err error) {
	var value any
	switch s.Do {
	case "open":
		return map[string]any{}, open(s)
	case "call":
		var info orderpass.AnswerInfo
		options := []orderpass.CallOption{orderpass.OnAnswer(func(given orderpass.AnswerInfo) { info = given })}
		if len(s.Options.IdempotencyKey) > 0 {
			var key string
			// null leaves it empty.
			_ = json.Unmarshal(s.Options.IdempotencyKey, &key)
			options = append(options, orderpass.WithIdempotencyKey(key))
		}
		if s.Options.TimeoutSeconds > 0 {
			options = append(options, orderpass.WithTimeout(seconds(s.Options.TimeoutSeconds)))
		}
		value, err = call(s, options...)
		return map[string]any{"value": value, "info": map[string]any{
			"status": info.Status, "requestId": info.RequestID, "replayed": info.Replayed, "attempts": info.Attempts,
		}}, err
	case "iterate":
		value, err = iterate(s)
	case "parallel":
		value, err = parallel(s)
	case "verify":
		value, err = verify(s)
	default:
		err = fmt.Errorf("no step %s", s.Do)
	}
	return map[string]any{"value": value}, err
}

func describe(err error) map[string]any {
	var refusal *orderpass.Error
	if errors.As(err, &refusal) {
		scopes, details := refusal.MissingScopes, refusal.Errors
		if scopes == nil {
			scopes = []string{}
		}
		if details == nil {
			details = []orderpass.ErrorDetail{}
		}
		described := map[string]any{
			"kind": "api", "code": refusal.Code, "status": refusal.Status, "requestId": refusal.RequestID,
			"missingScopes": scopes, "errors": details, "retryAfter": nil, "last": describeLast(refusal.Last),
		}
		if refusal.RetryAfter > 0 {
			described["retryAfter"] = refusal.RetryAfter.Seconds()
		}
		return described
	}
	var last any
	kind := "other"
	if transport := (*orderpass.TransportError)(nil); errors.As(err, &transport) {
		kind, last = "transport", describeLast(transport.Last)
	} else if webhook := (*orderpass.WebhookError)(nil); errors.As(err, &webhook) {
		kind = "webhook"
	}
	return map[string]any{"kind": kind, "message": err.Error(), "last": last}
}

func describeLast(err error) any {
	if err == nil {
		return nil
	}
	return describe(err)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer, err := run(s)
		if err != nil {
			answer = map[string]any{"error": describe(err)}
		}
		answer["id"] = s.ID
		text, err := json.Marshal(answer)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(text))
	}
}
