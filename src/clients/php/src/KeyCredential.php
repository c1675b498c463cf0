<?php

declare(strict_types=1);

namespace Orderpass;

/** The API key of a restaurant. */
final class KeyCredential implements Credential
{
    public function __construct(#[\SensitiveParameter] private readonly string $key)
    {
    }

    public function header(?float $timeout = null): array
    {
        return ['X-Api-Key', $this->key];
    }

    public function renew(string $refused): bool
    {
        return false;
    }
}
