package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// Caller is who calls, as the gateway states it.
type Caller struct {
	Issuer   string   `json:"iss"`
	Audience string   `json:"aud"`
	ID       string   `json:"sub"`
	ClientID string   `json:"client_id"`
	Kind     string   `json:"kind"`
	Scope    string   `json:"scope"`
	Tenants  []string `json:"tenants"`
	Expires  int64    `json:"exp"`
}

var errNoCaller = errors.New("not a fresh token of the gateway for this service")

// fetchKeys reads the published keys. Keep them for some minutes, and read them again when a token names another one.
func fetchKeys(gateway string) (map[string]*ecdsa.PublicKey, error) {
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get(gateway + "/api/oauth/jwks")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var set struct {
		Keys []struct{ Kid, X, Y string }
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, err
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, key := range set.Keys {
		x, errX := base64.RawURLEncoding.DecodeString(key.X)
		y, errY := base64.RawURLEncoding.DecodeString(key.Y)
		if errX != nil || errY != nil {
			return nil, errNoCaller
		}
		keys[key.Kid] = &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
	}
	return keys, nil
}

func decodePart(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// readCaller verifies the token. The issuer is the public address of the gateway.
func readCaller(token, issuer, audience string, keys map[string]*ecdsa.PublicKey, now time.Time) (*Caller, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errNoCaller
	}
	var header struct{ Alg, Typ, Kid string }
	if decodePart(parts[0], &header) != nil || header.Alg != "ES256" || header.Typ != "orderpass-identity+jwt" {
		return nil, errNoCaller
	}
	key := keys[header.Kid]
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || key == nil || len(signature) != 64 {
		return nil, errNoCaller
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	var caller Caller
	if !ecdsa.Verify(key, digest[:], r, s) || decodePart(parts[1], &caller) != nil {
		return nil, errNoCaller
	}
	if caller.Issuer != issuer || caller.Audience != audience || now.Unix() >= caller.Expires || caller.ID == "" {
		return nil, errNoCaller
	}
	return &caller, nil
}
