<?php

declare(strict_types=1);

namespace Orderpass\Http;

use Orderpass\OrderpassException;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** A PSR-18 client on ext-curl with bounded time and answers, which keeps its connection and follows no redirect. */
final class CurlClient implements ClientInterface
{
    private const CONNECT_SECONDS = 10;
    private const ANSWER_BYTES_MAX = 67_108_864;

    private readonly \CurlHandle $handle;

    public function __construct(
        private readonly ResponseFactoryInterface&StreamFactoryInterface $factory,
        private readonly float $timeout = 35,
    ) {
        $this->handle = curl_init() ?: throw new OrderpassException('curl is not available');
    }

    public function sendRequest(RequestInterface $request): ResponseInterface
    {
        return $this->sendWithin($this->timeout, $request);
    }

    public function sendWithin(float $seconds, RequestInterface $request): ResponseInterface
    {
        $body = '';
        /** @var list<string> $lines Of the last head: an interim answer has one of its own */
        $lines = [];
        curl_reset($this->handle);
        curl_setopt_array($this->handle, [
            \CURLOPT_URL => (string) $request->getUri(),
            \CURLOPT_CUSTOMREQUEST => $request->getMethod(),
            \CURLOPT_HTTPHEADER => self::headLines($request),
            \CURLOPT_PROTOCOLS => \CURLPROTO_HTTP | \CURLPROTO_HTTPS,
            \CURLOPT_CONNECTTIMEOUT_MS => (int) (1000 * min($seconds, self::CONNECT_SECONDS)),
            \CURLOPT_TIMEOUT_MS => max(1, (int) (1000 * $seconds)),
            \CURLOPT_NOSIGNAL => true,
            \CURLOPT_ENCODING => '',
            \CURLOPT_HEADERFUNCTION => static function (\CurlHandle $handle, string $line) use (&$lines): int {
                $lines = str_starts_with($line, 'HTTP/') ? [] : [...$lines, trim($line)];
                return \strlen($line);
            },
            \CURLOPT_WRITEFUNCTION => static function (\CurlHandle $handle, string $chunk) use (&$body): int {
                $body .= $chunk;
                return \strlen($body) > self::ANSWER_BYTES_MAX ? 0 : \strlen($chunk);
            },
        ]);
        if ($request->getMethod() !== 'GET') {
            // On a connection that it used before, curl sends a request again by itself when no answer came.
            curl_setopt($this->handle, \CURLOPT_FRESH_CONNECT, true);
            curl_setopt($this->handle, \CURLOPT_POSTFIELDS, (string) $request->getBody());
        }
        if (curl_exec($this->handle) === false) {
            throw new NetworkException($request, curl_error($this->handle));
        }
        $response = $this->factory->createResponse((int) curl_getinfo($this->handle, \CURLINFO_RESPONSE_CODE));
        foreach (array_filter($lines, static fn (string $line): bool => str_contains($line, ':')) as $line) {
            [$name, $value] = explode(':', $line, 2);
            $response = $response->withAddedHeader($name, trim($value));
        }
        return $response->withBody($this->factory->createStream($body));
    }

    /** @return list<string> */
    private static function headLines(RequestInterface $request): array
    {
        // Without the last, curl waits a second for an interim answer before it sends a body.
        $lines = ['Expect:'];
        foreach (array_keys($request->getHeaders()) as $name) {
            $lines[] = "$name: " . $request->getHeaderLine((string) $name);
        }
        return $lines;
    }
}
