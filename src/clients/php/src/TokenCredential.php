<?php

declare(strict_types=1);

namespace Orderpass;

/** An access token of an API client. It is kept, renewed early, and shared with other processes through a cache. */
final class TokenCredential implements Credential
{
    private const PATH = '/api/oauth/token';

    /** A token is renewed when a tenth of its life is left, at most this long before its end. */
    private const RENEWAL_SECONDS_MAX = 60;

    /** From a renewal that failed while the old token works to the next one. */
    private const RENEWAL_PAUSE_SECONDS = 5;

    /**
     * A refused credential is not sent again for this long, since the service counts its refusals: too many of them lock the
     * client at this address, for other processes too.
     */
    private const REFUSED_SECONDS = 10;

    /** @var array{value: string, renewAt: float, endsAt: float}|null */
    private ?array $token = null;

    private ?string $refused = null;

    /** @var array{status: int, requestId: ?string, body: mixed, endsAt: float}|null Of the token endpoint */
    private ?array $refusal = null;

    private readonly string $key;

    /**
     * @param list<string> $scopes
     * @param float $earlySeconds A renewal while the old token works holds up the call for at most this long
     */
    public function __construct(
        private readonly string $clientId,
        #[\SensitiveParameter] private readonly string $clientSecret,
        private readonly array $scopes,
        string $origin,
        private readonly Sender $sender,
        private readonly Repeats $repeats,
        private readonly ?TokenCache $cache,
        private readonly float $earlySeconds,
    ) {
        // PSR-16 allows 64 characters. With the secret in it, a new secret gets a token of its own.
        $this->key = 'orderpass.' . substr(hash('sha256', implode("\n", [$origin, $clientId, $clientSecret, ...$scopes])), 0, 40);
    }

    public function header(?float $timeout = null): array
    {
        return ['Authorization', 'Bearer ' . $this->current($timeout)];
    }

    public function renew(string $refused): bool
    {
        $this->refused = substr($refused, \strlen('Bearer '));
        return true;
    }

    private function current(?float $timeout): string
    {
        $now = microtime(true);
        $token = $this->token ?? $this->cached();
        // Another process may have renewed it meanwhile.
        if ($token !== null && ($now >= $token['renewAt'] || $token['value'] === $this->refused)) {
            $token = $this->cached() ?? $token;
        }
        $isRefused = $token !== null && $token['value'] === $this->refused;
        if ($token !== null && !$isRefused && $now < $token['renewAt']) {
            $this->token = $token;
            return $token['value'];
        }
        if ($token !== null && !$isRefused && $now < $token['endsAt']) {
            // Other processes use the old token meanwhile, and all of them after a failure: a token endpoint that is away stops no call.
            $this->keep(['renewAt' => min($now + self::RENEWAL_PAUSE_SECONDS, $token['endsAt'])] + $token);
            try {
                $this->keep($this->fetch(false, min($timeout ?? $this->earlySeconds, $this->earlySeconds)));
                return $this->token['value'];
            } catch (OrderpassException) {
                if (microtime(true) < $token['endsAt']) {
                    return $token['value'];
                }
            }
        }
        $this->keep($this->fetch(true, $timeout));
        return $this->token['value'];
    }

    /** @param array{value: string, renewAt: float, endsAt: float} $token */
    private function keep(array $token): void
    {
        $this->token = $token;
        $ttl = (int) ($token['endsAt'] - microtime(true));
        $this->cache?->set($this->key, json_encode($token, \JSON_THROW_ON_ERROR), max(1, $ttl));
    }

    /** @return array{value: string, renewAt: float, endsAt: float}|null */
    private function cached(): ?array
    {
        $found = json_decode($this->cache?->get($this->key) ?? '', true);
        if (!\is_array($found) || !\is_string($found['value'] ?? null) || ($found['endsAt'] ?? 0) <= microtime(true)) {
            return null;
        }
        return ['value' => $found['value'], 'renewAt' => (float) ($found['renewAt'] ?? 0), 'endsAt' => (float) $found['endsAt']];
    }

    /** @return array{value: string, renewAt: float, endsAt: float} */
    private function fetch(bool $isRepeated, ?float $timeout): array
    {
        $known = $this->refusal ?? json_decode($this->cache?->get("$this->key.refused") ?? '', true);
        if (\is_array($known) && ($known['endsAt'] ?? 0) > microtime(true)) {
            throw new ApiException($known['status'], null, $known['requestId'], $known['body']);
        }
        try {
            return $this->fetchNew($isRepeated, $timeout);
        } catch (ApiException $error) {
            if ($error->status >= 400 && $error->status < 500 && !\in_array($error->status, [408, 429], true)) {
                $this->refusal = ['status' => $error->status, 'requestId' => $error->requestId, 'body' => $error->body]
                    + ['endsAt' => microtime(true) + self::REFUSED_SECONDS];
                $this->cache?->set("$this->key.refused", json_encode($this->refusal, \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE), self::REFUSED_SECONDS);
            }
            throw $error;
        }
    }

    /** @return array{value: string, renewAt: float, endsAt: float} */
    private function fetchNew(bool $isRepeated, ?float $timeout): array
    {
        $form = ['grant_type' => 'client_credentials', 'client_id' => $this->clientId, 'client_secret' => $this->clientSecret];
        if ($this->scopes !== []) {
            $form['scope'] = implode(' ', $this->scopes);
        }
        $headers = ['Content-Type' => 'application/x-www-form-urlencoded'];
        $body = http_build_query($form, '', '&', \PHP_QUERY_RFC1738);
        $until = $timeout === null ? null : microtime(true) + $timeout;
        // A second token is no second effect.
        $answer = $this->repeats->run($isRepeated, fn (): Answer => $this->sender->send(
            'POST',
            self::PATH,
            $headers,
            $body,
            $until === null ? null : max(0.001, $until - microtime(true)),
        ), $until);
        $value = $answer->members['access_token'] ?? null;
        $life = $answer->members['expires_in'] ?? null;
        if (!\is_string($value) || !\is_int($life) || $life <= 0) {
            throw new OrderpassException('the token endpoint answered without access_token and expires_in');
        }
        $endsAt = microtime(true) + $life;
        return ['value' => $value, 'renewAt' => $endsAt - min(self::RENEWAL_SECONDS_MAX, $life / 10), 'endsAt' => $endsAt];
    }
}
