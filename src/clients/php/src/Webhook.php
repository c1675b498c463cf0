<?php

declare(strict_types=1);

namespace Orderpass;

/** Verification of deliveries (Standard Webhooks; section 12.3 of the interface). */
final class Webhook
{
    private const SIGNATURES_MAX = 20;

    /**
     * The event of a delivery whose signature and time are right. Remember its id: a delivery may come twice. An event of a later
     * version is an UnknownEvent.
     *
     * @param string|list<string> $secret Of the endpoint; during a rotation the old one and the new one
     * @param array<string, string|list<string>> $headers Of the request, in any case: `getallheaders()`, or those of PSR-7
     * @param string $body Exactly as it came: `file_get_contents('php://input')`
     * @param int $tolerance Age of a delivery in seconds, in both directions
     * @param float|null $now Unix seconds, in place of the clock
     * @throws WebhookException When it is not right
     */
    public static function verify(
        #[\SensitiveParameter] string|array $secret,
        array $headers,
        string $body,
        int $tolerance = 300,
        ?float $now = null,
    ): WebhookEvent {
        if ($secret === []) {
            throw new OrderpassException('a secret is missing');
        }
        $id = self::header($headers, 'webhook-id');
        $timestamp = self::header($headers, 'webhook-timestamp');
        if (preg_match('/^\d{1,12}$/D', $timestamp) !== 1) {
            throw new WebhookException('webhook-timestamp is not a time');
        }
        if (abs(($now ?? microtime(true)) - (int) $timestamp) > $tolerance) {
            throw new WebhookException('webhook-timestamp is too old or too far ahead');
        }
        $given = explode(' ', self::header($headers, 'webhook-signature'), self::SIGNATURES_MAX);
        $isValid = false;
        foreach ((array) $secret as $one) {
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", self::key($one), true));
            foreach ($given as $signature) {
                // Compares in constant time.
                $isValid = hash_equals($expected, $signature) || $isValid;
            }
        }
        if (!$isValid) {
            throw new WebhookException('no signature fits the secret');
        }
        return self::parse($body);
    }

    /**
     * Reads the body of a delivery or of a RecordedEvent. It verifies nothing.
     *
     * @throws WebhookException When it is not an event
     */
    public static function parse(string $body): WebhookEvent
    {
        $members = json_decode($body, true);
        if (!\is_array($members) || !\is_string($members['event'] ?? null)) {
            throw new WebhookException('the body is not an event');
        }
        try {
            return Events::read($members);
        } catch (OrderpassException $error) {
            throw new WebhookException($error->getMessage(), 0, $error);
        }
    }

    private static function key(#[\SensitiveParameter] string $secret): string
    {
        $key = str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6), true) : $secret;
        if ($key === false || $key === '') {
            throw new OrderpassException('a secret is empty or not base64');
        }
        return $key;
    }

    /** @param array<string, string|list<string>> $headers */
    private static function header(array $headers, string $name): string
    {
        $values = [];
        foreach ($headers as $key => $value) {
            if (strtolower((string) $key) === $name) {
                $values = [...$values, ...(array) $value];
            }
        }
        // A header that is missing or given twice is refused.
        if (\count($values) !== 1 || $values[0] === '') {
            throw new WebhookException("$name is missing");
        }
        return $values[0];
    }
}
