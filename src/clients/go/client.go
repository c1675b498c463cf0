// Package orderpass is the client of the Orderpass interface: orders, customers, menus, loyalty and signed webhooks.
// It needs the standard library only. [New] makes a client; [VerifyWebhook] reads a delivery in the receiver of webhooks.
package orderpass

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Config has either ClientID and ClientSecret, or APIKey. Only URL and these are required.
type Config struct {
	// URL is the address of the installation, without a path: https://api.example
	URL string
	// ClientID and ClientSecret are those of an API client.
	ClientID, ClientSecret string
	// APIKey is the key of one restaurant.
	APIKey string
	// Scopes is a subset of the client's scopes; when it is empty, the token has all of them.
	Scopes []string
	// Restuid is the restaurant of calls that name none, except those of Whoami; needed when the client may use several.
	Restuid string
	// Timeout bounds one attempt, the upload included: by default 35 s, and 155 s for Menu.ImportMenu.
	Timeout time.Duration
	// Retries of one call, by default 3; a negative number means none.
	Retries int
	// Backoff is the first pause, by default 500 ms; each one after it is twice as long, at most 8 s, less a random part.
	Backoff time.Duration
	// RetryAfterMax: a longer Retry-After is not waited for, by default 60 s. The error has it as RetryAfter. As long a call
	// waits for a write of its own that still runs.
	RetryAfterMax time.Duration
	// HTTPClient in place of an own one; redirects are never followed.
	HTTPClient *http.Client
}

// Client has one method for each operation, such as client.Orders.Get. Goroutines may share it.
type Client struct {
	operations
	config Config
	origin string
	http   http.Client
	tokens tokenSource
}

// New checks the configuration; it sends nothing.
func New(config Config) (*Client, error) {
	origin, err := originOf(config.URL)
	if err != nil {
		return nil, err
	}
	hasClient := config.ClientID != "" && config.ClientSecret != ""
	if hasClient == (config.APIKey != "") {
		return nil, errors.New("orderpass: give either ClientID and ClientSecret, or APIKey")
	}
	config.Backoff = cmp.Or(config.Backoff, 500*time.Millisecond)
	config.RetryAfterMax = cmp.Or(config.RetryAfterMax, time.Minute)
	config.Retries = cmp.Or(config.Retries, 3)
	c := &Client{config: config, origin: origin}
	if config.HTTPClient != nil {
		c.http = *config.HTTPClient
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.tokens.fetch = c.fetchToken
	c.operations = operationsOf(c)
	return c, nil
}

// originOf takes https, and http for the own machine: credentials are not sent in the clear.
func originOf(text string) (string, error) {
	at, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	isLocal := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, at.Hostname())
	if at.Host == "" || at.Scheme != "https" && !(at.Scheme == "http" && isLocal) {
		return "", errors.New("orderpass: URL must be https, or http for localhost")
	}
	if at.Path != "" && at.Path != "/" || at.RawQuery != "" || at.Fragment != "" || at.User != nil {
		return "", errors.New("orderpass: URL must have no path, query or credential")
	}
	return at.Scheme + "://" + at.Host, nil
}
