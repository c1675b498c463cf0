// What golang.org/x/oauth2 gets from a gateway, as JSON by the name of the way. The argument is a file of JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

type pair struct{ ID, Cert, Key string }

type given struct {
	URL, Read, CA, ID, Secret string
	Bound, Other              pair
}

type metadata struct {
	TokenEndpoint string `json:"token_endpoint"`
	Aliases       struct {
		TokenEndpoint string `json:"token_endpoint"`
	} `json:"mtls_endpoint_aliases"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// clientWith trusts the authority of the gateway and shows the certificates.
func clientWith(ca string, pairs ...pair) *http.Client {
	pem, err := os.ReadFile(ca)
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: pool}
	for _, each := range pairs {
		certificate, err := tls.LoadX509KeyPair(each.Cert, each.Key)
		check(err)
		config.Certificates = append(config.Certificates, certificate)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}

func statusOf(client *http.Client, url, token string) any {
	request, err := http.NewRequest("GET", url, nil)
	check(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return refused.ErrorCode
	}
	check(err)
	defer answer.Body.Close()
	return answer.StatusCode
}

func main() {
	var with given
	text, err := os.ReadFile(os.Args[1])
	check(err)
	check(json.Unmarshal(text, &with))
	plain := clientWith(with.CA)
	answer, err := plain.Get(with.URL + "/.well-known/oauth-authorization-server")
	check(err)
	var meta metadata
	check(json.NewDecoder(answer.Body).Decode(&meta))

	found := map[string]any{}
	read := with.URL + with.Read
	use := func(client *http.Client, config clientcredentials.Config) any {
		return statusOf(config.Client(context.WithValue(context.Background(), oauth2.HTTPClient, client)), read, "")
	}
	styles := map[string]oauth2.AuthStyle{"detect": 0, "params": oauth2.AuthStyleInParams, "header": oauth2.AuthStyleInHeader}
	for name, style := range styles {
		config := clientcredentials.Config{ClientID: with.ID, ClientSecret: with.Secret, TokenURL: meta.TokenEndpoint, AuthStyle: style}
		found[name] = use(plain, config)
		config.ClientSecret = "ops_wrong"
		found[name+" wrong"] = use(plain, config)
	}

	bound, other := clientWith(with.CA, with.Bound), clientWith(with.CA, with.Other)
	config := clientcredentials.Config{ClientID: with.Bound.ID, TokenURL: meta.Aliases.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams}
	found["certificate"] = use(bound, config)
	found["certificate wrong"] = use(other, config)
	token, err := config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, bound))
	check(err)
	found["bound"] = []any{
		statusOf(bound, read, token.AccessToken), statusOf(plain, read, token.AccessToken), statusOf(other, read, token.AccessToken),
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}
