package orderpass

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestRenewal is in the package, since the times of a token cannot be moved from outside.
func TestRenewal(t *testing.T) {
	var fetched atomic.Int32
	answers := make(chan int)
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		if request.URL.Path != tokenPath {
			fmt.Fprint(response, `{"success":true}`)
			return
		}
		number := fetched.Add(1)
		response.WriteHeader(<-answers)
		fmt.Fprintf(response, `{"access_token":"t%d","expires_in":600}`, number)
	}))
	defer server.Close()
	defer close(answers)
	client, err := New(Config{URL: server.URL, ClientID: "opc_1", ClientSecret: "ops_1", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	source := &client.tokens
	set := func(renewIn, endIn time.Duration) {
		source.mu.Lock()
		defer source.mu.Unlock()
		source.current = &token{"old", time.Now().Add(renewIn), time.Now().Add(endIn)}
	}
	// ended waits for the end of the request that runs.
	ended := func() {
		source.mu.Lock()
		running := source.running
		source.mu.Unlock()
		if running != nil {
			<-running.done
		}
	}
	call := func(options ...CallOption) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := client.Whoami.Get(ctx, WhoamiParameters{}, options...)
		return err
	}

	set(-time.Second, time.Minute)
	for range 3 {
		if err := call(); err != nil {
			t.Fatal("a call waited for a renewal while the old token worked:", err)
		}
	}
	answers <- http.StatusServiceUnavailable
	ended()
	if err := call(); err != nil || fetched.Load() != 1 {
		t.Fatal("after a renewal that failed the next one came at once:", err, fetched.Load())
	}

	set(-time.Minute, -time.Second)
	var lost *TransportError
	if err := call(WithTimeout(20 * time.Millisecond)); !errors.As(err, &lost) {
		t.Fatal("the time of a call did not end its wait for a token:", err)
	}
	answers <- http.StatusServiceUnavailable
	ended()
	go func() { answers <- http.StatusOK }()
	if err := call(); err != nil || source.current.value != "t3" {
		t.Fatal("an ended token was not replaced:", err)
	}
}

func TestRefusal(t *testing.T) {
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path != tokenPath {
			fmt.Fprint(response, `{"success":true}`)
			return
		}
		fetched.Add(1)
		response.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(response, `{"error":"invalid_client","code":"INVALID_AUTH"}`)
	}))
	defer server.Close()
	client, err := New(Config{URL: server.URL, ClientID: "opc_1", ClientSecret: "ops_1"})
	if err != nil {
		t.Fatal(err)
	}
	call := func() error {
		_, err := client.Whoami.Get(context.Background(), WhoamiParameters{})
		return err
	}
	for range 3 {
		if err := call(); !HasCode(err, ErrorCodeInvalidAuth) {
			t.Fatal("a refused secret was not the answer:", err)
		}
	}
	if fetched.Load() != 1 {
		t.Fatal("a refused secret was sent again:", fetched.Load())
	}
	client.tokens.current = &token{"old", time.Now().Add(-time.Second), time.Now().Add(time.Minute)}
	if err := call(); err != nil || fetched.Load() != 1 {
		t.Fatal("a token that works was not used, or a refused secret was sent again:", err, fetched.Load())
	}
	client.tokens.current, client.tokens.refusedUntil = nil, time.Now()
	if err := call(); !HasCode(err, ErrorCodeInvalidAuth) || fetched.Load() != 2 {
		t.Fatal("a refusal was remembered for ever:", err, fetched.Load())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestTimes(t *testing.T) {
	var left time.Duration
	transport := roundTrip(func(request *http.Request) (*http.Response, error) {
		endsAt, _ := request.Context().Deadline()
		left = time.Until(endsAt)
		answer := httptest.NewRecorder()
		answer.WriteString(`{"success":true}`)
		return answer.Result(), nil
	})
	timeOf := func(timeout time.Duration, options ...CallOption) time.Duration {
		client, err := New(Config{URL: "https://api.example", APIKey: "opk_1", Timeout: timeout, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Menu.ImportMenu(context.Background(), MenuImportRequest{}, options...); err != nil {
			t.Fatal(err)
		}
		return (left + 2*time.Second).Truncate(5 * time.Second)
	}
	got := []time.Duration{timeOf(0), timeOf(0, WithTimeout(10*time.Second)), timeOf(20 * time.Second)}
	if want := []time.Duration{155 * time.Second, 10 * time.Second, 20 * time.Second}; !slices.Equal(got, want) {
		t.Fatal("times of an attempt:", got)
	}
}
