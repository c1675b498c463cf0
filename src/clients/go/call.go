package orderpass

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	key      string
	timeout  time.Duration
	onAnswer func(AnswerInfo)
}

// AnswerInfo is what an answer says beside its body.
type AnswerInfo struct {
	Status    int
	RequestID string
	// Replayed: the answer is that of an earlier request with the same idempotency key.
	Replayed bool
	// Attempts: requests that were sent for this call.
	Attempts int
}

// WithIdempotencyKey replaces the key that every write gets by itself. A write with an empty key is never repeated.
func WithIdempotencyKey(key string) CallOption { return func(o *callOptions) { o.key = key } }

// WithTimeout bounds each attempt of the call, and its wait for a token.
func WithTimeout(timeout time.Duration) CallOption {
	return func(o *callOptions) { o.timeout = timeout }
}

// OnAnswer gets what the answer says beside its body.
func OnAnswer(function func(AnswerInfo)) CallOption {
	return func(o *callOptions) { o.onAnswer = function }
}

type prepared struct {
	method, path string
	header       http.Header
	body         []byte
	timeout      time.Duration
}

// usualTimeout: the service answers within 30 s.
const usualTimeout = 35 * time.Second

// answerBytesMax bounds the memory of one answer.
const answerBytesMax = 64 << 20

func call[Answer any](ctx context.Context, c *Client, method, path string, request any, options []CallOption) (*Answer, error) {
	chosen := callOptions{key: rand.Text()}
	for _, option := range options {
		option(&chosen)
	}
	tokenTimeout := chosen.timeout
	chosen.timeout = cmp.Or(chosen.timeout, c.config.Timeout, longTimes[path], usualTimeout)
	sent, err := c.prepare(method, path, request, chosen)
	if err != nil {
		return nil, err
	}
	answer, state := new(Answer), callState{}
	isWrite := method != http.MethodGet
	err = c.repeat(ctx, repeatable{isSafe: !isWrite || chosen.key != "", isWrite: isWrite}, func() error {
		info, err := c.sendAuthorized(ctx, sent, tokenTimeout, answer, &state)
		if err == nil && chosen.onAnswer != nil {
			info.Attempts = state.attempts
			chosen.onAnswer(info)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

var pathParameter = regexp.MustCompile(`\{([a-z_]+)\}`)

// prepare writes members of the request into the path, the query of a GET, or the body of a POST.
func (c *Client) prepare(method, path string, request any, options callOptions) (prepared, error) {
	members := map[string]json.RawMessage{}
	text, err := json.Marshal(request)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return prepared{}, err
	}
	// Below whoami a restaurant is a filter, which would hide requests that were refused before theirs was known.
	takesRestuid := c.config.Restuid != "" && !strings.HasPrefix(path, "/api/whoami")
	if _, isGiven := members["restuid"]; !isGiven && takesRestuid {
		members["restuid"], _ = json.Marshal(c.config.Restuid)
	}
	isRight := true
	path = pathParameter.ReplaceAllStringFunc(path, func(place string) string {
		name := strings.Trim(place, "{}")
		value := queryValue(members[name])
		delete(members, name)
		// A segment that is empty or only dots would lead to another operation.
		isRight = isRight && strings.Trim(value, ".") != ""
		return url.PathEscape(value)
	})
	if !isRight {
		return prepared{}, errors.New("orderpass: a parameter of " + path + " must be an id")
	}
	header := http.Header{"Accept": {"application/json"}}
	if method == http.MethodGet {
		query := url.Values{}
		for name, value := range members {
			// An empty text would be taken as no value, and so as all.
			if string(value) == "[]" {
				return prepared{}, errors.New("orderpass: `" + name + "` must have an item, or be left out")
			}
			query.Set(name, queryValue(value))
		}
		path = strings.TrimSuffix(path+"?"+query.Encode(), "?")
		return prepared{method, path, header, nil, options.timeout}, nil
	}
	header.Set("Content-Type", "application/json")
	if options.key != "" {
		// A header with another value is lost on the way, or cannot be sent.
		if !idempotencyKey.MatchString(options.key) {
			return prepared{}, errors.New("orderpass: an idempotency key must be 1 to 255 visible ASCII characters")
		}
		header.Set("Idempotency-Key", options.key)
	}
	body, err := json.Marshal(members)
	return prepared{method, path, header, body, options.timeout}, err
}

// idempotencyKey matches every value that the service takes.
var idempotencyKey = regexp.MustCompile(`^[!-~]{1,255}$`)

// queryValue is a text without its quotes, a list with commas, and any other value as it is.
func queryValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return string(value)
	}
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = queryValue(one)
	}
	return strings.Join(texts, ",")
}

// callState is what the attempts of one call share.
type callState struct {
	attempts int
	// isRenewed: a token was refused, and the call got another one. It gets one only.
	isRenewed bool
}

func (c *Client) sendAuthorized(ctx context.Context, sent prepared, tokenTimeout time.Duration, answer any, state *callState) (AnswerInfo, error) {
	sent.header = sent.header.Clone()
	if c.config.APIKey != "" {
		state.attempts++
		sent.header.Set("X-Api-Key", c.config.APIKey)
		return c.send(ctx, sent, answer)
	}
	for {
		token, err := c.tokens.get(ctx, tokenTimeout)
		if err != nil {
			// It was repeated already.
			return AnswerInfo{}, finalError{err, true}
		}
		state.attempts++
		sent.header.Set("Authorization", "Bearer "+token.value)
		info, err := c.send(ctx, sent, answer)
		var refusal *Error
		// A token may be revoked before its end. A refused request had no effect, so every one may be sent again.
		if state.isRenewed || !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
			return info, err
		}
		state.isRenewed = true
		c.tokens.forget(token)
	}
}

// send is one attempt. It fails with an Error or a TransportError.
func (c *Client) send(ctx context.Context, sent prepared, into any) (info AnswerInfo, err error) {
	operation, _, _ := strings.Cut(sent.method+" "+sent.path, "?")
	ctx, cancel := context.WithTimeout(ctx, sent.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, sent.method, c.origin+sent.path, bytes.NewReader(sent.body))
	if err != nil {
		return info, err
	}
	// Without it net/http repeats no write by itself, which would be an attempt that nothing counts.
	request.GetBody = nil
	request.Header = sent.header
	request.Header.Set("User-Agent", userAgent)
	answer, err := c.http.Do(request)
	if err != nil {
		// The text of the outer error has the query, which may hold personal data.
		return info, &TransportError{Operation: operation, Err: errors.Unwrap(err)}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax+1))
	if err != nil {
		return info, &TransportError{Operation: operation, Err: err}
	}
	if len(body) > answerBytesMax {
		return info, &TransportError{Operation: operation, Err: fmt.Errorf("the answer has more than %d bytes", answerBytesMax)}
	}
	// The operator may enable the old statuses, with which refusals are 200.
	envelope := &struct{ Success bool }{true}
	// The text null would make the pointer nil, and everything else of the answer empty.
	isObject := json.Unmarshal(body, &envelope) == nil && envelope != nil
	if answer.StatusCode/100 != 2 || !isObject || !envelope.Success {
		return info, refusalOf(answer.StatusCode, answer.Header, body)
	}
	info.Status, info.RequestID = answer.StatusCode, answer.Header.Get("X-Request-Id")
	info.Replayed = answer.Header.Get("Idempotent-Replayed") == "true"
	if err := json.Unmarshal(body, into); err != nil {
		return info, finalError{&TransportError{Operation: operation, Err: err}, false}
	}
	return info, nil
}

type page[Item any] struct {
	items  []Item
	cursor string
	more   bool
}

// itemsOf iterates over all pages. A page may be empty while more is true. After an error the iteration ends.
func itemsOf[Item any](request func(cursor string) (page[Item], error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for cursor, more := "", true; more; {
			got, err := request(cursor)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range got.items {
				if !yield(item, nil) {
					return
				}
			}
			// A cursor that stays the same would never end.
			more = got.more && got.cursor != "" && got.cursor != cursor
			cursor = got.cursor
		}
	}
}
