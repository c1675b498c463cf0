<?php

declare(strict_types=1);

namespace Orderpass;

use Orderpass\Http\CurlClient;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** Sends one request and reads its answer. */
final class Sender
{
    public function __construct(
        private readonly ClientInterface $http,
        private readonly RequestFactoryInterface&StreamFactoryInterface $factory,
        private readonly string $origin,
    ) {
    }

    /**
     * @param array<string, string> $headers
     * @throws TransportException Without an answer
     * @throws ApiException For every refusal
     */
    public function send(string $method, string $path, array $headers, ?string $body, ?float $timeout = null): Answer
    {
        $request = $this->factory->createRequest($method, $this->origin . $path);
        foreach (['Accept' => 'application/json', 'User-Agent' => Operations::USER_AGENT] + $headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        if ($body !== null) {
            $request = $request->withBody($this->factory->createStream($body));
        }
        try {
            $response = $timeout !== null && $this->http instanceof CurlClient
                ? $this->http->sendWithin($timeout, $request)
                : $this->http->sendRequest($request);
            $text = (string) $response->getBody();
        } catch (ClientExceptionInterface | \RuntimeException $error) {
            throw new TransportException($method . ' ' . strtok($path, '?') . ': no answer', 0, $error);
        }
        $status = $response->getStatusCode();
        $requestId = $response->getHeader('X-Request-Id')[0] ?? null;
        $members = json_decode($text, true);
        // The operator may enable the old statuses, with which refusals are 200.
        if ($status < 200 || $status > 299 || !\is_array($members) || ($members['success'] ?? true) === false) {
            throw new ApiException($status, $response->getHeader('Retry-After')[0] ?? null, $requestId, $members ?? $text);
        }
        return new Answer($status, $requestId, $response->getHeaderLine('Idempotent-Replayed') === 'true', $members);
    }
}
