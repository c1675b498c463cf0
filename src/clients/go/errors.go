package orderpass

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error says that the service refused the request, or failed. [errors.As] finds it.
type Error struct {
	Status int
	// Code of the interface; a service behind the gateway may use codes of its own.
	Code    ErrorCode
	Message string
	// RequestID: quote it when you ask for help.
	RequestID string
	// MissingScopes are exactly the scopes that the credential lacks; empty unless Code is INSUFFICIENT_SCOPE.
	MissingScopes []string
	// Errors has every value that is not valid.
	Errors []ErrorDetail
	// RetryAfter is how long to wait before the request is sent again; zero when the service did not say.
	RetryAfter time.Duration
	// Body as it came.
	Body []byte
	// Last is the error of the last attempt, where this one is that of an earlier attempt whose outcome is not known (502, 504).
	// It is not unwrapped.
	Last error
}

func (e *Error) Error() string {
	return fmt.Sprintf("orderpass: %s (%d): %s", e.Code, e.Status, e.Message)
}

// TransportError says that no answer came that could be read: the connection failed, the time was over, the context ended.
type TransportError struct {
	Operation string
	Err       error
	// Last is the error of the last attempt, where this one is that of an earlier attempt whose outcome is not known. It is not
	// unwrapped.
	Last error
}

func (e *TransportError) Error() string { return "orderpass: " + e.Operation + ": " + e.Err.Error() }
func (e *TransportError) Unwrap() error { return e.Err }

// HasCode says whether err is a refusal with this code.
func HasCode(err error, code ErrorCode) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Code == code
}

// refusalOf reads all three dialects of the interface; a body of another form gives the code HTTP_<status>.
func refusalOf(status int, header http.Header, body []byte) *Error {
	var own struct {
		Code        string          `json:"code"`
		Error       string          `json:"error"`
		Message     string          `json:"message"`
		Description string          `json:"error_description"`
		Detail      string          `json:"detail"`
		RequestID   string          `json:"request_id"`
		Scopes      []string        `json:"missing_scopes"`
		Errors      []ErrorDetail   `json:"errors"`
		RetryAfter  json.RawMessage `json:"retry_after"`
	}
	// What was read before a member of another type stays.
	_ = json.Unmarshal(body, &own)
	after := durationOf(cmp.Or(header.Get("Retry-After"), string(own.RetryAfter)))
	return &Error{
		Status:        status,
		Code:          ErrorCode(cmp.Or(own.Code, own.Error, fmt.Sprintf("HTTP_%d", status))),
		Message:       cmp.Or(own.Message, own.Description, own.Detail, "the answer says no reason"),
		RequestID:     cmp.Or(own.RequestID, header.Get("X-Request-Id")),
		MissingScopes: own.Scopes,
		Errors:        own.Errors,
		RetryAfter:    after,
		Body:          body,
	}
}

// durationOf reads seconds, or an HTTP date (RFC 9110 section 10.2.3).
func durationOf(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 30); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, _ := http.ParseTime(text)
	return max(0, time.Until(at))
}
