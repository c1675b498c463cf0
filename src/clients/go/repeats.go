package orderpass

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// finalError ends a call without a repeat.
type finalError struct{ error }

func (c *Client) repeat(ctx context.Context, isSafe bool, attempt func() error) error {
	var lost error
	var running time.Duration
	for number, waits := 0, 0; ; {
		err := attempt()
		if final, isFinal := err.(finalError); isFinal {
			return final.error
		}
		if lost == nil && isUnknown(err) {
			lost = err
		}
		// Waiting for the end of the own request is no repeat that Retries counts.
		isOwnRunning := isRunning(err) && c.config.Retries > 0
		count := &number
		if isOwnRunning {
			count = &waits
		}
		pause, isPassing := c.pauseAfter(err, *count)
		isOver := number >= c.config.Retries
		if isOwnRunning {
			running += pause
			isOver = running > c.config.RetryAfterMax
		}
		if isRunning(err) && lost != nil {
			// A 409 would say that the write was refused, while its outcome is not known.
			err = lost
		}
		if err == nil || !isSafe || !isPassing || isOver || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		*count++
	}
}

// isRunning says whether the request with this idempotency key still runs.
func isRunning(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusConflict && refusal.RetryAfter > 0
}

// isUnknown says whether the service may have got the request, and may do it yet.
func isUnknown(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusBadGateway || refusal.Status == http.StatusGatewayTimeout
	}
	var failed *TransportError
	return errors.As(err, &failed)
}

const backoffMax = 8 * time.Second

// pauseAfter says whether the service, or something on the way to it, could not answer now, and when to send again.
func (c *Client) pauseAfter(err error, number int) (time.Duration, bool) {
	own := min(backoffMax, min(backoffMax, max(0, c.config.Backoff))<<min(number, 10))
	own = own/2 + mathrand.N(own/2+1)
	var refusal *Error
	if !errors.As(err, &refusal) {
		var failed *TransportError
		return own, errors.As(err, &failed)
	}
	isPassing := slices.Contains([]int{408, 429, 500, 502, 503, 504}, refusal.Status)
	if refusal.Status == http.StatusOK {
		// The operator may enable the old statuses, with which 429 and 500 are 200.
		isPassing = refusal.Code == ErrorCodeRateLimitExceeded || refusal.Code == ErrorCodeInternalError
	}
	if refusal.RetryAfter > 0 {
		// 409 counts only with Retry-After: the same request still runs.
		asked := refusal.RetryAfter
		if isRunning(err) {
			isPassing = true
			// Each request costs units, so those that only wait for the first one come at growing distances.
			asked = max(asked, min(backoffMax, asked<<min(number, 10)))
		}
		// Callers that were refused together come again at different times.
		own = asked + own/4
	}
	return own, isPassing && refusal.RetryAfter <= c.config.RetryAfterMax
}
