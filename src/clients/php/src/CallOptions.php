<?php

declare(strict_types=1);

namespace Orderpass;

/** Changes one call. */
final class CallOptions
{
    /**
     * @param string|Omitted|null $idempotencyKey By default every write gets a new one. Null sends none; such a write is never
     *     repeated
     * @param float|null $timeout Seconds of each attempt, and of the wait for a token, where requests go through the CurlClient
     * @param (\Closure(Answer): void)|null $onAnswer
     */
    public function __construct(
        public readonly string|Omitted|null $idempotencyKey = Omitted::Member,
        public readonly ?float $timeout = null,
        public readonly ?\Closure $onAnswer = null,
    ) {
    }
}
