<?php

declare(strict_types=1);

namespace Orderpass;

/** An answer that is no refusal. */
final class Answer
{
    /** @param array<array-key, mixed> $members */
    public function __construct(
        public readonly int $status,
        public readonly ?string $requestId,
        /** It is the answer of an earlier request with the same idempotency key. */
        public readonly bool $replayed,
        public readonly array $members,
        /** Requests that were sent for this call. */
        public readonly int $attempts = 1,
    ) {
    }

    public function withAttempts(int $attempts): self
    {
        return new self($this->status, $this->requestId, $this->replayed, $this->members, $attempts);
    }
}
