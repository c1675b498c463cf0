package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verify takes the body exactly as it came, before anything parses it.
func verify(secret string, header http.Header, body []byte, now time.Time) bool {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	key := []byte(secret)
	if strings.HasPrefix(secret, "whsec_") {
		if key, err = base64.StdEncoding.DecodeString(secret[len("whsec_"):]); err != nil {
			return false
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("Webhook-Signature"), " ") {
		if hmac.Equal([]byte(expected), []byte(given)) {
			return true
		}
	}
	return false
}
