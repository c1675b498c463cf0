package orderpass

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook verifies deliveries (Standard Webhooks; section 12.3 of the interface).
type Webhook struct {
	// Secrets of the endpoint: one, and during a rotation the old one and the new one.
	Secrets []string
	// Tolerance is the age of a delivery, by default 5 minutes, in both directions.
	Tolerance time.Duration
	// Now in place of the clock.
	Now func() time.Time
}

// WebhookError is about a delivery whose signature, time or form is not right. Answer it with 400 and use nothing of it.
type WebhookError struct{ Reason string }

func (e *WebhookError) Error() string { return "orderpass: " + e.Reason }

// VerifyWebhook is Verify with the default tolerance.
func VerifyWebhook(secret string, header http.Header, body []byte) (Event, error) {
	return Webhook{Secrets: []string{secret}}.Verify(header, body)
}

const signaturesMax = 20

// Verify returns the event of a delivery whose signature and time are right. The body is taken exactly as it came, before
// anything parses it. Remember the id of the event: a delivery may come twice. An event of a later version is an
// [UnknownEvent].
func (w Webhook) Verify(header http.Header, body []byte) (Event, error) {
	now := time.Now()
	if w.Now != nil {
		now = w.Now()
	}
	var values [3]string
	for i, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		// A header that is missing or given twice is refused.
		if given := header.Values(name); len(given) == 1 && given[0] != "" {
			values[i] = given[0]
		} else {
			return nil, &WebhookError{"the header " + name + " is missing"}
		}
	}
	seconds, err := strconv.ParseUint(values[1], 10, 40)
	if err != nil {
		return nil, &WebhookError{"Webhook-Timestamp is not a time"}
	}
	if now.Sub(time.Unix(int64(seconds), 0)).Abs() > cmp.Or(w.Tolerance, 5*time.Minute) {
		return nil, &WebhookError{"Webhook-Timestamp is too old or too far ahead"}
	}
	if err := w.check(values[0]+"."+values[1]+"."+string(body), values[2]); err != nil {
		return nil, err
	}
	event, err := ParseEvent(body)
	if err != nil {
		return nil, &WebhookError{"the body is not an event: " + err.Error()}
	}
	return event, nil
}

func (w Webhook) check(signed, signatures string) error {
	if len(w.Secrets) == 0 {
		return errors.New("orderpass: a secret is missing")
	}
	given := strings.SplitN(signatures, " ", signaturesMax)
	isValid := false
	for _, secret := range w.Secrets {
		key, err := []byte(secret), error(nil)
		if encoded, isEncoded := strings.CutPrefix(secret, "whsec_"); isEncoded {
			key, err = base64.StdEncoding.DecodeString(encoded)
		}
		if err != nil || len(key) == 0 {
			return errors.New("orderpass: a secret is empty or not base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, one := range given {
			// Compares in constant time.
			isValid = hmac.Equal(expected, []byte(one)) || isValid
		}
	}
	if !isValid {
		return &WebhookError{"no signature fits the secret"}
	}
	return nil
}
