<?php

declare(strict_types=1);

namespace Orderpass;

/** Sends the request of an operation: credential, idempotency key, and repeats where they have no second effect. */
final class Transport
{
    public function __construct(
        private readonly Sender $sender,
        private readonly Repeats $repeats,
        private readonly Credential $credential,
        private readonly ?string $restuid,
        /** Whether operations may have times of their own: the caller gave none. */
        private readonly bool $hasLongTimes,
    ) {
    }

    /** @return array<array-key, mixed> Members of the answer */
    public function call(string $method, string $path, \JsonSerializable $request, ?CallOptions $options): array
    {
        return $this->send($method, $path, (array) $request->jsonSerialize(), $options ?? new CallOptions())->members;
    }

    /**
     * The items of all pages. A page may be empty while `more` is true.
     *
     * @template Item
     * @param string $member Of the answer, with the items
     * @param \Closure(mixed): Item $read
     * @return \Generator<int, Item>
     */
    public function items(string $path, \JsonSerializable $request, ?CallOptions $options, string $member, \Closure $read): \Generator
    {
        $members = (array) $request->jsonSerialize();
        do {
            $page = $this->send('GET', $path, $members, $options ?? new CallOptions())->members;
            foreach (\is_array($page[$member] ?? null) ? $page[$member] : [] as $item) {
                yield $read($item);
            }
            $cursor = $page['next_cursor'] ?? null;
            // A cursor that stays the same would never end.
            $more = ($page['more'] ?? false) === true && \is_string($cursor) && $cursor !== ($members['cursor'] ?? null);
            // A cursor continues the list, so neither a page number nor `after` stands beside it.
            unset($members['page'], $members['after']);
            $members['cursor'] = $cursor;
        } while ($more);
    }

    /** @param array<string, mixed> $members */
    private function send(string $method, string $path, array $members, CallOptions $options): Answer
    {
        // Below whoami a restaurant is a filter, which would hide requests that were refused before theirs was known.
        if ($this->restuid !== null && !str_starts_with($path, '/api/whoami')) {
            $members += ['restuid' => $this->restuid];
        }
        $path = preg_replace_callback('/\{([a-z_]+)\}/', static function (array $found) use (&$members): string {
            $value = $members[$found[1]] ?? null;
            unset($members[$found[1]]);
            // A segment that is empty or only dots would lead to another operation.
            if (!\is_string($value) || trim($value, '.') === '') {
                throw new OrderpassException("$found[1] must be an id");
            }
            return rawurlencode($value);
        }, $path) ?? $path;
        if ($method === 'GET') {
            // An empty text would be taken as no value, and so as all.
            $empty = array_search([], $members, true);
            if ($empty !== false) {
                throw new OrderpassException("`$empty` must have an item, or be left out");
            }
            $query = http_build_query(array_map(self::queryValue(...), $members), '', '&', \PHP_QUERY_RFC3986);
            return $this->sendAuthorized(true, 'GET', $query === '' ? $path : "$path?$query", [], null, $options);
        }
        $key = $options->idempotencyKey === Omitted::Member ? bin2hex(random_bytes(16)) : $options->idempotencyKey;
        // A header with another value is lost on the way, or cannot be sent.
        if ($key !== null && preg_match('/\A[\x21-\x7e]{1,255}\z/', $key) !== 1) {
            throw new OrderpassException('idempotencyKey must be 1 to 255 visible ASCII characters, or null for none');
        }
        $headers = ['Content-Type' => 'application/json'] + ($key === null ? [] : ['Idempotency-Key' => $key]);
        return $this->sendAuthorized($key !== null, $method, $path, $headers, Json::encode((object) $members), $options);
    }

    /** @param array<string, string> $headers */
    private function sendAuthorized(bool $isSafe, string $method, string $path, array $headers, ?string $body, CallOptions $options): Answer
    {
        $attempts = 0;
        $isRenewed = false;
        $answer = $this->repeats->run(
            $isSafe,
            /** @param array{string, string} $header */
            function (array $header) use ($method, $path, $headers, $body, $options, &$attempts): Answer {
                $attempts++;
                $timeout = $options->timeout ?? ($this->hasLongTimes ? Operations::LONG_TIMES[$path] ?? null : null);
                return $this->sender->send($method, $path, [$header[0] => $header[1]] + $headers, $body, $timeout);
            },
            isWrite: $method !== 'GET',
            prepare: fn (): array => $this->credential->header($options->timeout),
            renew: function (ApiException $error, array $header) use (&$isRenewed): bool {
                // A token may be revoked before its end. A refused request had no effect, so every one may be sent again.
                if ($error->status !== 401 || $isRenewed || !$this->credential->renew($header[1])) {
                    return false;
                }
                return $isRenewed = true;
            },
        );
        ($options->onAnswer ?? static fn (Answer $answer) => null)($answer->withAttempts($attempts));
        return $answer;
    }

    private static function queryValue(mixed $value): string
    {
        if (\is_array($value)) {
            return implode(',', array_map(self::queryValue(...), $value));
        }
        return \is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
    }
}
