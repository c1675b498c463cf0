package orderpass

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

type token struct {
	value           string
	renewAt, endsAt time.Time
}

// tokenSource keeps the token, renews it early, and fetches it once for parallel calls.
type tokenSource struct {
	fetch   func(context.Context) (*token, error)
	mu      sync.Mutex
	current *token
	running *fetching
	refused error
	// refusedUntil: refused answers until then, without a request.
	refusedUntil time.Time
}

type fetching struct {
	done  chan struct{}
	token *token
	err   error
}

// renewalPause follows a renewal that failed while the old token works.
const renewalPause = 5 * time.Second

// refusedTime: a refused credential is not sent again for this long, since the service counts its refusals: too many of them
// lock the client at this address, for other processes too.
const refusedTime = 10 * time.Second

func isRefusal(err error) bool {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status/100 != 4 {
		return false
	}
	return refusal.Status != http.StatusRequestTimeout && refusal.Status != http.StatusTooManyRequests
}

// get waits for a token until the context ends, and at most for the timeout unless it is zero.
func (s *tokenSource) get(ctx context.Context, timeout time.Duration) (*token, error) {
	s.mu.Lock()
	old, now := s.current, time.Now()
	if old != nil && now.Before(old.renewAt) {
		s.mu.Unlock()
		return old, nil
	}
	isAlive := old != nil && now.Before(old.endsAt)
	if now.Before(s.refusedUntil) {
		defer s.mu.Unlock()
		if isAlive {
			return old, nil
		}
		return nil, s.refused
	}
	if s.running == nil {
		s.running = &fetching{done: make(chan struct{})}
		// The end of the call that is the first does not end the request of the others.
		go s.run(context.WithoutCancel(ctx), s.running)
	}
	running := s.running
	s.mu.Unlock()
	if isAlive {
		// The old token still works, so the call does not wait for the new one.
		return old, nil
	}
	if timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = bounded
	}
	select {
	case <-running.done:
	case <-ctx.Done():
		return nil, &TransportError{Operation: "POST " + tokenPath, Err: ctx.Err()}
	}
	return running.token, running.err
}

func (s *tokenSource) run(ctx context.Context, running *fetching) {
	running.token, running.err = s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if running.err == nil {
		s.current = running.token
	} else if isRefusal(running.err) {
		s.refused, s.refusedUntil = running.err, time.Now().Add(refusedTime)
	} else if s.current != nil {
		s.current.renewAt = time.Now().Add(min(renewalPause, time.Until(s.current.endsAt)))
	}
	s.running = nil
	close(running.done)
}

// forget drops a token that was refused, unless another call has renewed it meanwhile.
func (s *tokenSource) forget(refused *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == refused {
		s.current = nil
	}
}

const tokenPath = "/api/oauth/token"

func (c *Client) fetchToken(ctx context.Context) (*token, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.config.ClientID}}
	form.Set("client_secret", c.config.ClientSecret)
	if len(c.config.Scopes) > 0 {
		form.Set("scope", strings.Join(c.config.Scopes, " "))
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	request := prepared{"POST", tokenPath, header, []byte(form.Encode()), cmp.Or(c.config.Timeout, usualTimeout)}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	// A second token is no second effect.
	if err := c.repeat(ctx, repeatable{isSafe: true}, func() error {
		_, err := c.send(ctx, request, &answer)
		return err
	}); err != nil {
		return nil, err
	}
	life := time.Duration(answer.ExpiresIn) * time.Second
	if answer.AccessToken == "" || life <= 0 {
		return nil, &TransportError{Operation: "POST " + tokenPath, Err: errors.New("no access_token with expires_in came")}
	}
	endsAt := time.Now().Add(life)
	return &token{answer.AccessToken, endsAt.Add(-min(time.Minute, life/10)), endsAt}, nil
}
