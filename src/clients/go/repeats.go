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
type finalError struct {
	error
	// isUnsent: the attempt was not sent, so the error says nothing about earlier ones.
	isUnsent bool
}

// repeatable is what a request may do when it is sent twice.
type repeatable struct {
	// isSafe: it has no second effect. Any other one is sent once.
	isSafe bool
	// isWrite: it changes something, and whether an attempt did so must not be reported wrongly.
	isWrite bool
}

func (c *Client) repeat(ctx context.Context, request repeatable, attempt func() error) error {
	var lost error
	var running time.Duration
	for number, waits := 0, 0; ; {
		err := attempt()
		if final, isFinal := err.(finalError); isFinal {
			if request.isWrite && final.isUnsent {
				return failureOf(lost, final.error)
			}
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
		if request.isWrite && isSilent(err) {
			err = failureOf(lost, err)
		}
		if err == nil || !request.isSafe || !isPassing || isOver || ctx.Err() != nil {
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

// isSilent says whether a refusal tells nothing about an earlier attempt: the service gives it before it looks for the
// idempotency key, or something on the way gives it in place of the service.
func isSilent(err error) bool {
	var refusal *Error
	if !errors.As(err, &refusal) {
		return false
	}
	return isBusy(refusal) || isRunning(err) || slices.Contains([]int{401, 403}, refusal.Status) || refusal.Status >= 500
}

// isBusy says whether the service, or something on the way to it, could not answer now.
func isBusy(refusal *Error) bool {
	if refusal.Status == http.StatusOK {
		// The operator may enable the old statuses, with which 429 and 500 are 200.
		return refusal.Code == ErrorCodeRateLimitExceeded || refusal.Code == ErrorCodeInternalError
	}
	return slices.Contains([]int{408, 429, 500, 502, 503, 504}, refusal.Status)
}

// failureOf is the earlier error when there is one, since a refusal would say that the write was not carried out, while the
// outcome of that attempt is not known. It is not wrapped around the last one: errors.As would find the refusal.
func failureOf(lost, last error) error {
	if lost == nil || lost == last {
		return last
	}
	switch earlier := lost.(type) {
	case *Error:
		earlier.Last = last
	case *TransportError:
		earlier.Last = last
	}
	return lost
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
	isPassing := isBusy(refusal)
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
