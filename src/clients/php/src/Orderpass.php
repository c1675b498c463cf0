<?php

declare(strict_types=1);

namespace Orderpass;

use Orderpass\Http\CurlClient;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** A client of one installation. It has one method for each operation, such as `$client->orders->get(…)`. */
final class Orderpass extends Operations
{
    /** The service answers within 30 s. */
    private const USUAL_TIMEOUT = 35.0;

    /**
     * @param string $url Address of the installation, without a path: `https://api.example`
     * @param ResponseFactoryInterface&RequestFactoryInterface&StreamFactoryInterface $factory For example
     *     `new Nyholm\Psr7\Factory\Psr17Factory()`
     * @param string|null $clientId With the secret, of an API client; or the API key alone
     * @param list<string> $scopes A subset of the client's scopes; by default the token has all of them
     * @param string|null $restuid The restaurant of calls that name none, except those of `whoami`; needed when the client may use several
     * @param ClientInterface|null $http By default a CurlClient. Another one must bound the time of a request itself
     * @param float|null $timeout Seconds of one attempt of the CurlClient, the upload included; by default 35, and 155 for
     *     `menu->importMenu`
     * @param TokenCache|null $tokens Keeps the token for the next PHP process; by default each one fetches its own
     * @param int $retries Repeats of one call
     * @param float $backoff The first pause in seconds; each one after it is twice as long, at most 8 s, less a random part
     * @param float $retryAfterMax A longer Retry-After is not waited for; the exception has it as `retryAfter`. As long a call
     *     waits for a write of its own that still runs
     */
    public function __construct(
        string $url,
        RequestFactoryInterface&ResponseFactoryInterface&StreamFactoryInterface $factory,
        ?string $clientId = null,
        #[\SensitiveParameter] ?string $clientSecret = null,
        #[\SensitiveParameter] ?string $apiKey = null,
        array $scopes = [],
        ?string $restuid = null,
        ?ClientInterface $http = null,
        ?float $timeout = null,
        ?TokenCache $tokens = null,
        int $retries = 3,
        float $backoff = 0.5,
        float $retryAfterMax = 60,
    ) {
        $hasClient = $clientId !== null && $clientSecret !== null;
        if ($hasClient === ($apiKey !== null)) {
            throw new OrderpassException('give either clientId and clientSecret, or apiKey');
        }
        $origin = self::originOf($url);
        $sender = new Sender($http ?? new CurlClient($factory, $timeout ?? self::USUAL_TIMEOUT), $factory, $origin);
        $repeats = new Repeats($retries, $backoff, $retryAfterMax);
        $credential = $apiKey !== null
            ? new KeyCredential($apiKey)
            : new TokenCredential((string) $clientId, (string) $clientSecret, $scopes, $origin, $sender, $repeats, $tokens, min($timeout ?? self::USUAL_TIMEOUT, 3.0));
        parent::__construct(new Transport($sender, $repeats, $credential, $restuid, $http === null && $timeout === null));
    }

    /** https, or http for the own machine: credentials are not sent in the clear. */
    private static function originOf(string $url): string
    {
        $parts = parse_url($url);
        $host = \is_array($parts) ? strtolower($parts['host'] ?? '') : '';
        $scheme = \is_array($parts) ? strtolower($parts['scheme'] ?? '') : '';
        $isLocal = \in_array($host, ['localhost', '127.0.0.1', '[::1]'], true);
        if ($host === '' || !($scheme === 'https' || ($scheme === 'http' && $isLocal))) {
            throw new OrderpassException('url must be https, or http for localhost');
        }
        if (array_diff_key($parts, ['scheme' => 1, 'host' => 1, 'port' => 1, 'path' => 1]) !== [] || !\in_array($parts['path'] ?? '', ['', '/'], true)) {
            throw new OrderpassException('url must have no path, query or credential');
        }
        return "$scheme://$host" . (isset($parts['port']) ? ":{$parts['port']}" : '');
    }
}
